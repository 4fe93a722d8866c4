"""What is left of a task that has ended: nothing that only the garbage collector could free."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from support.tasks import ORIGIN, action, bench, step, task
from wonder.executor.results import TaskResult
from wonder.storage.runs.recording import Batch


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Let the garbage collector not hide what reference counts can't free."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Owner:
    """Whoever waits for a task."""

    def __init__(self) -> None:
        self.result: asyncio.Future[TaskResult] = asyncio.get_running_loop().create_future()
        self.under_way: object = None

    def hear(self, result: TaskResult) -> None:
        self.result.set_result(result)


@pytest.mark.parametrize("timeout_ms", [None, 10_000])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.usefixtures("no_collector")
async def test_a_task_that_has_ended_is_freed_at_once(timeout_ms: int | None, fails: bool) -> None:
    workers: list[weakref.ref[Any]] = []

    async def work(**given: Any) -> dict[str, Any]:
        workers.append(weakref.ref(asyncio.current_task()))
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")
        return given

    async with bench() as it:
        compiled = it.compiled(
            task(step("work"), timeout_ms=timeout_ms),
            action("work", execution={"timeout_ms": timeout_ms}),
            work=work,
        )
        owner = Owner()
        owner.under_way = it.executor.start(compiled, {"n": 1}, ORIGIN, owner.hear)
        result = await owner.result
        assert result.status == ("failed" if fails else "completed")
        await asyncio.sleep(0)
        left = weakref.ref(owner)
        del owner, result
        assert left() is None
        assert workers[0]() is None


@pytest.mark.usefixtures("no_collector")
@pytest.mark.skipif(not hasattr(Batch, "__weakref__"), reason="a compiled class has no weak references")
def test_a_batch_is_freed_at_once() -> None:
    batch = Batch()
    left = weakref.ref(batch)
    del batch
    assert left() is None
