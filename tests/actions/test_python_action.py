"""`python` actions: how functions are called, and what hostile ones can't do."""

import asyncio
import threading
from typing import Any

import pytest

from support.tasks import bench, step, task
from wonder.actions.functions.marked import function as marked
from wonder.actions.protocol import ActionFailed
from wonder.actions.python.kind import current_context
from wonder.executor.results import TaskResult


def make(kind: str, body: Any) -> Any:
    """The same function in each of the three ways of calling one."""
    if kind == "thread":
        return body
    if kind == "quick":

        def quickly(**given: Any) -> Any:
            return body(**given)

        return marked(quickly, quick=True)

    async def as_coroutine(**given: Any) -> Any:
        await asyncio.sleep(0)
        return body(**given)

    return as_coroutine


ways = pytest.mark.parametrize("way", ["async", "quick", "thread"])


async def call(function: Any, given: Any = None) -> TaskResult:
    """Run a task of one step that calls a function."""
    async with bench() as it:
        return await it.run(task(step("f")), given, f=function)


@ways
async def test_a_function_is_called_with_the_input_as_keyword_arguments(way: str) -> None:
    """ACT-10: its return value is the output."""
    result = await call(make(way, lambda **given: [given["name"], given["a b"]]), {"name": "Ada", "a b": 1})
    assert result.output == ["Ada", 1]


@ways
async def test_a_function_may_change_its_arguments_without_harm(way: str) -> None:
    """Values are shared inside Wonder, so a function gets copies of them."""

    def greedy(rows: Any, **_: Any) -> int:
        rows.sort()
        rows[0].append("mine")
        return len(rows)

    given = {"rows": [[2], [1]]}
    again = step("again", input_mapping={"rows": "$.input.rows"}, output_mapping={"output": "$"})
    async with bench() as it:
        result = await it.run(task(step("f"), again), given, f=make(way, greedy), again=lambda rows: rows)
    assert result.output == [[2], [1]]
    assert given == {"rows": [[2], [1]]}


@ways
async def test_a_function_may_keep_and_change_what_it_returned_without_harm(way: str) -> None:
    """The output is a copy too."""
    kept: list[int] = []

    def remember(**_: Any) -> list[int]:
        kept.append(len(kept))
        return kept

    first, second = step("f", output_mapping={"output.first": "$"}), step("g", output_mapping={"output.second": "$"})
    function = make(way, remember)
    async with bench() as it:
        result = await it.run(task(first, second), {}, f=function, g=function)
    assert result.output == {"first": [0], "second": [0, 1]}


@ways
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        SystemExit(3),
        KeyboardInterrupt(),
        StopAsyncIteration("stop"),
        BaseException("all the way down"),
        RecursionError("deep"),
        BaseExceptionGroup("many", [ValueError("one")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_function_raises_fails_its_step_only(way: str, error: BaseException) -> None:
    """With its type, its message and where it was raised."""

    def explode(**_: Any) -> None:
        raise error

    result = await call(make(way, explode))
    assert result.error
    assert result.error.code == "PYTHON_EXCEPTION"
    assert result.error.details["type"] == type(error).__name__
    trace: Any = result.error.details["traceback"]
    assert "explode" in trace[-1]
    assert __file__ in trace[-1]
    assert not any("wonder/actions" in frame for frame in trace)


class Unspeakable(Exception):
    """An exception whose message can't be read."""

    def __str__(self) -> str:
        raise RuntimeError("not telling")


def recurse(depth: int = 0) -> int:
    """Call itself for ever."""
    return recurse(depth + 1) + 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Unspeakable(), "f raised Unspeakable: (its message can't be read)"),
        (ValueError("\x00\ud800"), "f raised ValueError: \N{REPLACEMENT CHARACTER}?"),
        (ValueError(), "f raised ValueError"),
        (ValueError("x" * 100_000), "f raised ValueError: " + "x" * 1_999 + "…"),
    ],
    ids=["unreadable", "unstorable", "empty", "long"],
)
async def test_ctx_7_every_message_can_be_stored(error: Exception, message: str) -> None:
    """CTX-7: and is of a bearable length."""

    async def explode() -> None:
        raise error

    result = await call(explode)
    assert result.error
    assert result.error.message == f"test:{message}"


async def test_a_traceback_is_bounded() -> None:
    """Of a thousand frames the last ones are kept."""
    result = await call(recurse)
    assert result.error
    assert result.error.details["type"] == "RecursionError"
    trace: Any = result.error.details["traceback"]
    assert len(trace) == 20


@ways
@pytest.mark.parametrize(
    "value",
    [float("nan"), {1, 2}, (1,), object(), {"a": b"x"}, "\x00", "x" * 16_000_001, {1: 2}],
    ids=lambda v: type(v).__name__,
)
async def test_ctx_7_a_result_that_is_no_json_fails_the_step(way: str, value: object) -> None:
    """CTX-7."""
    result = await call(make(way, lambda **_: value))
    assert result.error
    assert result.error.code == "BAD_RESULT"
    assert "test:f returned what can't be kept" in result.error.message


async def test_a_coroutine_that_nobody_awaits_is_a_bad_result() -> None:
    """As of a decorator that forgets to await."""

    async def inner() -> int:
        return 1

    def forgetful() -> Any:
        return inner()

    result = await call(forgetful)
    assert result.error
    assert "async def" in result.error.message


def exact(name: str, *, greeting: str = "hello") -> str:
    """Greet."""
    return f"{greeting} {name}"


async def exact_async(name: str) -> str:
    """Greet."""
    return name


@pytest.mark.parametrize(
    "function", [exact, marked(lambda name: name, quick=True), exact_async], ids=["thread", "quick", "async"]
)
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "missing a required argument: 'name'"),
        ({"name": "A", "surname": "L"}, "unexpected keyword argument 'surname'"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_clearly(function: Any, given: Any, reason: str) -> None:
    """What the function takes, what was given."""
    result = await call(function, given)
    assert result.error
    assert result.error.code == "BAD_ARGUMENTS"
    assert reason in result.error.message
    assert "name" in result.error.message


async def test_a_type_error_inside_a_function_is_its_own() -> None:
    """It is not taken for bad arguments."""

    def wrong(name: str) -> int:
        return name + 1  # type: ignore[operator]  # the point of the test

    result = await call(wrong, {"name": "Ada"})
    assert result.error
    assert result.error.details["type"] == "TypeError"


async def test_an_input_that_is_no_object_is_refused() -> None:
    """There is nothing to call the arguments by."""
    result = await call(exact, [1, 2])
    assert result.error
    assert (result.error.code, "object" in result.error.message) == ("BAD_ARGUMENTS", True)


async def test_a_function_can_fail_with_a_code_of_its_own() -> None:
    """For `_last_error.code` to be routed by."""

    def decline() -> None:
        raise ActionFailed("CARD_DECLINED", "no money", details={"balance": 3})

    result = await call(decline)
    assert result.error
    assert (result.error.code, result.error.message, result.error.details) == (
        "CARD_DECLINED",
        "no money",
        {"balance": 3},
    )


async def test_ctx_7_a_failure_of_its_own_holds_nothing_that_cannot_be_stored() -> None:
    """CTX-7: nor anything that breaks what is done with it."""

    def decline() -> None:
        wrong: Any = "soon"
        raise ActionFailed("\ud800" * 500, "\x00", retryable=True, details={"a": [{1}]}, retry_after_ms=wrong)

    result = await call(decline)
    assert result.error
    assert (len(result.error.code), result.error.message) == (200, "\N{REPLACEMENT CHARACTER}")
    assert result.error.details == {"details_refused": "at a[0]: a Python set is not a JSON value"}


@ways
async def test_a_function_can_ask_where_it_runs(way: str) -> None:
    """Also in a thread; and what it sets in its context does not leak."""
    result = await call(make(way, lambda **_: [current_context().origin.run_id, current_context().step]))
    assert result.output == ["run-1", "f"]
    with pytest.raises(LookupError):
        current_context()


async def test_functions_run_where_they_should() -> None:
    """Async and quick ones in the loop, the others in a thread of the pool."""
    here = threading.get_ident()
    for way, in_loop in [("async", True), ("quick", True), ("thread", False)]:
        result = await call(make(way, lambda **_: threading.get_ident()))
        assert (result.output == here) is in_loop


async def test_a_builtin_without_a_signature_can_be_called() -> None:
    """Nothing is assumed of a function but that it can be called."""
    assert (await call(dict, {"a": 1})).output == {"a": 1}
    result = await call(max, {"a": 1})
    assert result.error
    assert result.error.details.get("type") == "TypeError"
