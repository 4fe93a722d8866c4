"""The line of calls that a project's limit holds back: run after run in turn, so that no run holds up the others."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from wonder.language.values import JsonValue


class CallLine:
    """Lets one at a time have its turn; of those that wait, each run has its turn after the others'."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def length(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, run_id: str, report: Callable[[JsonValue], None]) -> AsyncIterator[None]:
        """Wait for a turn; the watchers of the run see that it waits."""
        if self._is_taken:
            report({"waiting_for": "max_llm_calls_per_hour", "ahead": self.length + 1})
            await self._wait(run_id)
        self._is_taken = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, run_id: str) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._pass_on()  # Its turn had come already.
            else:
                self._leave(run_id, future)
            raise

    def _leave(self, run_id: str, future: asyncio.Future[None]) -> None:
        line = self._waiting.get(run_id, deque())
        if future in line:
            line.remove(future)
        if not line:
            self._waiting.pop(run_id, None)

    def _pass_on(self) -> None:
        self._is_taken = False
        while self._waiting and not self._is_taken:
            run_id = next(iter(self._waiting))
            line = self._waiting.pop(run_id)
            # Who was cancelled in this same moment has had no time to leave the line.
            while line and line[0].done():
                line.popleft()
            if line:
                self._is_taken = True
                line.popleft().set_result(None)
            if line:
                self._waiting[run_id] = line  # At the end: the other runs come first.
