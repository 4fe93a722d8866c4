"""What is wrong with a transform is told all at once, with line and column in the author's source (PHS-5)."""

import pytest

from wonder.sandbox.typescript import SOURCE_BYTES_MAX, InvalidTypeScript, TypeScriptCompiler

pytestmark = pytest.mark.asyncio(loop_scope="module")

TYPES = "interface Input { a: string; list: number[] }\ninterface Output { b: string }\n"
"""Two lines, so that what follows begins in the third."""
GIVES = "export default (input: Input): Output => "
SAME = "it must give the same result each time"
ALONE = "a transform imports nothing; write the code"
SYNCHRONOUS = "a transform is synchronous"
ONE_FUNCTION = "the default export must be one function"


async def faults_of(compiler: TypeScriptCompiler, source: str) -> list[tuple[int, int, str]]:
    """Compile what must be refused."""
    with pytest.raises(InvalidTypeScript) as refused:
        await compiler.compile(source)
    return [(fault.line, fault.column, fault.message) for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("({ b: 1 })", 45, "Type 'number' is not assignable to type 'string'."),
        (
            "({ c: '' })",
            45,
            "Object literal may only specify known properties, and 'c' does not exist in type 'Output'.",
        ),
        ("({ b: input.nope })", 54, "Property 'nope' does not exist on type 'Input'."),
        ("({ b: input.list.map(n => n.trim()).join() })", 70, "Property 'trim' does not exist on type 'number'."),
        ("({ b: new Date().toISOString() })", 52, f"Date is not there in a transform: {SAME}; pass the time as input"),
        ("({ b: Date() })", 48, f"Date is not there in a transform: {SAME}; pass the time as input"),
        ("({ b: globalThis.Date })", 59, f"Date is not there in a transform: {SAME}; pass the time as input"),
        ("({ b: performance.now() })", 48, f"performance is not there in a transform: {SAME}; pass the time as input"),
        ("({ b: `${Math.random()}` })", 56, f"Math.random is not there in a transform: {SAME}; make it in a tool step"),
        ("({ b: crypto.randomUUID() })", 48, f"crypto is not there in a transform: {SAME}; make it in a tool step"),
        ("({ b: fetch('x') })", 48, "fetch is not there in a transform: it reaches nothing outside; call a tool step"),
        ("({ b: process.env.X })", 48, "process is not there in a transform: it reaches nothing outside"),
        (
            "({ b: setTimeout(() => 1, 1) })",
            48,
            "setTimeout is not there in a transform: it does not wait; use a sleep",
        ),
        ("({ b: Promise.resolve('') })", 48, "Promise is not there in a transform: it does not wait"),
        ("({ b: eval('1') })", 48, "eval is not there in a transform: no code is made while it runs"),
        ("({ b: new Function('1')() })", 52, "Function is not there in a transform: no code is made while it runs"),
        ("({ b: (() => 1).constructor('1')() })", 58, "constructor is not there in a transform: no code is made"),
        ("({ b: require('fs') })", 48, "require is not there in a transform: it imports nothing"),
        ("({ b: console.log(1) })", 48, "console is not there in a transform: nothing is printed"),
        ("({ b: ctx.state })", 48, "ctx is not there in a transform: it is given its input and nothing else"),
        ("({ b: (1).toLocaleString() })", 52, "toLocaleString is not there in a transform: it would depend on where"),
        ("({ b: new Intl.NumberFormat() })", 52, "Intl is not there in a transform: it would depend on where"),
        ("({ b: new WeakRef({}) })", 52, "WeakRef is not there in a transform: when memory is freed"),
        ("({ b: import('x') })", 48, ALONE),
        ("({ b: Array.prototype.x })", 64, "Property 'x' does not exist on type 'any[]'."),
        (
            "({ b: input.a.localeCompare('') })",
            56,
            "localeCompare is not there in a transform: it would depend on where",
        ),
        ("({ b: Array.fromAsync([]) })", 54, "fromAsync is not there in a transform: it does not wait"),
        (
            "({ b: Error.captureStackTrace })",
            54,
            "captureStackTrace is not there in a transform: who has called is not",
        ),
        ("({ b: new TextEncoder() })", 52, "TextEncoder is not there in a transform: it is no part of the language"),
        ("({ b: new URL(input.a) })", 52, "URL is not there in a transform: it is no part of the language"),
        ("({ b: structuredClone(input) })", 48, "structuredClone is not there in a transform: it is no part of the"),
        ("({ b: new SharedArrayBuffer(1) })", 52, "SharedArrayBuffer is not there in a transform: it shares no memory"),
        ("({ b: nothing })", 48, "Cannot find name 'nothing'."),
        ("({ b: new Uint8Array(1) })", 45, "Type 'Uint8Array' is not assignable to type 'string'."),
        ("({ b: '😀' + nope })", 54, "Cannot find name 'nope'."),  # one character, though JavaScript counts two
        ("5", 42, "Type 'number' is not assignable to type 'Output'."),
    ],
)
async def test_phs_5_what_is_impure_or_of_another_type_is_told_where_it_stands(
    compiler: TypeScriptCompiler, body: str, column: int, message: str
) -> None:
    faults = await faults_of(compiler, TYPES + GIVES + body)
    assert [fault[:2] for fault in faults] == [(3, column)]
    assert faults[0][2].startswith(message)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import x from 'y';\n" + TYPES + GIVES + "({ b: x })", [(1, 1, ALONE)]),
        (TYPES + "import type { X } from './x';\n" + GIVES + "({ b: '' })", [(3, 1, ALONE)]),
        (TYPES + "import x = require('x');\n" + GIVES + "({ b: x })", [(3, 1, ALONE)]),
        (TYPES + "type X = import('x').Y;\n" + GIVES + "({ b: '' })", [(3, 10, ALONE)]),
        (TYPES + "export * from 'x';\n" + GIVES + "({ b: '' })", [(3, 1, "a transform exports nothing of others")]),
        ('/// <reference lib="dom" />\n' + TYPES + GIVES + "({ b: '' })", [(1, 21, "a transform has no references")]),
        (TYPES + "declare const Date: any;\n" + GIVES + "({ b: Date })", [(3, 1, "`declare` says that something is")]),
        (TYPES + "declare global {}\n" + GIVES + "({ b: '' })", [(3, 1, "a transform adds nothing to other modules")]),
        (TYPES + "async function f() {}\n" + GIVES + "({ b: '' })", [(3, 1, SYNCHRONOUS)]),
        (
            TYPES + "const f = async () => await 1;\n" + GIVES + "({ b: '' })",
            [(3, 11, SYNCHRONOUS), (3, 23, SYNCHRONOUS)],
        ),
        (TYPES, [(1, 1, "Missing required default export")]),
        (TYPES + "export default 5", [(3, 1, ONE_FUNCTION)]),
        (TYPES + "export default class X {}", [(3, 1, ONE_FUNCTION)]),
        (TYPES + "export default <T,>(a: T): Output => ({ b: '' })", [(3, 16, ONE_FUNCTION)]),
        (
            TYPES + "export default (a: Input, b: 1): Output => ({ b: '' })",
            [(3, 27, "the function takes one argument")],
        ),
        (
            TYPES + "export default (a: string): Output => ({ b: a })",
            [(3, 17, "the function takes string, and is given")],
        ),
        (TYPES + "export default (a: Input) => 5", [(3, 16, "the function gives number, which is not an Output")]),
        (TYPES + "export default (a) => ({ b: '' })", [(3, 17, "Parameter 'a' implicitly has an 'any' type.")]),
        (TYPES + GIVES + "({ b: ''\n", [(4, 1, "'}' expected.")]),
        (TYPES + "// @ts-ignore\nconst n: number = '';\n" + GIVES + "({ b: '' })", [(4, 7, "Type 'string' is not")]),
        ("// @ts-nocheck\n" + TYPES + GIVES + "({ b: 1 })", [(4, 45, "Type 'number' is not")]),
        (
            "class Input {}\ntype Output = 1;\nexport default (i: Input): Output => 1",
            [(1, 7, "'Input' must be an interface")],
        ),
        ("type Input<T> = T;\ntype Output = 1;\nexport default (i: 1): Output => 1", [(1, 6, "'Input' must not have")]),
        ("a\0b", [(1, 2, "the character U+0000 can't stand in a source")]),
        ("a\n'\ud800'", [(2, 2, "the character U+D800 can't stand in a source")]),
        ("\n".join(["x"] * SOURCE_BYTES_MAX), [(1, 1, "the source is too long")]),
    ],
    ids=range(26),
)
async def test_phs_5_what_a_transform_may_not_have_is_told_where_it_stands(
    compiler: TypeScriptCompiler, source: str, expected: list[tuple[int, int, str]]
) -> None:
    faults = await faults_of(compiler, source)
    assert [fault[:2] for fault in faults] == [place[:2] for place in expected]
    for fault, (_, _, message) in zip(faults, expected, strict=True):
        assert fault[2].startswith(message)


async def test_phs_5_input_and_output_are_required_in_the_words_of_the_source(compiler: TypeScriptCompiler) -> None:
    faults = await faults_of(compiler, "export default (input) => input.items.map(x => ({ id: x.id, data: x }))")
    assert faults[:2] == [
        (1, 1, "Missing required 'Input' interface declaration"),
        (1, 1, "Missing required 'Output' interface declaration"),
    ]


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("() => void", "a function has no JSON form; leave it out"),
        ("new () => object", "a function has no JSON form; leave it out"),
        ("bigint", "bigint has no JSON form; write number"),
        ("10n", "bigint has no JSON form; write number"),
        ("symbol", "symbol has no JSON form; write string"),
        ("Map<string, number>", "Map<string, number> has no JSON form; write Record<string, …>"),
        ("Set<string>", "Set<string> has no JSON form; write a list"),
        ("RegExp", "RegExp has no JSON form; write string"),
        ("Error", "Error has no JSON form"),
        ("Function", "Function has no JSON form"),
        ("String", "String has no JSON form; write string"),
        ("Iterable<string>", "Iterable<string> has no JSON form; write a plain object or list"),
        ("Date", "Date is not there in a transform"),
        ("(string | undefined)[]", "undefined has no JSON form; write null"),
        ("[string | undefined]", "undefined has no JSON form; write null"),
        ("[...string[], number]", "[...string[], number] has no JSON form; put the rest element last"),
        ("1e999", "Infinity has no JSON form; write number"),
        ("string[] & { extra: 1 }", "string[] & { extra: 1; } has no JSON form; write a list or an object"),
        ("Endless<string>", "the type can't be written as a schema: it is nested too deeply, or grows without end"),
    ],
)
async def test_phs_5_a_type_without_json_form_is_told_where_it_stands(
    compiler: TypeScriptCompiler, type: str, message: str
) -> None:
    source = f"interface Endless<T> {{ next: Endless<T[]> }}\ntype Input = 1;\ninterface Output {{\n  x: {type};\n}}\n"
    faults = await faults_of(compiler, source + "export default (input: Input): Output => input as any;")
    assert len(faults) == 1
    line, column, said = faults[0]
    assert said.startswith(message)
    assert (line, column) == ((1, 30) if type.startswith("Endless") else (4, 6))


async def test_phs_5_all_faults_are_told_at_once_in_their_order(compiler: TypeScriptCompiler) -> None:
    source = TYPES.replace("list: number[]", "when: Date; f(): void") + GIVES + "({ b: Math.random() + input.x })"
    faults = await faults_of(compiler, source)
    assert [fault[:2] for fault in faults] == [(1, 36), (1, 42), (3, 53), (3, 70)]
