"""Trying again after errors: pauses that double up to a limit, and the loop that goes on until something succeeds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from wonder.clock import Clock
from wonder.errors import WonderError

Result = TypeVar("Result")
Errors = tuple[type[WonderError], ...]

# Beyond this a doubled pause is longer than any pause may be, and soon longer than a float can be.
_DOUBLINGS_MAX = 60


def doubled_ms(first_ms: float, times: int) -> float:
    """Return a pause after it has been doubled so often."""
    return first_ms * 2.0 ** min(times, _DOUBLINGS_MAX)


class Backoff:
    """Says how long to wait after each failure in a row: twice as long as after the one before, up to a limit."""

    __slots__ = ("_failures", "_first_ms", "_longest_ms")

    def __init__(self, first_ms: float = 50.0, longest_ms: float = 5_000.0) -> None:
        self._first_ms, self._longest_ms = first_ms, longest_ms
        self._failures = 0

    def next_ms(self) -> float:
        """Count a failure and return the pause after it."""
        pause_ms = doubled_ms(self._first_ms, self._failures)
        self._failures += 1
        return min(pause_ms, self._longest_ms)

    def reset(self) -> None:
        """Begin with the first pause again, because something has succeeded."""
        self._failures = 0


async def insist(
    attempt: Callable[[], Awaitable[Result]],
    *,
    passing: Errors,
    final: Errors = (),
    clock: Clock,
    report: Callable[[WonderError, float], None],
) -> Result:
    """Call `attempt` until it returns, and return what it does; between calls, wait by `clock`.

    Errors in `passing` are reported with the pause that follows. Those in `final` and all others are raised.
    """
    backoff, cancelled_before = Backoff(), _cancellations()
    while True:
        try:
            return await attempt()
        except final:
            raise
        except passing as error:
            # What is raised while a transaction ends replaces a cancellation of this task: without this check, a task
            # that is cancelled in the very moment when the database fails would go on for ever.
            if _cancellations() > cancelled_before:
                raise asyncio.CancelledError from error
            pause_ms = backoff.next_ms()
            report(error, pause_ms)
        await clock.sleep(pause_ms)


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0
