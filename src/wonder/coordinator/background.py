"""Background: work beside the runs, whose failures are told and never lost silently."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from wonder.backoff import insist
from wonder.clock import Clock
from wonder.coordinator.errors import EngineStopped
from wonder.errors import WonderError

Result = TypeVar("Result")
log = logging.getLogger("wonder.coordinator")


class Background:
    """The tasks that a coordinator has begun and does not wait for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside; what it raises is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def insist(self, what: str, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Do something again and again until the database lets it be done; raises only EngineStopped."""

        def report(error: WonderError, pause_ms: float) -> None:
            log.warning("%s: %s; trying again in %d ms", what, error, pause_ms)

        return await insist(attempt, passing=(WonderError,), final=(EngineStopped,), clock=self._clock, report=report)

    async def sleep(self, milliseconds: float) -> None:
        """Wait, by the coordinator's clock."""
        await self._clock.sleep(milliseconds)

    async def close(self) -> None:
        """Break off all that is still under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or isinstance(task.exception(), EngineStopped):
            return
        if error := task.exception():
            log.error("work in the background failed: %s", error, exc_info=error)
