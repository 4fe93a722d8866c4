"""Tasks that are started in the same moment: none keeps another from its end, or sees what another leaves."""

import asyncio
import time
import weakref
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import pytest

from support.tasks import ORIGIN, Bench, bench, step, task, until
from wonder.executor.results import TaskResult

TENANT: ContextVar[str] = ContextVar("tenant", default="nobody")


class Together:
    """Tasks that are started in the same moment, with what each of them gave, in the order in which they ended."""

    def __init__(self, it: Bench, *functions: Callable[[], Any]) -> None:
        self.it = it
        self.ended: list[tuple[int, Any]] = []
        self.taken = [self._start(number, function) for number, function in enumerate(functions)]

    def _start(self, number: int, function: Callable[[], Any]) -> Any:
        name = f"work{number}"
        compiled = self.it.compiled(task(step(name)), **{name: function})
        return self.it.executor.start(compiled, {}, ORIGIN, lambda result: self.hear(number, result))

    def hear(self, number: int, result: TaskResult) -> None:
        """Take the result of a task."""
        self.ended.append((number, result.output if result.error is None else result.error.code))

    async def outputs(self) -> list[Any]:
        """Wait for all of them; gives what each gave."""
        await until(lambda: len(self.ended) == len(self.taken))
        return [given for _, given in sorted(self.ended, key=lambda one: one[0])]


async def done() -> int:
    return 1


async def test_a_task_that_waits_keeps_no_other_from_its_end() -> None:
    go_on = asyncio.Event()

    async def wait() -> int:
        await go_on.wait()
        return 1

    async with bench() as it:
        together = Together(it, done, wait, done, wait, done)
        await until(lambda: len(together.ended) == 3)
        assert [number for number, _ in together.ended] == [0, 2, 4]
        go_on.set()
        assert await together.outputs() == [1] * 5


@pytest.mark.parametrize("wait", [asyncio.sleep, lambda seconds: asyncio.to_thread(int)], ids=["sleep", "thread"])
async def test_tasks_that_wait_all_begin_within_a_few_turns_of_the_loop(wait: Callable[[float], Any]) -> None:
    turns, begun = 0, list[int]()

    def count() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(count)

    async def work() -> None:
        begun.append(turns)
        await wait(0.001)

    async with bench(tasks_max=500) as it:
        asyncio.get_running_loop().call_soon(count)
        await Together(it, *[work] * 500).outputs()
        await it.executor.close()
    assert max(begun) - min(begun) < 6


async def test_what_a_task_that_waited_left_with_its_asyncio_task_no_other_finds() -> None:
    """As sessions of a database that are kept by the asyncio task that asks for one."""
    left: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    async def work() -> str | None:
        current = asyncio.current_task()
        found = left.get(current)
        await asyncio.sleep(0)
        left[current] = "something"
        return found

    async with bench() as it:
        assert await Together(it, *[work] * 5).outputs() == [None] * 5


async def test_those_that_came_together_leave_the_loop_its_turns() -> None:
    turns = 0

    async def work() -> None:
        time.sleep(0.002)  # noqa: ASYNC251  # it keeps the loop, as code does that computes

    async with bench() as it:
        together = Together(it, *[work] * 200)
        async with asyncio.timeout(30):
            while len(together.ended) < 200:
                turns += 1
                await asyncio.sleep(0)
    assert turns >= 5


async def test_a_variable_whose_value_can_not_be_compared_loses_no_result() -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise ValueError("the truth value of an array is ambiguous")

        __hash__ = None  # type: ignore[assignment]  # as it is with arrays

    variable: ContextVar[object] = ContextVar("array")
    variable.set(Incomparable())

    async def work() -> bool:
        found = variable.get()
        variable.set(Incomparable())
        return found is variable.get()

    async with bench() as it:
        assert await Together(it, work, work).outputs() == [False, False]
        assert it.executor.under_way == 0


async def test_a_cancellation_that_a_function_took_back_reaches_no_other() -> None:
    async def work() -> int:
        current = asyncio.current_task()
        assert current
        current.cancel()
        current.uncancel()
        return 1

    async def wait() -> int:
        await asyncio.sleep(0)
        return 2

    async with bench() as it:
        assert await Together(it, work, wait, wait).outputs() == [1, 2, 2]


async def test_what_a_function_leaves_in_context_variables_no_other_sees_that_came_with_it() -> None:
    async def leave() -> str:
        seen = TENANT.get()
        TENANT.set("somebody")
        return seen

    async with bench() as it:
        assert await Together(it, *[leave] * 5).outputs() == ["nobody"] * 5


async def test_functions_see_the_context_variables_of_whoever_made_the_executor_and_not_of_who_started_a_task() -> None:
    async def look() -> str:
        return TENANT.get()

    TENANT.set("owner")
    async with bench() as it:

        def start() -> Together:
            TENANT.set("caller")
            return Together(it, look, look)

        assert await Context().run(start).outputs() == ["owner", "owner"]


@pytest.mark.parametrize("cancelled", [0, 1, 3])
async def test_one_of_them_can_be_cancelled_before_it_begins(cancelled: int) -> None:
    begun: list[int] = []

    def work(number: int) -> Callable[[], Any]:
        async def function() -> int:
            begun.append(number)
            return number

        return function

    async with bench() as it:
        together = Together(it, *[work(number) for number in range(4)])
        together.taken[cancelled].cancel()
        expected: list[Any] = [0, 1, 2, 3]
        expected[cancelled] = "TASK_CANCELLED"
        assert await together.outputs() == expected
    assert begun == [number for number in range(4) if number != cancelled]
    assert it.executor.under_way == 0


async def test_one_that_waits_can_be_cancelled_and_the_others_go_on() -> None:
    async def wait() -> None:
        await asyncio.sleep(10)

    async with bench() as it:
        together = Together(it, done, wait, done)
        await until(lambda: len(together.ended) == 2)
        together.taken[1].cancel()
        assert (await together.outputs())[1] == "TASK_CANCELLED"


async def test_one_that_cancels_its_own_asyncio_task_cancels_no_other() -> None:
    async def cancel_itself() -> str:
        current = asyncio.current_task()
        assert current
        current.cancel()
        return "done"

    async def wait() -> str:
        await asyncio.sleep(0)
        return "waited"

    async with bench() as it:
        assert await Together(it, cancel_itself, wait, wait).outputs() == ["done", "waited", "waited"]


async def test_one_whose_result_nobody_can_take_keeps_no_other_from_its_end() -> None:
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context.get("exception")))
    async with bench() as it:
        together = Together(it, done, done, done)
        hear = together.hear

        def fail(number: int, result: TaskResult) -> None:
            hear(number, result)
            if number == 0:
                raise ValueError("whoever waits has a bug")

        together.hear = fail  # type: ignore[method-assign]
        assert len(await together.outputs()) == 3
