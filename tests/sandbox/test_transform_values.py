"""PHS-5: values on their way into a transform and out of it; what is not JSON is an error with its place."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from wonder.language.values import check_value
from wonder.sandbox.pool import TransformPool
from wonder.sandbox.pool_errors import TransformFailed

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[TransformPool]:
    """Workers for all tests of this module."""
    made = TransformPool(workers_max=1)
    yield made
    await made.close()


async def run(pool: TransformPool, function: str, input: Any = None) -> Any:
    """Run a function of JavaScript, with so much time that a busy machine makes no difference."""
    script = f"globalThis.__transform = {function}"
    async with asyncio.timeout(60):
        return await pool.run(script, input, time_ms=20_000, memory_bytes=64 << 20)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2**53,
        -(2**53),
        2**60,
        2**63,
        2**100,
        0.1,
        1e300,
        5e-324,
        "",
        'é😀\n"\\\u2028',
        [],
        {},
        [[], {}, None],
        {"": {"__proto__": {"constructor": 1}, "toJSON": 2, "length": 3}},
        {"b": 1, "a": 2, "10": 3, "9": 4},
    ],
    ids=repr,
)
async def test_phs_5_what_a_transform_passes_on_is_what_it_was_given(pool: TransformPool, value: Any) -> None:
    """PHS-5"""
    assert await run(pool, "(input) => input", value) == value
    assert await run(pool, "(input) => ({ held: [input] })", value) == {"held": [value]}


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 10**400 + 1])
async def test_phs_5_an_integer_that_would_arrive_as_another_is_refused(pool: TransformPool, number: int) -> None:
    """PHS-5"""
    with pytest.raises(TransformFailed) as caught:
        await run(pool, "(input) => 1", {"rows": [{"id": 1}, {"id": number}]})
    assert caught.value.code == "TRANSFORM_INPUT"
    assert caught.value.details == {"path": "rows[1].id"}
    assert "give it as a string" in str(caught.value)
    # As a text it goes through, and digits in a text are no number.
    assert await run(pool, "(input) => input", [str(number)]) == [str(number)]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("() => -0", 0),
        ("() => 2 ** 53 + 2", 2**53 + 2),
        ("() => 2 ** 60", 2**60),
        ("() => 1e20 + 1", 10**20),
        ("() => 1e21", 1e21),
        ("() => 1.0", 1),
        ("() => ({ a: undefined, b: 1 })", {"b": 1}),
        ("() => Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } })", {"own": 2}),
        ("() => ({ [Symbol('s')]: 1, a: 1 })", {"a": 1}),
        ("() => new (class Point { x = 1; #y = 2; get z() { return 3; } })()", {"x": 1}),
        ("() => ({ toJSON: () => [1] })", [1]),
        ("() => new Proxy({ a: 1 }, {})", {"a": 1}),
        ("() => Object.freeze([1])", [1]),
        ("() => ({ get a() { return 1; } })", {"a": 1}),
    ],
)
async def test_phs_5_a_value_is_written_as_json_writes_it(pool: TransformPool, function: str, value: Any) -> None:
    """PHS-5"""
    found = await run(pool, function)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("function", "path", "reason"),
    [
        ("() => undefined", "", "undefined is not a JSON value"),
        ("() => {}", "", "undefined is not a JSON value"),
        ("() => ({ a: [1, undefined] })", "a[1]", "undefined is not a JSON value"),
        ("() => ({ a: [1, , 3] })", "a[1]", "undefined is not a JSON value"),
        ("() => ({ a: { 'b c': NaN } })", 'a."b c"', "NaN is not a JSON number"),
        ("() => [-Infinity]", "[0]", "-Infinity is not a JSON number"),
        ("() => ({ a: () => 1 })", "a", "a function is not a JSON value"),
        ("() => ({ a: Symbol('s') })", "a", "a symbol is not a JSON value"),
        ("() => ({ a: 1n })", "a", "a bigint is not a JSON value"),
        ("() => ({ a: new Map() })", "a", "[object Map] is not a JSON value"),
        ("() => ({ a: new Set() })", "a", "[object Set] is not a JSON value"),
        ("() => ({ a: /x/ })", "a", "[object RegExp] is not a JSON value"),
        ("() => ({ a: new Uint8Array(2) })", "a", "[object Uint8Array] is not a JSON value"),
        ("async () => 1", "", "[object Promise] is not a JSON value"),
        ("() => { const a = { b: {} }; a.b.c = a; return a; }", "b.c.b.c.b.c.b.c", "or holds itself"),
        ("() => { let a = 1; for (let i = 0; i < 201; i++) a = [a]; return a; }", "[0]", "deeper than 200 levels"),
        ("() => { let a = 1; for (let i = 0; i < 2000; i++) a = [a]; return a; }", "", "deeper than 200 levels"),
        ("() => ({ a: 'x\\ud800' })", "a", "lone surrogate (U+D800)"),
        ("() => ({ a: ['\\0'] })", "a[0]", "U+0000"),
        ("() => 'x'.repeat(16e6)", "", "the limit is 16,000,000"),
    ],
)
async def test_phs_5_what_is_not_json_is_an_error_with_its_place(
    pool: TransformPool, function: str, path: str, reason: str
) -> None:
    """PHS-5"""
    with pytest.raises(TransformFailed) as caught:
        await run(pool, function)
    assert caught.value.code == "TRANSFORM_NOT_JSON"
    assert reason in str(caught.value)
    assert str(caught.value.details["path"]).startswith(path)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("function", "shown", "line"),
    [
        ("() => {\n  const x = null;\n  return x.a;\n}", "TypeError: cannot read property 'a' of null", 3),
        ("() => { throw new RangeError('no'); }", "RangeError: no", 1),
        ("() => ({\n get a() { throw new Error('late'); } })", "Error: late", 2),
        ("() => [2, 1].sort(() => {\n throw new Error('in a sort'); })", "Error: in a sort", 2),
        ("() => { throw 'a text'; }", "a text", None),
        ("() => { throw null; }", "null", None),
        ("() => { throw undefined; }", "undefined", None),
        ("() => { throw { message: 'an object' }; }", "an object", None),
        ("() => { throw { get message() { throw 1; } }; }", "it can't be described", None),
        ("() => { throw new Error('half \\ud800 of it'); }", "", None),
        ("() => { throw new Error('x'.repeat(1e5)); }", "Error: xxx", 1),
    ],
)
async def test_phs_5_what_a_transform_throws_is_told_with_its_line(
    pool: TransformPool, function: str, shown: str, line: int | None
) -> None:
    """PHS-5"""
    with pytest.raises(TransformFailed) as caught:
        await run(pool, function)
    assert caught.value.code == "TRANSFORM_THREW"
    assert str(caught.value).startswith(f"the transform threw {shown}")
    assert len(str(caught.value)) < 5_000
    assert caught.value.details.get("line") == line
    assert not caught.value.retryable


@pytest.mark.parametrize("around", ["[]", "[[]]", "Array.from({ length: 300 }, () => ({ '[[{': '\"]' }))"])
async def test_phs_5_a_value_may_be_as_deep_as_any_other_and_no_deeper(pool: TransformPool, around: str) -> None:
    """PHS-5"""
    nested = "(depth) => { let a = 1; for (let i = 1; i < depth; i++) a = i % 2 ? [a] : { a }; return [AROUND, a]; }"
    function = nested.replace("AROUND", around)
    assert check_value(await run(pool, function, 200))
    with pytest.raises(TransformFailed, match="deeper than 200 levels"):
        await run(pool, function, 201)


@pytest.mark.parametrize(
    "meddling",
    [
        "String.prototype.slice = () => 'at '.repeat(10_000)",
        "String.prototype.slice = () => ' (<input>:'.repeat(10_000)",
        "String.prototype.slice = () => 'at f (<input>:' + '9'.repeat(5_000) + ':1)'",
        "Object.prototype.toJSON = deep(() => ({ name: 'E', message: 'm', stack: '', more: nested(3_000) }))",
        "Object.prototype.toJSON = deep(() => ({ name: 'E'.repeat(1e6), message: 'm'.repeat(1e6), stack: '' }))",
        "Object.prototype.toJSON = deep(() => ({ reason: 'r'.repeat(1e6), path: Array(1e4).fill('p'.repeat(99)) }))",
        "Object.prototype.toJSON = deep(() => [])",
    ],
)
async def test_an_author_who_replaces_what_tells_of_a_failure_gets_another_message_and_no_more(
    pool: TransformPool, meddling: str
) -> None:
    # The first one held up everybody by the square of its length, the third and fourth raised Python's own errors.
    tools = """
      const nested = (depth) => { let a = []; for (let i = 0; i < depth; i++) a = [a]; return a; };
      const deep = (made) => function () { return Array.isArray(this) ? this : made(); };
    """
    with pytest.raises(TransformFailed) as caught:
        await run(pool, f"() => {{ {tools} {meddling}; throw new Error('x'); }}")
    assert caught.value.code in ("TRANSFORM_THREW", "TRANSFORM_NOT_JSON")
    assert len(str(caught.value)) < 5_000
    assert len(str(caught.value.details)) < 10_000
