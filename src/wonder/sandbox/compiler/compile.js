// Compiles one transform: what is wrong with it, or its JavaScript and its two schemas.

const faultsMax = 100;
const options = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  noLib: true,
  noResolve: true,
  types: [],
  removeComments: true,
  sourceMap: true,
  newLine: ts.NewLineKind.LineFeed,
};
const libraryName = "/lib.d.ts";
const sourceName = "/transform.ts";
// Said of async functions and imports, which are refused in our own words.
const saidAlready = new Set([1055, 1064, 1308, 1375, 1378, 2307, 2318, 2468, 2697, 2705, 2712, 2792]);

let library;

/** Take the declarations of what a transform can name. */
function setLibrary(text) {
  library = ts.createSourceFile(libraryName, text, options.target, false, ts.ScriptKind.TS);
}

/** Compile a source; the answer is JSON of `faults`, or of `javascript`, `input` and `output`. */
function compile(request) {
  const text = JSON.parse(request);
  const reading = { languageVersion: options.target, jsDocParsingMode: ts.JSDocParsingMode.ParseAll };
  const file = ts.createSourceFile(sourceName, text, reading, true, ts.ScriptKind.TS);
  const faults = new Faults(file);
  const fault = (start, message) => faults.add(start, message);
  for (const diagnostic of file.parseDiagnostics) fault(diagnostic.start, messageOf(diagnostic, text));
  const spans = refusals(file, fault);
  if (file.parseDiagnostics.length) return faults.told();
  // A comment does not switch the checks off.
  file.commentDirectives = undefined;
  file.checkJsDirective = undefined;
  const program = ts.createProgram([libraryName, sourceName], options, hostOf(file));
  const checker = program.getTypeChecker();
  const isSilenced = (start) => spans.some(([from, to]) => from <= start && start < to);
  for (const diagnostic of [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]) {
    const isSaid = faults.all.size > 0 && saidAlready.has(diagnostic.code);
    // What the library lacks stands nowhere.
    const start = Math.max(diagnostic.start ?? 0, 0);
    if (!isSaid && !isSilenced(start)) fault(start, messageOf(diagnostic, text));
  }
  const input = requiredType(checker, file, "Input", fault);
  const output = requiredType(checker, file, "Output", fault);
  checkFunction(checker, file, input, output, fault);
  const schemas = new Schemas(checker, file, fault);
  const inputSchema = input && schemas.of(input);
  const outputSchema = output && schemas.of(output);
  if (!faults.all.size && (inputSchema === undefined || outputSchema === undefined))
    fault(0, "'Input' or 'Output' can't be made out; write it more simply");
  if (faults.all.size) return faults.told();
  const places = { input: faults.place(input.declaration), output: faults.place(output.declaration) };
  return JSON.stringify({ javascript: emitted(program, file), input: inputSchema, output: outputSchema, places });
}

function hostOf(file) {
  return {
    getSourceFile: (name) => (name === libraryName ? library : name === sourceName ? file : undefined),
    getDefaultLibFileName: () => libraryName,
    getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (name) => name === libraryName || name === sourceName,
    readFile: () => undefined,
    writeFile: () => {},
  };
}

function emitted(program, file) {
  let script, map;
  program.emit(file, (name, text) => void (name.endsWith(".map") ? (map = text) : (script = text)));
  // Strict as modules are; the compiler's own words for it come too late to count, after `exports`. Not in parentheses,
  // because QuickJS reads twice what begins with one, and this is read for each run.
  const opening = 'globalThis.__transform = function () {\n"use strict";\nconst exports = {};\n';
  const lines = linesOf(map, opening.split("\n").length - 1);
  return `${opening}${script}\nreturn exports.default;\n}();\n//# lines=${lines}\n`;
}

/** Say which line of the source each line of the JavaScript comes from, for what is thrown; 0 means no line. */
function linesOf(map, before) {
  const lines = new Array(before).fill(0);
  for (const { generatedLine, sourceLine = -1 } of ts.decodeMappings(JSON.parse(map).mappings)) {
    while (lines.length < before + generatedLine) lines.push(0);
    if (lines.length === before + generatedLine) lines.push(sourceLine + 1);
  }
  return lines;
}

/** What is wrong with a source, each said once, with the line and column that an editor would show. */
class Faults {
  constructor(file) {
    this.file = file;
    this.all = new Map();
  }

  add(start, message) {
    this.all.set(`${start} ${message}`, { start, message });
  }

  place(declaration) {
    return this.position(ts.getTokenPosOfNode(declaration.name, this.file));
  }

  position(start) {
    const { line, character } = ts.getLineAndCharacterOfPosition(this.file, start);
    // Counted in characters, of which some take two places in JavaScript.
    const column = [...this.file.text.slice(start - character, start)].length + 1;
    return { line: line + 1, column };
  }

  told() {
    const first = [...this.all.values()].sort((a, b) => a.start - b.start).slice(0, faultsMax);
    return JSON.stringify({ faults: first.map(({ start, message }) => ({ message, ...this.position(start) })) });
  }
}
