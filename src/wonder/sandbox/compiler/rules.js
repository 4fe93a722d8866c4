// What a transform must have and must not have, as far as its syntax tells: the rest is said by the types.

const K = ts.SyntaxKind;
const written = "`(input: Input): Output => …`";

/** Find what is refused whatever its types are; `spans` are the places that the compiler need not talk about again. */
function refusals(file, fault) {
  const spans = [];
  const refuse = (node, message, silence = true) => {
    fault(ts.getTokenPosOfNode(node, file), message);
    if (silence) spans.push([node.pos, node.end]);
  };
  for (const reference of [...file.referencedFiles, ...file.typeReferenceDirectives, ...file.libReferenceDirectives])
    fault(reference.pos, "a transform has no references to other files; write the types here");
  const waiting = [...file.statements].reverse();
  while (waiting.length) {
    const node = waiting.pop();
    const message = refusal(node);
    if (message) refuse(node, message, node.kind !== K.AsyncKeyword);
    const inside = [];
    ts.forEachChild(node, (child) => void inside.push(child));
    waiting.push(...inside.reverse());
  }
  return spans;
}

function refusal(node) {
  switch (node.kind) {
    case K.ImportDeclaration:
    case K.ImportEqualsDeclaration:
    case K.ImportType:
      return "a transform imports nothing; write the code and its types here";
    case K.ExportDeclaration:
      return node.moduleSpecifier && "a transform exports nothing of others; write the code here";
    case K.ExportAssignment:
      return node.isExportEquals && "write `export default` in the place of `export =`";
    case K.NamespaceExportDeclaration:
      return "a transform exports its function and nothing else";
    case K.MetaProperty:
      return node.keywordToken === K.ImportKeyword && "import.meta is not there in a transform: it has no place";
    case K.CallExpression:
      return node.expression.kind === K.ImportKeyword && "a transform imports nothing; write the code here";
    case K.AsyncKeyword:
    case K.AwaitExpression:
    case K.AwaitKeyword:
      return "a transform is synchronous: no async and no await; what must be waited for is a step of its own";
    case K.ModuleDeclaration:
      if (node.flags & ts.NodeFlags.GlobalAugmentation || node.name.kind === K.StringLiteral)
        return "a transform adds nothing to other modules; write the types here";
      return ambient(node);
    case K.VariableStatement:
    case K.FunctionDeclaration:
    case K.ClassDeclaration:
    case K.EnumDeclaration:
      return ambient(node);
  }
  return undefined;
}

function ambient(node) {
  const isDeclared = (node.modifiers ?? []).some((modifier) => modifier.kind === K.DeclareKeyword);
  return isDeclared && "`declare` says that something is there, and nothing is; write the thing itself";
}

/** Find the type that is called Input or Output, or say what is wrong with it. */
function requiredType(checker, file, name, fault) {
  const local = file.locals?.get(name);
  // What is exported has its type there, and only its name here.
  const symbol = local?.exportSymbol ?? local;
  const declaration = symbol?.declarations?.find((one) => one.kind !== K.VariableDeclaration);
  if (!declaration) {
    fault(0, `Missing required '${name}' interface declaration`);
    return undefined;
  }
  const at = ts.getTokenPosOfNode(declaration.name ?? declaration, file);
  if (declaration.kind !== K.InterfaceDeclaration && declaration.kind !== K.TypeAliasDeclaration) {
    fault(at, `'${name}' must be an interface or a type`);
    return undefined;
  }
  if (declaration.typeParameters?.length) {
    fault(at, `'${name}' must not have type parameters: nobody could say what they are`);
    return undefined;
  }
  return { type: checker.getDeclaredTypeOfSymbol(symbol), declaration };
}

/** Check that what is exported takes an Input and gives an Output. */
function checkFunction(checker, file, input, output, fault) {
  let symbol = file.symbol?.exports?.get("default");
  if (!symbol) {
    fault(0, "Missing required default export: write `export default (input: Input): Output => …`");
    return;
  }
  const exported = symbol.declarations[0];
  const start = (node) => ts.getTokenPosOfNode(node, file);
  if (symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const type = checker.getTypeOfSymbol(symbol);
  // Something is wrong with it that has been said already, or it was cast on purpose.
  if (type.flags & ts.TypeFlags.Any) return;
  const [signature, ...others] = checker.getSignaturesOfType(type, ts.SignatureKind.Call);
  const at = start(signature?.declaration ?? exported);
  if (!signature || others.length || signature.typeParameters?.length) {
    fault(at, `the default export must be one function, without overloads and type parameters: ${written}`);
    return;
  }
  const parameters = signature.declaration?.parameters ?? [];
  if (parameters.length > 1 || parameters[0]?.dotDotDotToken) {
    fault(start(parameters[1] ?? parameters[0]), `the function takes one argument, its input: ${written}`);
    return;
  }
  const [parameter] = signature.parameters;
  if (input && parameter) {
    const taken = checker.getTypeOfSymbol(parameter);
    const shown = checker.typeToString(taken);
    if (!checker.isTypeAssignableTo(input.type, taken))
      fault(start(parameters[0]), `the function takes ${shown}, and is given Input, which is not that`);
  }
  const given = checker.getReturnTypeOfSignature(signature);
  if (output && !checker.isTypeAssignableTo(given, output.type))
    fault(
      start(signature.declaration?.type ?? signature.declaration ?? exported),
      `the function gives ${checker.typeToString(given)}, which is not an Output`,
    );
}
