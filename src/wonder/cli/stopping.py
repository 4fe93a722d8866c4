"""Ends a command cleanly on SIGTERM and SIGINT: what it holds is given back, and no later than after a while it ends.

Without this, SIGTERM ends Python at once. The lease of the engine stays then, and on PostgreSQL the next process waits
until it has run out.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from wonder.cli.main import Terminated

EXIT_SECONDS: Final = 10.0
"""How long a command may take to end after a signal, beside the time that it was given for tasks under way."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run_until_stopped(
    work: Coroutine[Any, Any, int],
    *,
    drain_seconds: float = 0.0,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> int:
    """Run a command to its end and return its exit status.

    The first signal cancels it, and raises KeyboardInterrupt or Terminated here once it has ended. A second one, or
    the end of EXIT_SECONDS and `drain_seconds`, ends the process at once.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)  # Only the main thread can handle signals.
    stop = _Stop(EXIT_SECONDS + drain_seconds)
    with stop, asyncio.Runner(loop_factory=loop_factory) as runner:
        try:
            return runner.run(stop.watched(work))
        except asyncio.CancelledError:
            if stop.number is None:
                raise
    raise KeyboardInterrupt if stop.number == signal.SIGINT else Terminated


class _Stop:
    """Handles the signals while a command runs."""

    def __init__(self, seconds: float) -> None:
        self.number: int | None = None
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._before: dict[int, Any] = {}
        self._ended = threading.Event()

    async def watched(self, work: Coroutine[Any, Any, int]) -> int:
        """Do the work in a task that a signal cancels."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self.number is not None:
            work.close()
            raise asyncio.CancelledError
        return await work

    def __enter__(self) -> None:
        for number in _SIGNALS:
            # What a shell runs in the background is to ignore SIGINT.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: FrameType | None) -> None:
        # Not by the loop's own handlers: a function that keeps the loop busy must not keep a second signal out.
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        threading.Thread(target=self._end_later, daemon=True).start()
        if self._loop and self._task:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)

    def _end_later(self) -> None:
        if not self._ended.wait(self._seconds) and self.number is not None:
            print(f"wonder: not everything has ended within {self._seconds:g} s; ends now", file=sys.stderr, flush=True)
            os._exit(128 + self.number)
