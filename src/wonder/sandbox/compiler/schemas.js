// Types as JSON Schemas: taken from the compiler's types, so that whatever can be written as a type is understood.

const T = ts.TypeFlags;
const nodesMax = 10_000;
const levelsMax = 500;
// Below this many levels of JSON a type gets a name and a place of its own, so that no schema is nested too deeply.
const inlineLevels = 24;
// A type that is named twice is written twice, unless that would make a schema much longer.
const repeatedMax = 200;

const leftOut = "write null, or make the property optional";
const plain = "write a plain object or list";
const typeOrder = ["string", "number", "boolean", "object", "null"];

class NoSchema extends Error {}

/** Makes the schemas of one source's types. A type that is made of others is a node, so that it can refer to itself. */
class Schemas {
  constructor(checker, file, fault) {
    Object.assign(this, { checker, file, fault });
  }

  /** Give the schema of a type, or undefined when something in it has no JSON form, which is then a fault. */
  of({ type, declaration }) {
    Object.assign(this, { nodes: new Map(), level: 0, mayMiss: false, failed: false });
    try {
      const root = this.convert(type, declaration.type ?? declaration.name);
      return this.failed ? undefined : new Written(root.node ?? { schema: root }).whole();
    } catch (error) {
      if (!(error instanceof NoSchema)) throw error;
      return undefined;
    }
  }

  convert(type, at) {
    const flags = type.flags;
    // What the compiler could not make out has been said, and is not what the author wrote `any` for.
    if (type.intrinsicName === "error") this.failed = true;
    if (flags & (T.Any | T.Unknown)) return true;
    if (flags & T.Never) return false;
    if (flags & T.Union) return this.union(type, at);
    if (flags & T.EnumLiteral && type.value === undefined) return { type: "number" };
    if (flags & (T.StringLiteral | T.NumberLiteral)) return this.literal(type.value, at);
    if (flags & T.BooleanLiteral) return { const: type.intrinsicName === "true" };
    if (flags & T.String) return { type: "string" };
    if (flags & (T.Number | T.Enum)) return { type: "number" };
    if (flags & T.Boolean) return { type: "boolean" };
    if (flags & T.Null) return { type: "null" };
    if (flags & (T.Undefined | T.Void)) return this.refuse(at, "undefined", leftOut);
    if (flags & T.BigIntLike) return this.refuse(at, "bigint", "write number, or string for long ones");
    if (flags & T.ESSymbolLike) return this.refuse(at, "symbol", "write string");
    if (flags & (T.TemplateLiteral | T.StringMapping)) return this.pattern(type, at);
    if (flags & T.NonPrimitive) return { type: "object" };
    if (flags & T.Intersection) return this.intersection(type, at);
    if (flags & T.Object) return this.object(type, at);
    return this.refuse(at, this.checker.typeToString(type), "write out what it stands for");
  }

  literal(value, at) {
    if (typeof value === "number" && !Number.isFinite(value)) return this.refuse(at, String(value), "write number");
    return { const: value };
  }

  union(type, at) {
    const members = type.types.filter((member) => !(member.flags & (T.Undefined | T.Void)));
    if (members.length < type.types.length && !this.mayMiss) {
      return this.refuse(at, "undefined", leftOut);
    }
    this.mayMiss = false;
    if (members.length === 1) return this.convert(members[0], at);
    return this.node(members.map((member) => member.id).join("|"), type, at, () => this.alternatives(members, at));
  }

  alternatives(members, at) {
    const types = [];
    const values = [];
    const others = [];
    for (const member of members) {
      const schema = this.convert(member, at);
      if (typeof schema === "object" && "const" in schema) values.push(schema.const);
      else if (typeof schema === "object" && schema.type && Object.keys(schema).length === 1) types.push(schema.type);
      else others.push(schema);
    }
    if (values.includes(true) && values.includes(false)) {
      types.push("boolean");
      values.splice(0, values.length, ...values.filter((value) => typeof value !== "boolean"));
    }
    if (values.length && types.length === 1 && types[0] === "null") values.push(types.pop() && null);
    const all = [];
    const order = (name) => typeOrder.indexOf(name);
    const named = [...new Set(types)].sort((a, b) => order(a) - order(b));
    if (named.length) all.push({ type: named.length === 1 ? named[0] : named });
    if (values.length) all.push(values.length === 1 ? { const: values[0] } : { enum: values });
    all.push(...others);
    return all.length === 1 ? all[0] : { anyOf: all };
  }

  intersection(type, at) {
    // `string & { brand: "id" }` is a text: what is put beside it only keeps it apart from other texts.
    const simple = type.types.filter((member) => !(member.flags & (T.Object | T.NonPrimitive | T.TypeParameter)));
    if (simple.length) {
      const schemas = simple.map((member) => this.convert(member, at));
      return schemas.length === 1 ? schemas[0] : { allOf: schemas };
    }
    const isList = (member) => this.checker.isArrayType(member) || this.checker.isTupleType(member);
    if (type.types.some(isList)) return this.refuse(at, this.checker.typeToString(type), "write a list or an object");
    return this.node("type:" + type.id, type, at, () => this.properties(type, at));
  }

  object(type, at) {
    const checker = this.checker;
    if (checker.isArrayType(type))
      return this.node("type:" + type.id, type, at, () => {
        return { type: "array", items: this.convert(checker.getTypeArguments(type)[0], at) };
      });
    if (checker.isTupleType(type)) return this.node("type:" + type.id, type, at, () => this.tuple(type, at));
    const calls = checker.getSignaturesOfType(type, ts.SignatureKind.Call).length;
    if (calls || checker.getSignaturesOfType(type, ts.SignatureKind.Construct).length)
      return this.refuse(at, "a function", "leave it out: only what is JSON goes from step to step");
    const declared = type.symbol?.declarations?.[0];
    const isNamed = type.symbol && type.symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class);
    if (isNamed && declared && ts.getSourceFileOfNode(declared) !== this.file)
      return this.refuse(at, checker.typeToString(type), libraryHints[ts.symbolName(type.symbol)] ?? plain);
    return this.node("type:" + type.id, type, at, () => this.properties(type, at));
  }

  tuple(type, at) {
    const flags = type.target.elementFlags;
    const elements = this.checker.getTypeArguments(type).slice(0, flags.length);
    const rest = flags.findIndex((flag) => flag & (ts.ElementFlags.Rest | ts.ElementFlags.Variadic));
    if (rest >= 0 && rest < flags.length - 1)
      return this.refuse(at, this.checker.typeToString(type), "put the rest element last");
    const first = elements.slice(0, rest < 0 ? elements.length : rest);
    const schema = { type: "array" };
    const prefix = first.map((element, index) => this.part(element, at, !!(flags[index] & ts.ElementFlags.Optional)));
    if (prefix.length) schema.prefixItems = prefix;
    schema.items = rest < 0 ? false : this.convert(elements[rest], at);
    schema.minItems = flags.filter((flag) => flag & ts.ElementFlags.Required).length;
    if (rest < 0) schema.maxItems = first.length;
    // Said even where it is 0, if elements are optional: else a tuple would seem to have them all.
    if (!schema.minItems && !flags.some((flag) => flag & ts.ElementFlags.Optional)) delete schema.minItems;
    return schema;
  }

  properties(type, at) {
    const schema = { type: "object" };
    const properties = Object.create(null);
    const required = [];
    for (const property of this.checker.getPropertiesOfType(type)) {
      const name = ts.symbolName(property);
      const place = this.placeOf(property, at);
      if (property.escapedName.startsWith("__@") || property.escapedName.startsWith("__#")) {
        this.refuse(place, "a property that is a symbol or private", "leave it out");
        continue;
      }
      const held = this.checker.getTypeOfSymbol(property);
      const isOptional = !!(property.flags & ts.SymbolFlags.Optional) || this.includesUndefined(held);
      properties[name] = described(this.part(held, place, isOptional), documentation(property.declarations, this.file));
      if (!isOptional) required.push(name);
    }
    if (Object.keys(properties).length) schema.properties = properties;
    if (required.length) schema.required = required;
    for (const info of this.checker.getIndexInfosOfType(type)) this.index(info, schema, at);
    return schema;
  }

  index(info, schema, at) {
    const place = info.declaration && ts.getSourceFileOfNode(info.declaration) === this.file ? info.declaration : at;
    if (info.keyType.flags & T.ESSymbolLike) return void this.refuse(place, "a symbol as key", "write string");
    const held = this.part(info.type, place, true);
    if (info.keyType.flags & T.String) {
      schema.additionalProperties = held;
      return;
    }
    const pattern = info.keyType.flags & T.Number ? `^${numberPattern}$` : this.pattern(info.keyType, place).pattern;
    schema.patternProperties ??= Object.create(null);
    schema.patternProperties[pattern ?? ""] = held;
  }

  /** Convert a type of which `undefined` is no part, because what is undefined is left out. */
  part(type, at, mayMiss) {
    if (mayMiss && type.flags & (T.Undefined | T.Void)) return false;
    this.mayMiss = mayMiss;
    try {
      return this.convert(type, at);
    } finally {
      this.mayMiss = false;
    }
  }

  includesUndefined(type) {
    if (type.flags & T.Union) return type.types.some((member) => member.flags & (T.Undefined | T.Void));
    return !!(type.flags & (T.Undefined | T.Void));
  }

  pattern(type, at) {
    const source = this.source(type);
    if (source === undefined) return this.refuse(at, this.checker.typeToString(type), "write string");
    return { type: "string", pattern: `^${source}$` };
  }

  source(type) {
    if (type.flags & T.TemplateLiteral) {
      const parts = type.types.map((part, index) => {
        const source = this.source(part);
        return source === undefined ? undefined : source + escaped(type.texts[index + 1]);
      });
      return parts.includes(undefined) ? undefined : escaped(type.texts[0]) + parts.join("");
    }
    if (type.flags & T.StringMapping)
      return type.type.flags & T.String ? mappings[ts.symbolName(type.symbol)] : undefined;
    if (type.flags & T.Union) {
      const parts = type.types.map((part) => this.source(part));
      return parts.includes(undefined) ? undefined : `(?:${parts.join("|")})`;
    }
    if (type.flags & (T.StringLiteral | T.NumberLiteral)) return escaped(String(type.value));
    if (type.flags & (T.String | T.Any)) return anyText;
    if (type.flags & T.Number) return numberPattern;
    if (type.flags & T.BigInt) return "(?:0|-?[1-9][0-9]*)";
    if (type.flags & T.Intersection) return this.source(type.types.find((part) => !(part.flags & T.Object)));
    return undefined;
  }

  node(key, type, at, make) {
    const known = this.nodes.get(key);
    if (known) return { node: known };
    const node = { name: nameOf(type), schema: undefined, description: undefined };
    this.nodes.set(key, node);
    if (this.nodes.size > nodesMax) this.stop(at, `it is made of more than ${nodesMax} types`);
    if (++this.level > levelsMax) this.stop(at, "it is nested too deeply, or grows without end");
    this.mayMiss = false;
    node.schema = make();
    node.description = documentation((type.aliasSymbol ?? type.symbol)?.declarations, this.file);
    this.level--;
    return { node };
  }

  placeOf(property, at) {
    const declaration = property.valueDeclaration ?? property.declarations?.[0];
    if (!declaration || ts.getSourceFileOfNode(declaration) !== this.file) return at;
    // The type of a method would be what it gives.
    return (declaration.parameters ? undefined : declaration.type) ?? declaration.name ?? declaration;
  }

  refuse(at, what, hint) {
    this.failed = true;
    this.fault(ts.getTokenPosOfNode(at, this.file), `${what} has no JSON form; ${hint}`);
    return false;
  }

  stop(at, why) {
    this.fault(ts.getTokenPosOfNode(at, this.file), `the type can't be written as a schema: ${why}`);
    throw new NoSchema();
  }
}
