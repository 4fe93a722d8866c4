"""PHS-5: all that is pure in ES2023 can be named in a transform, and is there when it runs."""

import json
import re
from typing import Any

import _quickjs
import pytest

from wonder.sandbox.typescript import TypeScriptCompiler
from wonder.sandbox.typescript_process import FOLDER
from wonder.sandbox.worker import _PURE

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCE = "type Input = any;\ntype Output = any;\nexport default (input: Input): Output => { BODY };"
BODIES: list[tuple[str, Any]] = [
    ("return Object.prototype.hasOwnProperty.call({ a: 1 }, 'a');", True),
    ("return Object.prototype.toString.call([]);", "[object Array]"),
    ("return Array.prototype.slice.call('abc');", ["a", "b", "c"]),
    ("return Array.prototype.map.call('abc', (x: string) => x + x);", ["aa", "bb", "cc"]),
    ("return Reflect.ownKeys({ a: 1, b: 2 });", ["a", "b"]),
    ("return Reflect.has({ a: 1 }, 'a') && Reflect.get({ a: 1 }, 'a') === 1;", True),
    ("return Reflect.construct(Map, [[[1, 2]]]).size;", 1),
    ("return Reflect.apply(Math.max, null, [1, 2]);", 2),
    ("const w = new WeakMap<object, number>(); const k = {}; w.set(k, 1); return w.get(k);", 1),
    ("const w = new WeakSet([{}]); return w.has({});", False),
    ("const o = Object.defineProperty({}, 'x', { get: () => 5, enumerable: true }); return o;", {"x": 5}),
    ("return Object.getPrototypeOf([]) === Array.prototype;", True),
    ("class A { get [Symbol.toStringTag]() { return 'A'; } } return String(new A());", "[object A]"),
    ("class A { [Symbol.toPrimitive](hint: string) { return 42; } } return +new A() as any;", 42),
    ("return Array.from(new Uint8Array([1, 2, 300]));", [1, 2, 44]),
    ("return [...new Float64Array([1.5, 2]).map(x => x * 2)];", [3, 4]),
    ("const v = new DataView(new ArrayBuffer(8)); v.setFloat64(0, 1); return v.getUint8(0);", 63),
    ("return new Uint8Array([3, 1, 2]).sort().join();", "1,2,3"),
    ("return new BigInt64Array(2).fill(7n).reduce((a, b) => a + b, 0n).toString();", "14"),
    ("try { throw new Error('x'); } catch (e) { return typeof (e as Error).stack; }", "string"),
    ("return [1, 2, 3].map(function (this: any, n) { return n * this.k; }, { k: 2 });", [2, 4, 6]),
    ("return Object.getOwnPropertyDescriptors({ a: 1 }).a.value;", 1),
    ("return Object.create({}, { a: { value: 1, enumerable: true } });", {"a": 1}),
    ("return Symbol.for('x') === Symbol.for('x') && Symbol.keyFor(Symbol.for('x'));", "x"),
    ("class E { static [Symbol.hasInstance](v: unknown) { return v === 1; } } return (1 as any) instanceof E;", True),
    ("return Map.groupBy([1, 2, 3], n => n % 2).get(1);", [1, 3]),
    ("return [...new Set([1, 2]).union(new Set([3]))];", [1, 2, 3]),
    ("return new Map([[1, 2]]).entries().map(([k, v]) => k + v).toArray();", [3]),
    ("function* g() { yield 1; yield 2; } return g().take(1).toArray();", [1]),
    ("return Iterator.from([1, 2]).map(x => x + 1).toArray();", [2, 3]),
    ("const p = new Proxy({ a: 1 }, { get: (t, k) => 7 }); return p.a;", 7),
    ("return atob(btoa('hi'));", "hi"),
    ("return escape('\u00e4') + unescape('%E4');", "%E4ä"),
    ("return Number.prototype.toFixed.call(1.234, 1) + String.prototype.trim.call(' x ');", "1.2x"),
    ("return 'x'.trimLeft().trimRight();", "x"),
    ("return Object.isSealed(Object.seal({}));", True),
    ("return new EvalError('x').message;", "x"),
    ("return 'a-b'.split({ [Symbol.split](s: string) { return [s]; } });", ["a-b"]),
    ("return 'aXb'.replace(/x/gi, '-') + 'abc'.search(/c/);", "a-b2"),
    ("return Math[Symbol.toStringTag];", "Math"),
    (
        "class L extends Array<number> { static readonly [Symbol.species] = Array as any; }"
        " return new L().map(x => x) instanceof L;",
        False,
    ),
    ("return (() => 1).toString().length > 0;", True),
    ("return Uint8Array.from([1, 2], x => x * 2).at(-1);", 4),
    ("return Uint8Array.of(1, 2).subarray(1).toReversed().with(0, 9)[0];", 9),
    ("return new Int16Array(new ArrayBuffer(4), 2).length;", 1),
    ("return ArrayBuffer.isView(new Uint8Array(1));", True),
    ("class P { #x = 1; static { } get x() { return this.#x; } } return new P().x;", 1),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
async def test_phs_5_what_is_pure_in_es2023_compiles_and_gives_what_it_should(
    compiler: TypeScriptCompiler, body: str, expected: Any
) -> None:
    compiled = await compiler.compile(SOURCE.replace("BODY", body))
    context = _quickjs.Context()
    context.eval(compiled.javascript)
    assert json.loads(context.eval("JSON.stringify(__transform({}))")) == expected


async def test_phs_5_every_name_of_the_library_is_pure_and_there_when_a_transform_runs() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.d.ts")))
    named = set(re.findall(r"^declare (?:var|function|namespace) (\w+)", text, re.MULTILINE))
    # What the language itself knows, what QuickJS has alone, and what is younger than ES2023.
    unnamed = {"globalThis", "undefined", "InternalError", "Float16Array"}
    assert named == set(_PURE.split()) - unnamed
