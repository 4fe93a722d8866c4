"""Many tasks at once: places, order, progress, the end; and what can't be compiled."""

import asyncio
import threading
import time
from typing import Any

import pytest

from support.tasks import ORIGIN, Bench, action, bench, step, task, until
from wonder.actions.errors import NotExecutable, UnknownKind
from wonder.actions.protocol import ActionContext, ActionKind, Use
from wonder.actions.python.kind import current_context
from wonder.actions.registry import ActionRegistry
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.executor.compiled import compile_task
from wonder.executor.errors import ActionMissing
from wonder.language.expressions import ExpressionSyntax
from wonder.language.values import JsonValue


async def test_no_more_tasks_are_under_way_than_there_are_places_and_all_get_their_turn_in_order() -> None:
    """First come, first served."""
    started: list[int] = []
    most = 0

    async def work(number: int) -> int:
        nonlocal most
        started.append(number)
        most = max(most, it.executor.under_way)
        await asyncio.sleep(0.001)
        return number

    async with bench(tasks_max=3) as it:
        compiled = it.compiled(task(step("work")), work=work)
        results = await asyncio.gather(*[it.executor.run(compiled, {"number": n}, ORIGIN) for n in range(30)])
    assert [result.output for result in results] == list(range(30))
    assert started == list(range(30))
    assert most == 3


async def test_functions_in_threads_never_block_the_loop() -> None:
    """While 4 threads sleep, the loop goes on."""
    async with bench() as it:
        compiled = it.compiled(task(step("nap")), nap=lambda: time.sleep(0.2))
        napping = [asyncio.create_task(it.executor.run(compiled, {}, ORIGIN)) for _ in range(4)]
        turns = 0
        while not all(nap.done() for nap in napping):
            await asyncio.sleep(0.005)
            turns += 1
    assert turns > 3


async def test_a_task_that_is_cancelled_in_line_never_runs() -> None:
    """Nor one that has a place and has not begun."""
    ran: list[int] = []

    async def work(number: int) -> None:
        ran.append(number)
        await asyncio.sleep(0.01)

    async with bench(tasks_max=1) as it:
        compiled = it.compiled(task(step("work")), work=work)
        results: dict[int, Any] = {}
        taken = [
            it.executor.start(compiled, {"number": n}, ORIGIN, lambda result, n=n: results.update({n: result.status}))
            for n in range(4)
        ]
        taken[0].cancel()
        taken[2].cancel()
        assert results == {}  # nobody is told inside their own call
        await until(lambda: len(results) == 4)
    assert ran == [1, 3]
    assert results == {0: "cancelled", 1: "completed", 2: "cancelled", 3: "completed"}


async def test_closing_cancels_all_that_is_under_way_and_in_line() -> None:
    """And waits for their end."""
    cleaned: list[int] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            cleaned.append(1)

    it = Bench(tasks_max=2)
    compiled = it.compiled(task(step("work")), work=work)
    statuses: list[str] = []
    for _ in range(5):
        it.executor.start(compiled, {}, ORIGIN, lambda result: statuses.append(result.status))
    await asyncio.sleep(0.01)
    await it.executor.close()
    assert (statuses, len(cleaned), it.executor.under_way) == (["cancelled"] * 5, 2, 0)


async def test_progress_is_told_to_whoever_watches() -> None:
    """With its origin and step."""
    told: list[Any] = []

    async def work() -> None:
        current_context().report_progress({"done": 0.5})

    async with bench(on_progress=lambda *progress: told.append(progress)) as it:
        await it.run(task(step("work")), {}, work=work)
    assert told == [(ORIGIN, "work", {"done": 0.5})]


class Unspeakable(Exception):
    """An exception whose message can't be read."""

    def __str__(self) -> str:
        raise RuntimeError("not telling")


class BrokenKind(ActionKind):
    """A kind of somebody's package, with a bug."""

    kind = "their_kind"
    configuration = Record

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def compile(self, action: ActionDef, use: Use) -> "BrokenKind":
        """Compile nothing."""
        return self

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Raise what it was given."""
        raise self.error


@pytest.mark.parametrize(
    "error", [KeyError("x"), SystemExit(1), KeyboardInterrupt(), RecursionError("deep"), Unspeakable()]
)
async def test_a_broken_kind_of_action_fails_its_task_only(error: BaseException) -> None:
    """Whatever it raises."""
    async with bench(kinds=(BrokenKind(error),)) as it:
        result = await it.run(task(step("f")), {}, action("f", "their_kind", {}))
        assert result.error
        assert result.error.code == "ACTION_BROKEN"
        assert type(error).__name__ in result.error.message
        assert (await it.run(task(step("g")), {}, g=lambda: 1)).status == "completed"


@pytest.mark.parametrize(
    ("kind", "implementation", "rule"),
    [
        ("human_input", {"prompt": "?"}, "LAY-3"),
        ("sleep", {"ms": 1}, "LAY-3"),
        ("wait_for_event", {"event": "e"}, "LAY-3"),
        ("workflow_call", {"workflow_def_id": "w"}, "LAY-3"),
        ("update_context", {"updates": [], "scope": "workflow"}, "FIL-2"),
        ("assert", {"expr": "true", "scope": "workflow"}, "FIL-2"),
    ],
)
async def test_lay_3_what_the_coordinator_carries_out_is_not_given_to_an_executor(
    kind: str, implementation: Any, rule: str
) -> None:
    """LAY-3, FIL-2."""
    with pytest.raises(NotExecutable, match=rule):
        Bench().compiled(task(step("f")), action("f", kind, implementation))


async def test_what_cannot_be_compiled_says_why() -> None:
    """An action that is not there, a kind that is not there, an expression that is none."""
    it = Bench()
    with pytest.raises(ActionMissing, match="'absent' in version 1"):
        compile_task(task(step("absent")), {}, it.registry)
    with pytest.raises(UnknownKind, match="their_kind"):
        it.compiled(task(step("f")), action("f", "their_kind", {}))
    with pytest.raises(ExpressionSyntax):
        it.compiled(task(step("f", condition={"if": "1 +"})), f=dict)
    with pytest.raises(UnknownKind):
        compile_task(task(step("f")), {("f", 1): action("f")}, ActionRegistry())


async def test_a_thousand_tasks_with_functions_in_threads_all_end() -> None:
    """On four threads."""
    seen: set[str] = set()

    def work(number: int) -> int:
        seen.add(threading.current_thread().name)
        return number

    async with bench(tasks_max=1_000) as it:
        compiled = it.compiled(task(step("work")), work=work)
        results = await asyncio.gather(*[it.executor.run(compiled, {"number": n}, ORIGIN) for n in range(1_000)])
    assert [result.output for result in results] == list(range(1_000))
    assert seen == {"wonder-function"}
