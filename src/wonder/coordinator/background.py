"""Background: work beside the runs, whose failures are told and never lost silently."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.worker import Clock
from wonder.errors import WonderError
from wonder.storage.cancellations import Cancellations

_FIRST_PAUSE_MS = 50.0
_LONGEST_PAUSE_MS = 5_000.0

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
        pause_ms, cancellations = _FIRST_PAUSE_MS, Cancellations()
        while True:
            try:
                return await attempt()
            except EngineStopped:
                raise
            except WonderError as error:
                cancellations.check()
                log.warning("%s: %s; trying again in %d ms", what, error, pause_ms)
            await self.sleep(pause_ms)
            pause_ms = min(pause_ms * 2, _LONGEST_PAUSE_MS)

    async def sleep(self, milliseconds: float) -> None:
        """Wait, by the coordinator's clock."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._clock.after(milliseconds, lambda: None if over.done() else over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()

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
