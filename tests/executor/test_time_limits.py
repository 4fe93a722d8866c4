"""Time-outs, cancellation and functions that resist them (TSK-5, RET-1, RET-3)."""

import asyncio
import contextlib
import threading
import time
from typing import Any

import pytest

from support.tasks import ORIGIN, Bench, ManualEnvironment, action, bench, step, task, until
from wonder.actions.python.kind import current_context
from wonder.actions.threads import Threads


async def test_tsk_5_at_the_limit_the_action_under_way_is_aborted() -> None:
    """TSK-5: an async function is cancelled and may clean up."""
    seen: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            seen.append("cleaned up")

    async with bench() as it:
        result = await it.run(task(step("slow"), timeout_ms=20), {}, slow=slow)
    assert (result.status, seen) == ("timed_out", ["cleaned up"])
    assert result.error
    assert result.error.code == "TASK_TIMEOUT"
    assert [record.outcome for record in result.steps] == ["cancelled"]


async def test_tsk_5_the_limit_covers_all_attempts_and_the_waits_between_them() -> None:
    """TSK-5: the last failure is told with it."""

    async def bad() -> None:
        raise ValueError("always")

    retry = {"max_attempts": 100, "backoff": "none", "initial_delay_ms": 400}
    environment = ManualEnvironment()
    start = environment.now_ms()
    async with bench(environment=environment) as it:
        result = await it.run(task(step("bad", on_failure="retry"), retry=retry, timeout_ms=1_000), {}, bad=bad)
    assert (result.status, result.attempts, environment.now_ms() - start) == ("timed_out", 3, 1_000)
    assert result.error
    last_error: Any = result.error.details["last_error"]
    assert (last_error["code"], last_error["step"]) == ("PYTHON_EXCEPTION", "bad")


async def test_ret_3_the_limit_of_an_action_is_per_attempt_and_can_be_retried() -> None:
    """RET-1: a time-out is on the list of what is tried again."""
    attempts: list[int] = []
    environment = ManualEnvironment()

    async def slow_at_first() -> str:
        attempts.append(current_context().attempt)
        await environment.sleep(10_000 if len(attempts) < 3 else 0)
        return "done"

    policy = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}
    act = action("slow_at_first", execution={"timeout_ms": 20, "retry_policy": policy})
    async with bench(environment=environment) as it:
        result = await it.run(task(step("slow_at_first"), timeout_ms=2_000), {}, act, slow_at_first=slow_at_first)
    assert (result.output, attempts) == ("done", [1, 2, 3])


async def test_ret_3_without_a_policy_a_time_out_of_the_action_fails_the_step() -> None:
    """RET-3: it is the step's failure, not the task's: `continue` goes on."""

    async def slow() -> None:
        await asyncio.sleep(10)

    act = action("slow", execution={"timeout_ms": 20})
    after = step("after", input_mapping={"code": "$.state._errors.slow.code"})
    async with bench() as it:
        result = await it.run(
            task(step("slow", on_failure="continue"), after), {}, act, slow=slow, after=lambda code: code
        )
    assert (result.status, result.output) == ("completed", "ACTION_TIMEOUT")


async def test_tsk_5_when_both_limits_are_over_the_task_is_timed_out() -> None:
    """TSK-5."""

    async def slow() -> None:
        await asyncio.sleep(10)

    act = action("slow", execution={"timeout_ms": 20, "retry_policy": {"max_attempts": 9, "initial_delay_ms": 0}})
    async with bench() as it:
        result = await it.run(task(step("slow", on_failure="continue"), timeout_ms=20), {}, act, slow=slow)
    assert result.status == "timed_out"


async def test_tsk_5_a_thread_that_is_blocked_is_given_up_and_its_late_result_ignored() -> None:
    """TSK-5: a thread can't be stopped; it is counted as lost until its function returns, and its place is free."""
    release, returned = threading.Event(), threading.Event()

    def block() -> str:
        release.wait(5)
        returned.set()
        return "late"

    threads = Threads(threads_max=1)
    async with bench(threads=threads) as it:
        result = await it.run(task(step("block"), timeout_ms=20), {}, block=block)
        assert (result.status, threads.lost) == ("timed_out", 1)
        other = await it.run(task(step("other")), {}, other=lambda: "not held up")
        assert other.output == "not held up"
        release.set()
        await asyncio.to_thread(returned.wait)
        await until(lambda: threads.lost == 0)
    assert result.output is None


async def test_a_function_in_a_thread_can_see_that_nobody_waits_for_it() -> None:
    """TSK-5: by `current_context().cancelled`."""
    begun, ended = threading.Event(), threading.Event()

    def patient() -> None:
        begun.set()
        context = current_context()
        while not context.cancelled:
            time.sleep(0.002)
        ended.set()

    async with bench() as it:
        # On a busy machine the thread may not have begun in the first of these times, and is not begun then.
        for timeout_ms in (20, 200, 2_000, 20_000):
            result = await it.run(task(step("patient"), timeout_ms=timeout_ms), {}, patient=patient)
            assert result.status == "timed_out"
            if begun.is_set():
                break
        assert await asyncio.to_thread(ended.wait, 20)


async def test_time_spent_waiting_for_a_thread_does_not_count_for_the_limit_of_the_action() -> None:
    """RET-1: 4 calls of 300 ms on one thread, each with a limit of 400 ms."""
    environment, begun, ended = ManualEnvironment(), list[int](), threading.Semaphore(0)

    def work() -> None:
        begun.append(len(begun))
        ended.acquire()

    act = action("work", execution={"timeout_ms": 400})
    async with bench(environment=environment, threads=Threads(threads_max=1)) as it:
        compiled = it.compiled(task(step("work")), act, work=work)
        calls = [asyncio.create_task(it.executor.run(compiled, {}, ORIGIN)) for _ in range(4)]
        for number in range(4):
            await until(lambda number=number: len(begun) == number + 1)
            await environment.sleep(300)
            ended.release()
        results = await asyncio.gather(*calls)
    assert [result.status for result in results] == ["completed"] * 4


@pytest.mark.parametrize(
    ("of_action", "of_task", "left"), [(None, None, None), (500, None, 500), (500, 300, 300), (None, 300, 300)]
)
async def test_an_action_knows_when_it_will_be_aborted(of_action: Any, of_task: Any, left: int | None) -> None:
    """TSK-5, RET-3: by the limit that is over first."""
    environment = ManualEnvironment()

    async def ask() -> Any:
        return current_context().deadline_ms

    act = action("ask", execution={"timeout_ms": of_action})
    async with bench(environment=environment) as it:
        result = await it.run(task(step("ask"), timeout_ms=of_task), {}, act, ask=ask)
    assert result.output == (left and environment.now_ms() + left)


async def swallow_once() -> str:
    """Answer a cancellation with a result."""
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        return "no"
    return "yes"


async def raise_instead() -> str:
    """Answer a cancellation with an error."""
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        raise ValueError("no") from None
    return "yes"


@pytest.mark.parametrize("stubborn", [swallow_once, raise_instead])
@pytest.mark.parametrize("limit", ["task", "action"])
async def test_an_answer_to_a_cancellation_does_not_undo_it(stubborn: Any, limit: str) -> None:
    """TSK-5: what ended the action was the limit."""
    act = action("f", execution={"timeout_ms": 20} if limit == "action" else None)
    async with bench() as it:
        result = await it.run(task(step("f"), timeout_ms=20 if limit == "task" else None), {}, act, f=stubborn)
    assert result.error
    assert result.error.code == ("TASK_TIMEOUT" if limit == "task" else "ACTION_TIMEOUT")


class Stubborn:
    """A function that ignores its cancellation until it is released."""

    def __init__(self) -> None:
        self.released = False

    async def __call__(self) -> str:
        while not self.released:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return "late"


class StubbornInside(Stubborn):
    """The same, in an asyncio task of its own that it waits for."""

    async def __call__(self) -> str:
        return await asyncio.create_task(Stubborn.__call__(self))


@pytest.mark.parametrize("kind", [Stubborn, StubbornInside])
@pytest.mark.parametrize("stopped_by", ["task", "action", "cancel"])
async def test_a_function_that_ignores_its_cancellation_is_abandoned_after_the_grace(
    kind: type[Stubborn], stopped_by: str
) -> None:
    """TSK-5: the executor neither hangs nor forgets it."""
    stubborn = kind()
    act = action("f", execution={"timeout_ms": 20} if stopped_by == "action" else None)
    definition = task(step("f"), timeout_ms=20 if stopped_by == "task" else None)
    async with bench(grace_ms=30, tasks_max=1) as it:
        results: list[Any] = []
        under_way = it.executor.start(it.compiled(definition, act, f=stubborn), {}, ORIGIN, results.append)
        await asyncio.sleep(0.01)
        if stopped_by == "cancel":
            under_way.cancel()
        await until(lambda: results)
        assert results[0].error.code == {
            "task": "TASK_TIMEOUT", "action": "ACTION_TIMEOUT", "cancel": "TASK_CANCELLED",
        }[stopped_by]  # fmt: skip
        assert (it.executor.abandoned, it.executor.under_way) == (1, 0)
        stubborn.released = True
        await until(lambda: it.executor.abandoned == 0)
        assert len(results) == 1


async def test_cancelling_from_outside_reaches_the_action_under_way() -> None:
    """CTL-10: and nothing of the task goes on, whatever its steps and retries say."""
    seen: list[str] = []

    async def slow() -> None:
        seen.append("started")
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise ValueError("in the middle of something") from None

    definition = task(
        step("slow", on_failure="retry"),
        step("never"),
        retry={"max_attempts": 9, "initial_delay_ms": 0},
        timeout_ms=5_000,
    )
    async with bench() as it:
        results: list[Any] = []
        compiled = it.compiled(definition, slow=slow, never=lambda: seen.append("never"))
        under_way = it.executor.start(compiled, {}, ORIGIN, results.append)
        await until(lambda: seen)
        under_way.cancel()
        under_way.cancel()
        await until(lambda: results)
    assert seen == ["started", "cancelled"]
    assert [result.status for result in results] == ["cancelled"]


async def test_cancelling_during_a_backoff_ends_the_task() -> None:
    """CTL-10."""

    async def bad() -> None:
        raise ValueError

    async with bench() as it:
        results: list[Any] = []
        definition = task(step("bad", on_failure="retry"), retry={"max_attempts": 2, "initial_delay_ms": 60_000})
        under_way = it.executor.start(it.compiled(definition, bad=bad), {}, ORIGIN, results.append)
        await asyncio.sleep(0.02)
        under_way.cancel()
        await until(lambda: results)
    assert results[0].status == "cancelled"
    assert results[0].steps[0].ref == "bad"


async def test_who_awaits_a_task_and_is_cancelled_cancels_it() -> None:
    """The executor's `run` is as good a citizen as any coroutine."""
    ended = asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.set()

    it = Bench()
    compiled = it.compiled(task(step("slow")), slow=slow)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await it.executor.run(compiled, {}, ORIGIN)
    assert ended.is_set()
    assert it.executor.under_way == 0


async def test_a_function_that_raises_cancelled_error_by_itself_has_failed() -> None:
    """Nobody has cancelled it, so it is no cancellation."""

    async def odd() -> None:
        raise asyncio.CancelledError

    async with bench() as it:
        result = await it.run(task(step("odd")), {}, odd=odd)
    assert result.status == "failed"
    assert result.error
    assert result.error.code == "ACTION_BROKEN"
