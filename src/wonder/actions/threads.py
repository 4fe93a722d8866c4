"""Threads for functions that are not async: one loop's pool, bounded, that outlives functions which never return.

The pool of the standard library is not used: it waits at exit for functions that hang, counts them against its size for
ever, and wakes the loop once per result where one wake-up for many will do (half the time for a single call, and a
tenth for each of a thousand).
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

THREADS_MAX = 32
LOST_MAX = 64


class Threads:
    """A pool of threads that belongs to the loop in which it is first used.

    A thread can't be stopped. When nobody waits any more for what it does, it is `lost`: another thread takes its
    place, and it ends when its function returns. Only `lost_max` are replaced; any more take up places of the pool.
    """

    def __init__(self, threads_max: int = THREADS_MAX, lost_max: int = LOST_MAX) -> None:
        self.threads_max, self.lost_max = threads_max, lost_max
        self.lost = 0
        self._busy = 0
        self._serving = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._returned: deque[_Call] = deque()
        self._awakened = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, function: Callable[[], Any], on_start: Callable[[], None] | None = None) -> Any:
        """Run a function in a thread, in turn; return what it returns, or raise the Exception that it raises.

        `on_start` is called in the loop when a thread is free for it. Cancelled before that, the function is never run;
        cancelled later, its result is dropped.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        if self._busy < self._places():
            self._busy += 1
        else:
            await self._turn(loop)
        if on_start:
            on_start()
        call = _Call(function, loop.create_future())
        if self._serving < self._busy:
            self._serving += 1
            threading.Thread(target=self._serve, name="wonder-function", daemon=True).start()
        self._calls.put(call)
        try:
            await call.returned
        except asyncio.CancelledError:
            self._lose(call)
            raise
        if call.error is not None:
            raise call.error
        return call.value

    def close(self) -> None:
        """Let idle threads end; those that are busy end when their function returns, or with this program."""
        for _ in range(self._serving):
            self._calls.put(None)
        self._serving = 0

    def _places(self) -> int:
        return self.threads_max - max(0, self.lost - self.lost_max)

    async def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in line; the caller that frees a place takes it again for the one that it wakes."""
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._busy -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._line and self._busy < self._places():
            turn = self._line.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)

    def _lose(self, call: "_Call") -> None:
        """Give up a call under way; if it has returned meanwhile, `_collect` gives its place free."""
        if call.decide():
            self.lost += 1
            self._busy -= 1
            self._serving -= 1
            self._admit()

    def _serve(self) -> None:
        """Run calls until there are no more, or until this thread was given up."""
        while (call := self._calls.get()) is not None:
            call.run()
            is_lost = not call.decide()
            call.is_lost = is_lost
            self._returned.append(call)
            if not self._wake() or is_lost:
                return
            # Otherwise this thread would keep the last result alive for as long as it is idle.
            del call

    def _wake(self) -> bool:
        """Have the loop collect what was returned; False when the loop is gone."""
        if not self._awakened:
            self._awakened = True
            assert self._loop
            try:
                self._loop.call_soon_threadsafe(self._collect)
            except RuntimeError:
                return False
        return True

    def _collect(self) -> None:
        # Before anything is taken: a thread that returns from now on wakes the loop again.
        self._awakened = False
        while self._returned:
            call = self._returned.popleft()
            if call.is_lost:
                self.lost -= 1
            else:
                self._busy -= 1
            if not call.returned.done():
                call.returned.set_result(None)
        self._admit()


class _Call:
    """One call on its way through a thread."""

    __slots__ = ("_undecided", "error", "function", "is_lost", "returned", "value")

    def __init__(self, function: Callable[[], Any], returned: "asyncio.Future[None]") -> None:
        self.function, self.returned = function, returned
        self.value: Any = None
        self.error: Exception | None = None
        self.is_lost = False
        self._undecided = [True]

    def decide(self) -> bool:
        """Say whether the one who asks is the first: the thread because it returned, or the loop because it gave up."""
        try:
            # Taking an element is atomic, so this needs no lock.
            self._undecided.pop()
        except IndexError:
            return False
        return True

    def run(self) -> None:
        if self._undecided:
            try:
                self.value = self.function()
            except Exception as error:
                self.error = error
