"""What a function cancels inside itself is its own affair; what the executor cancels stays cancelled (TSK-5, CTL-10).

In Python 3.11 a TaskGroup that has failed leaves the asyncio task around it with one cancellation too many.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.tasks import ORIGIN, Bench, action, bench, step, task, until

SECONDS = 10.0


async def fall() -> None:
    """Fail after a moment."""
    await asyncio.sleep(0)
    raise ValueError("of the group")


async def group() -> None:
    """Catch the failure of a group that was waited for."""
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fall())
    except* ValueError:
        pass


async def busy_group() -> None:
    """Catch the failure of a group whose body was still at work."""
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fall())
            await asyncio.sleep(SECONDS)
    except* ValueError:
        pass


async def nested_groups() -> None:
    """Catch the failure of a group within another."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(group())
        await group()


async def timeout() -> None:
    """Catch a time-out."""
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(SECONDS)
    except TimeoutError:
        pass


async def timeout_after_a_group() -> None:
    """Catch the failure of a group, and then a time-out."""
    await group()
    await timeout()


async def cancelled_child() -> None:
    """Catch the cancellation of something that it has begun."""
    child = asyncio.create_task(asyncio.sleep(SECONDS))
    await asyncio.sleep(0)
    child.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await child


Inner = Callable[[], Awaitable[None]]
INNER = [group, busy_group, nested_groups, timeout, timeout_after_a_group, cancelled_child]


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("limits", [{}, {"timeout_ms": 5_000}])
async def test_a_function_that_catches_what_it_cancelled_itself_gives_its_output(inner: Inner, limits: Any) -> None:
    async def f() -> str:
        await inner()
        await asyncio.sleep(0)
        return "done"

    async with bench() as it:
        result = await it.run(task(step("f"), **limits), {}, action("f", execution=limits or None), f=f)
    assert (result.status, result.output, result.error) == ("completed", "done", None)


@pytest.mark.parametrize("inner", INNER)
async def test_ret_1_an_error_after_what_it_cancelled_itself_is_its_own_and_may_be_tried_again(inner: Inner) -> None:
    calls: list[int] = []

    async def f() -> int:
        calls.append(1)
        await inner()
        if len(calls) < 3:
            raise ConnectionError("down")
        return len(calls)

    policy = {"retry_policy": {"max_attempts": 5, "backoff": "none", "initial_delay_ms": 0}}
    async with bench() as it:
        result = await it.run(task(step("f")), {}, action("f", execution=policy), f=f)
    assert (result.status, result.output) == ("completed", 3)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("answer", ["raises", "swallows", "lets it through"])
@pytest.mark.parametrize("stopped_by", ["cancel", "task", "action"])
async def test_tsk_5_what_the_executor_cancels_wins_whatever_the_function_did_before(
    inner: Inner, answer: str, stopped_by: str
) -> None:
    begun = asyncio.Event()

    async def f() -> str:
        await inner()
        begun.set()
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            if answer == "lets it through":
                raise
            if answer == "raises":
                raise ValueError("no") from None
            await group()
        return "yes"

    act = action("f", execution={"timeout_ms": 60} if stopped_by == "action" else None)
    definition = task(step("f"), timeout_ms=60 if stopped_by == "task" else None)
    async with bench(grace_ms=2_000) as it:
        results: list[Any] = []
        under_way = it.executor.start(it.compiled(definition, act, f=f), {}, ORIGIN, results.append)
        if stopped_by == "cancel":
            await begun.wait()
            under_way.cancel()
        await until(lambda: results)
        assert it.executor.abandoned == 0
    code = {"cancel": "TASK_CANCELLED", "task": "TASK_TIMEOUT", "action": "ACTION_TIMEOUT"}[stopped_by]
    assert [result.error.code for result in results] == [code]


async def test_a_time_out_that_python_makes_a_cancellation_of_fails_the_function() -> None:
    """Python 3.11 takes a time-out around a group that failed for a cancellation of someone else, which nobody made."""

    async def f() -> str:
        try:
            # Long enough for the group to end first, also on a busy machine.
            async with asyncio.timeout(0.2):
                await group()
                await asyncio.sleep(SECONDS)
        except TimeoutError:
            return "late"
        return "never"

    async with bench() as it:
        result = await it.run(task(step("f")), {}, f=f)
    assert (result.status, result.error and result.error.code) in (("completed", None), ("failed", "ACTION_BROKEN"))


@pytest.mark.parametrize("limits", [{}, {"timeout_ms": 5_000}])
@pytest.mark.parametrize("where", ["in the action", "between two attempts"])
def test_a_loop_that_closes_cancels_a_task_and_does_not_fail_it(limits: Any, where: str) -> None:
    """Else the run would be failed for a process that ends, and not go on in the next one."""
    results: list[Any] = []
    begun = asyncio.Event()

    async def f() -> None:
        begun.set()
        if where == "in the action":
            await asyncio.sleep(SECONDS)
        raise ConnectionError("down")

    async def main() -> None:
        policy = {"retry_policy": {"max_attempts": 5, "backoff": "none", "initial_delay_ms": 60_000}}
        it, act = Bench(), action("f", execution={**policy, **limits})
        it.executor.start(it.compiled(task(step("f"), **limits), act, f=f), {}, ORIGIN, results.append)
        await begun.wait()
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [result.status for result in results] == ["cancelled"]
