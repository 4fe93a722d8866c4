// What to say in the place of the compiler's words where they would mislead: it does not know why a name is not there.

const same = "it must give the same result each time";
const outside = "it reaches nothing outside; call a tool step, and pass its output as input";
const wait = "it does not wait; use a sleep step, or pass the outcome of a tool step as input";
const code = "no code is made while it runs; write it as a function";
const place = `it would depend on where it runs, and ${same}`;
const callers = "who has called is not told; throw an error, whose message and line are told";
const compare = "`(a, b) => (a < b ? -1 : a > b ? 1 : 0)`";

const missing = new Map([
  ...["Date", "performance", "Temporal"].map((name) => [name, `${same}; pass the time as input`]),
  ...["crypto", "random"].map((name) => [name, `${same}; make it in a tool step, and pass it as input`]),
  ...["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "WebAssembly", "navigator", "location",
    "localStorage", "sessionStorage", "indexedDB", "document", "window", "self", "global", "process", "Buffer", "Deno",
    "Bun", "std", "os"].map((name) => [name, outside]),
  ...["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "queueMicrotask",
    "requestAnimationFrame", "Promise", "AsyncFunction"].map((name) => [name, wait]),
  ...["eval", "Function"].map((name) => [name, code]),
  ...["require", "module", "__dirname", "__filename"].map((name) => [name, "it imports nothing; write the code here"]),
  ["Intl", place],
  ...["WeakRef", "FinalizationRegistry"].map((name) => [name, `when memory is freed is not foreseen, and ${same}`]),
  ...["SharedArrayBuffer", "Atomics"].map((name) => [name, "it shares no memory with anybody"]),
  ...["TextEncoder", "TextDecoder"].map((name) => [name, "it is no part of the language; write encodeURIComponent, or codePointAt"]),
  ...["URL", "URLSearchParams"].map((name) => [name, "it is no part of the language; write split, encodeURIComponent and the like"]),
  ["structuredClone", "it is no part of the language; write JSON.parse(JSON.stringify(value))"],
  ["console", "nothing is printed; what should be seen goes into the output"],
  ["ctx", "it is given its input and nothing else"],
]);
// Properties that are there in JavaScript, and not here.
const missingProperties = new Map([
  ["localeCompare", `${place}; compare with ${compare}`],
  ...["toLocaleString", "toLocaleLowerCase", "toLocaleUpperCase", "toLocaleDateString", "toLocaleTimeString"].map(
    (name) => [name, place],
  ),
  ...["fromAsync", "asyncIterator"].map((name) => [name, wait]),
  ...["captureStackTrace", "prepareStackTrace", "stackTraceLimit", "caller", "callee"].map((name) => [name, callers]),
  ["constructor", code],
]);
// A name that is not found, a type or property that is not there, a type where a value should be.
const unknownName = new Set([2304, 2552, 2580, 2581, 2582, 2583, 2584, 2585, 2591, 2592, 2593, 2693, 2503, 2868]);
const unknownProperty = new Set([2339, 2550, 2551, 7017]);
const implicitAny = new Set([7006, 7031]);

/** Say a diagnostic of the compiler in the words of one who knows that this is a transform. */
function messageOf(diagnostic, text) {
  const said = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
  const name = text.slice(diagnostic.start, diagnostic.start + diagnostic.length);
  const isProperty = unknownProperty.has(diagnostic.code);
  if (isProperty && name === "random" && said.includes("'Math'")) return notThere("Math.random", missing.get(name));
  if (isProperty && missingProperties.has(name)) return notThere(name, missingProperties.get(name));
  const known = isProperty ? said.includes("globalThis") : unknownName.has(diagnostic.code) && name !== "random";
  if (known && missing.has(name)) return notThere(name, missing.get(name));
  // There is no library to be changed and nothing to be installed.
  if (unknownName.has(diagnostic.code) || diagnostic.code === 2550) return said.replace(/ Do you need to [\s\S]*/, "");
  if (implicitAny.has(diagnostic.code)) return `${said} Say what it is, for example (input: Input).`;
  return said;
}

function notThere(name, why) {
  return `${name} is not there in a transform: ${why}`;
}
