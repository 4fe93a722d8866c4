"""A task that is started by the result of another: each has an asyncio task of its own."""

import asyncio
import gc
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import pytest

from support.tasks import ORIGIN, Bench, ManualEnvironment, bench, step, task, until
from wonder.actions.python.kind import current_context
from wonder.executor.executor import TaskUnderWay
from wonder.executor.results import TaskResult

TENANT: ContextVar[str] = ContextVar("tenant", default="nobody")


class Line:
    """Tasks of which each is started when the one before has told its result."""

    def __init__(self, it: Bench, *functions: Callable[[], Any]) -> None:
        self.it = it
        self.named = [(f"work{number}", function) for number, function in enumerate(functions)]
        self.results: list[TaskResult] = []
        self.taken: list[TaskUnderWay] = []
        self.after: Callable[[], None] = lambda: None
        """Called when a task was started."""

    def go_on(self) -> None:
        """Start the next task."""
        name, function = self.named[len(self.taken)]
        compiled = self.it.compiled(task(step(name)), **{name: function})
        self.taken.append(self.it.executor.start(compiled, {}, ORIGIN, self._hear))
        self.after()

    def _hear(self, result: TaskResult) -> None:
        self.results.append(result)
        if len(self.taken) < len(self.named):
            self.go_on()

    async def run(self) -> list[Any]:
        """Run all of them, and give their outputs."""
        self.go_on()
        await until(lambda: len(self.results) == len(self.named))
        return [result.output if result.error is None else result.error.code for result in self.results]


def current() -> "asyncio.Task[Any]":
    """Give the asyncio task that this is called in."""
    found = asyncio.current_task()
    assert found
    return found


async def test_others_have_their_turn_while_tasks_follow_upon_each_other() -> None:
    turns = 0

    async def see() -> int:
        return turns

    async with bench() as it:
        line = Line(it, *[see] * 2_000)
        line.go_on()
        while len(line.results) < len(line.named):
            turns += 1
            await asyncio.sleep(0)
    assert turns > 5


async def test_a_task_that_follows_has_an_asyncio_task_of_its_own() -> None:
    async def one() -> int:
        return id(current())

    async def other() -> list[Any]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(asyncio.sleep(0.001, part)) for part in range(3)]
        return [id(current()), [part.result() for part in parts], current_context().step]

    async with bench(environment=ManualEnvironment()) as it:
        first, second = await Line(it, one, other).run()
    assert second[0] != first
    assert second[1:] == [[0, 1, 2], "work1"]


async def test_what_a_function_leaves_in_context_variables_is_not_seen_by_the_next() -> None:
    async def look() -> list[Any]:
        return [id(current()), TENANT.get()]

    async def leave() -> list[Any]:
        TENANT.set("somebody")
        return await look()

    async with bench(environment=ManualEnvironment()) as it:
        # Told from a context of their own, as each commit is.
        line = Line(it, look, leave, look)
        hear = line._hear
        line._hear = lambda result: Context().run(hear, result)  # type: ignore[method-assign]
        seen = await line.run()
    assert [name for _, name in seen] == ["nobody", "somebody", "nobody"]


@pytest.mark.parametrize("before_it_begins", [True, False])
async def test_a_task_that_follows_can_be_cancelled_and_the_next_one_is_not(before_it_begins: bool) -> None:
    begun: list[str] = []

    async def one() -> int:
        return 1

    async def hang() -> None:
        begun.append("hang")
        await asyncio.sleep(10)

    async with bench(environment=None if before_it_begins else ManualEnvironment()) as it:
        line = Line(it, one, hang, one, one)

        def cancel() -> None:
            if len(line.taken) == 2:
                line.taken[1].cancel()
            assert len(line.results) == len(line.taken) - 1  # nobody is told inside their own call

        def cancel_second() -> None:
            line.taken[1].cancel()

        if before_it_begins:
            line.after = cancel
        else:
            asyncio.get_running_loop().call_later(0.02, cancel_second)
        assert await line.run() == [1, "TASK_CANCELLED", 1, 1]
    assert begun == ([] if before_it_begins else ["hang"])
    assert it.executor.under_way == 0


async def test_a_task_that_has_cancelled_itself_cancels_none_that_follows() -> None:
    async def cancel_itself() -> int:
        current().cancel()
        return 1

    async def wait() -> int:
        await asyncio.sleep(0.001)
        return 2

    async with bench(environment=ManualEnvironment()) as it:
        line = Line(it, wait, cancel_itself, wait)
        assert await line.run() == [2, 1, 2]


async def test_a_task_is_not_lost_when_whoever_started_it_fails() -> None:
    told: list[str] = []

    async def work() -> int:
        return 1

    async with bench(environment=ManualEnvironment()) as it:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["message"]))
        line = Line(it, work, work)

        def fail() -> None:
            if len(line.taken) == 2:
                raise ValueError("whoever waits has a bug")

        line.after = fail
        assert await line.run() == [1, 1]
    gc.collect()
    assert told == ["Task exception was never retrieved"]
