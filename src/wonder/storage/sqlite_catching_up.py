"""Catching up: what is in the journal of SQLite reaches the tables in time for others, and before anybody reads."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from wonder.storage.errors import StoreClosed
from wonder.storage.sqlite_journal import Journal

log = logging.getLogger("wonder.storage")


class CatchingUp:
    """Sees to it that the tables don't lack for long what the journal has; `apply` writes it to them."""

    def __init__(self, journal: Journal, apply: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._journal, self._apply = journal, apply
        self._is_due = False
        self._timer: asyncio.TimerHandle | None = None
        # What writes to the tables, for all who wait, and what sees to it in time.
        self._work: asyncio.Task[None] | None = None
        self._ringing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def is_due(self) -> bool:
        """Whether the next commit has to go to the tables, because they have waited for long enough."""
        return self._is_due and self._journal.is_ahead

    def settle(self) -> None:
        """Take the tables as up to date."""
        self._journal.settle()
        self._is_due = False

    def within(self, seconds: float, again_seconds: float) -> None:
        """Catch up after this time at the latest; a commit that comes until then, and a little longer, does it too."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._timer, self._work = loop, None, None
        if self._timer is None and not self._closed:
            self._timer = loop.call_later(seconds, self._ring, seconds, again_seconds)

    async def now(self) -> None:
        """Catch up, together with all others who ask for it now."""
        while self._journal.is_ahead:
            loop = asyncio.get_running_loop()
            if self._work is None or self._work.done() or self._work.get_loop() is not loop:
                self._work = loop.create_task(self._apply())
                self._work.add_done_callback(_retrieve)
            # Who stops waiting does not stop it for others.
            await asyncio.shield(self._work)

    def close(self) -> None:
        """Ring no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self, seconds: float, again_seconds: float) -> None:
        self._timer = None
        if self._closed or not self._journal.is_ahead:
            return
        if not self._is_due:
            # Commits that follow upon each other take along what is there; only without one it is a commit of its own.
            self._is_due = True
            self.within(seconds / 4, again_seconds)
            return
        self._ringing = asyncio.get_running_loop().create_task(self._in_time(again_seconds))

    async def _in_time(self, again_seconds: float) -> None:
        try:
            await self.now()
        except StoreClosed:
            return
        except Exception as error:
            log.warning("what was committed can't be written to the tables yet: %s", error)
            self.within(again_seconds, again_seconds)


def _retrieve(work: "asyncio.Task[None]") -> None:
    """Take note of an error, which nobody hears when all who waited have gone."""
    if not work.cancelled():
        work.exception()
