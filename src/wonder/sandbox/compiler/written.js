// Schemas written out: nodes in their place, or under $defs if they refer to themselves or would be written too often.

const anyText = "[\\s\\S]*";
const numberPattern = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?";
const mappings = {
  Uppercase: "[^\\p{Ll}]*",
  Lowercase: "[^\\p{Lu}\\p{Lt}]*",
  Capitalize: "(?:[^\\p{Ll}][\\s\\S]*)?",
  Uncapitalize: "(?:[^\\p{Lu}\\p{Lt}][\\s\\S]*)?",
};
const libraryHints = {
  Map: "write Record<string, …>",
  Set: "write a list",
  RegExp: "write string",
  Error: "write { message: string }",
  String: "write string",
  Number: "write number",
  Boolean: "write boolean",
  BigInt: "write number, or string for long ones",
  Object: "write object",
  Function: "leave it out: only what is JSON goes from step to step",
};

/** One schema, made of nodes that refer to each other. */
class Written {
  constructor(root) {
    this.root = root;
    this.definitions = new Map();
    this.sizes = new Map();
    this.uses = new Map([[root, 1]]);
    this.circular = new Set();
    this.measure(root, new Set());
  }

  whole() {
    // In its place even if it is named below as well: who reads a schema begins at the top.
    const whole = described(this.write(this.root.schema, 0), this.root.description);
    if (!this.definitions.size) return whole;
    const definitions = Object.create(null);
    // More may be named while these are written.
    for (const [node, name] of this.definitions)
      definitions[name] = described(this.write(node.schema, 2), node.description);
    return { ...whole, $defs: definitions };
  }

  /** Count how often each node is used and how long it is, and find those that come back to themselves. */
  measure(node, above) {
    above.add(node);
    let size = 1;
    for (const inner of nodesIn(node.schema)) {
      this.uses.set(inner, (this.uses.get(inner) ?? 0) + 1);
      if (above.has(inner)) this.circular.add(inner);
      else if (!this.sizes.has(inner)) this.measure(inner, above);
      size += this.sizes.get(inner) ?? 1;
    }
    above.delete(node);
    this.sizes.set(node, Math.min(size, 1e9));
  }

  write(schema, level) {
    if (Array.isArray(schema)) return schema.map((part) => this.write(part, level + 1));
    if (typeof schema !== "object" || schema === null) return schema;
    if (schema.node) return described(this.place(schema.node, level), schema.description);
    const copy = Object.create(null);
    for (const key of Object.keys(schema)) {
      const isValue = key === "const" || key === "enum" || key === "required";
      copy[key] = isValue ? schema[key] : this.write(schema[key], level + 1);
    }
    return copy;
  }

  place(node, level) {
    const isLong = this.uses.get(node) * this.sizes.get(node) > repeatedMax && this.sizes.get(node) > 3;
    const isRepeated = this.uses.get(node) > 1 && isLong;
    if (this.circular.has(node) || isRepeated || (level > inlineLevels && this.sizes.get(node) > 3))
      return this.referred(node);
    return described(this.write(node.schema, level), node.description);
  }

  referred(node) {
    if (!this.definitions.has(node)) {
      const taken = new Set(this.definitions.values());
      let name = node.name;
      for (let count = 2; taken.has(name); count++) name = `${node.name}_${count}`;
      this.definitions.set(node, name);
    }
    return { $ref: `#/$defs/${this.definitions.get(node)}` };
  }
}

function nodesIn(schema) {
  if (typeof schema !== "object" || schema === null) return [];
  if (schema.node) return [schema.node];
  return Object.values(schema).flatMap(nodesIn);
}

function nameOf(type) {
  const symbol = type.aliasSymbol ?? type.symbol;
  // What has no name of its own has one that begins so.
  const isAnonymous = !symbol || symbol.escapedName.startsWith("__");
  return isAnonymous ? "Type" : ts.symbolName(symbol).replace(/[^A-Za-z0-9_]/g, "_");
}

function described(schema, description) {
  if (!description || schema === false) return schema;
  return schema === true ? { description } : { ...schema, description };
}

/** Give what the author wrote about a declaration in a comment that begins with two stars. */
function documentation(declarations, file) {
  for (const declaration of declarations ?? []) {
    if (ts.getSourceFileOfNode(declaration) !== file) continue;
    const comment = declaration.jsDoc?.at(-1)?.comment;
    const text = comment && ts.getTextOfJSDocComment(comment);
    if (text) return text;
  }
  return undefined;
}

function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&");
}
