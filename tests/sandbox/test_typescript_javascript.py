"""What TypeScript becomes: a script that sets one function, of which nothing is there that the types do not tell."""

import json
import re
from typing import Any

import _quickjs
import pytest

from wonder.sandbox.typescript import TypeScriptCompiler
from wonder.sandbox.typescript_process import FOLDER

pytestmark = pytest.mark.asyncio(loop_scope="module")

TYPES = "interface Input { n: number; texts: string[] }\ninterface Output { result: unknown }\n"
# Where the members of an interface of the library are found, if not at the prototype of what has its name.
PLACES = {
    "ReadonlyArray": "Array.prototype",
    "CallableFunction": "Function.prototype",
    "NewableFunction": "Function.prototype",
    "Generator": "(function* () {})().__proto__.__proto__",
    "Math": "Math",
    "JSON": "JSON",
    "IteratorObject": "Iterator.prototype",
    "TypedList": "Uint8Array.prototype",
    "TypedListConstructor": "Uint8Array",
}


def evaluate(javascript: str, value: Any) -> Any:
    """Run a script of which we know that it is harmless, in this process."""
    context = _quickjs.Context()
    before = context.eval("Object.getOwnPropertyNames(globalThis).join()").split(",")
    context.eval(javascript)
    after = context.eval("Object.getOwnPropertyNames(globalThis).join()").split(",")
    assert set(after) - set(before) == {"__transform"}
    return json.loads(context.eval(f"JSON.stringify(__transform({json.dumps(value)}))"))


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("export default (i: Input): Output => ({ result: i.texts.map(t => t.toUpperCase()) })", ["A", "B"]),
        ("export default function (i: Input): Output { return { result: i.n } }", 3),
        ("export default function named(i: Input): Output { return { result: i.n } }", 3),
        ("const f = (i: Input): Output => ({ result: i.n });\nexport default f;", 3),
        ("const f = (i: Input): Output => ({ result: i.n });\nexport { f as default };", 3),
        ("export default ({ n }: Input): Output => ({ result: n + 1 });", 4),
        ("export default (): Output => ({ result: 1 }); // the last words", 1),
        ("enum E { A = 'a', B = 'b' }\nexport default (i: Input): Output => ({ result: E.A });", "a"),
        ("const enum E { A = 'a' }\nexport default (i: Input): Output => ({ result: E.A });", "a"),
        ("namespace N { export const x = 1 }\nexport default (i: Input): Output => ({ result: N.x });", 1),
        (
            "class P { constructor(public x: number) {} }\n"
            "export default (i: Input): Output => ({ result: new P(i.n).x })",
            3,
        ),
        ("function* g() { yield 1; yield 2 }\nexport default (i: Input): Output => ({ result: [...g()] });", [1, 2]),
        (
            "export const one = 1;\n"
            "export default (i: Input): Output => ({ result: one satisfies number as unknown });",
            1,
        ),
        ("export default (i: Input): Output => ({ result: Object.groupBy(i.texts, t => t).a });", ["a"]),
        ("export default (i: Input): Output => ({ result: /(?<x>.)/.exec('é')?.groups?.x ?? null });", "é"),
        # Strict, as modules are: a function that is called on nothing has nothing as `this`.
        (
            "function f(this: unknown) { return this === undefined }\n"
            "export default (): Output => ({ result: f.call(undefined) });",
            True,
        ),
    ],
)
async def test_phs_5_the_script_sets_the_function_and_nothing_else(
    compiler: TypeScriptCompiler, source: str, result: Any
) -> None:
    compiled = await compiler.compile(TYPES + source)
    assert evaluate(compiled.javascript, {"n": 3, "texts": ["a", "b"]}) == {"result": result}


@pytest.mark.parametrize("word", ["interface Input", "export interface Input", "type Input =", "export type Input ="])
async def test_phs_5_input_is_an_interface_or_a_type_exported_or_not(compiler: TypeScriptCompiler, word: str) -> None:
    source = f"{word} {{ n: 1 }}\nexport type Output = 1 | true;\nexport default (i: Input): Output => i.n;"
    compiled = await compiler.compile(source)
    assert compiled.input_schema == {"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]}
    assert compiled.output_schema == {"enum": [True, 1]}


async def test_phs_5_the_same_source_gives_the_same_bytes_in_another_process(compiler: TypeScriptCompiler) -> None:
    source = (
        "type Input = { a: 'z' | 'b' | 3 | null; t: Tree; m?: Partial<Record<'x' | 'y', string[] | { q: 1 }>> };\n"
        "interface Tree { children: Tree[] }\ninterface Output { b: string }\n"
        "export default (input: Input): Output => ({ b: String(input.a) });"
    )
    # What was compiled before must not show: the compiler numbers its types.
    await compiler.compile(TYPES + "export default (i: Input): Output => ({ result: 'b' as 'b' | 3 | 'z' });")
    again = TypeScriptCompiler()
    try:
        first, second = await compiler.compile(source), await again.compile(source)
    finally:
        await again.close()
    assert json.dumps(first.input_schema) == json.dumps(second.input_schema)
    assert first == second


async def test_phs_5_everything_that_the_library_declares_is_there_when_a_transform_runs() -> None:
    library = "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.d.ts")))
    values = re.findall(r"^declare (?:var|function) (\w+)", library, re.MULTILINE)
    asked = [f"{value} !== undefined || '{value}' === 'undefined'" for value in values]
    for name, body in re.findall(r"^interface (\w+)[^{]*\{\n(.*?)^\}", library, re.MULTILINE | re.DOTALL):
        place = PLACES.get(name) or (name[:-11] if name.endswith("Constructor") else f"{name}.prototype")
        if place.split(".")[0] in {*values, "Function"} or name in PLACES:
            members = re.findall(r"^  (?:readonly )?(\w+)\??[(<:]", body, re.MULTILINE)
            asked += [f"'{member}' in {place}" for member in members if (name, member) not in NOT_AT_PROTOTYPE]
    context = _quickjs.Context()
    missing = [question for question in asked if context.eval(question) is not True]
    assert len(asked) > 250
    assert missing == []


NOT_AT_PROTOTYPE = {
    ("RegExp", "lastIndex"),
    ("Error", "cause"),
    ("AggregateError", "errors"),
    ("Function", "prototype"),
    *(("Iterator", name) for name in ("next", "return", "throw")),
}


async def test_phs_5_the_library_names_no_clock_no_chance_and_nothing_outside() -> None:
    library = "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.d.ts")))
    code = re.sub(r"//.*", "", library)
    impure = (
        "Date performance random crypto fetch setTimeout setInterval Promise eval WeakRef Intl console require"
        " process FinalizationRegistry SharedArrayBuffer Atomics localeCompare toLocaleString"
        " captureStackTrace constructor"
    )
    assert [name for name in impure.split() if re.search(rf"\b{name}\b", code)] == []


async def test_phs_5_views_that_only_read_groups_of_errors_and_places_of_matches_are_known(
    compiler: TypeScriptCompiler,
) -> None:
    source = """type Input = { words: string[] }
type Output = { size: number; found: boolean; at: number; errors: number }
const count = (known: ReadonlyMap<string, number>, names: ReadonlySet<string>) => known.size + names.size
export default (input: Input): Output => {
  const known = new Map(input.words.map((word) => [word, word.length] as const))
  const at = /b/d.exec("ab")?.indices?.[0]?.[0] ?? -1
  const failed = new AggregateError([new Error("a"), new RangeError("b")], "both")
  return { size: count(known, new Set(known.keys())), found: known.has("a"), at, errors: failed.errors.length }
}"""
    compiled = await compiler.compile(source)
    context = _quickjs.Context()
    context.eval(compiled.javascript)
    given = context.eval('JSON.stringify(__transform({ words: ["a", "bb"] }))')
    assert json.loads(given) == {"size": 4, "found": True, "at": 1, "errors": 2}
