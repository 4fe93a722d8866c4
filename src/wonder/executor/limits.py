"""Time limits that cancel what runs too long, and notice when that is ignored."""

from collections.abc import Callable
from typing import Protocol

from wonder.clock import Clock, Timer


class Cancellable(Protocol):
    """Something under way that can be told to stop, and to go on after all."""

    def cancel(self) -> object:
        """Tell it to stop."""

    def uncancel(self) -> object:
        """Take that back, once."""


class TimeLimit:
    """A limit on the time that what is under way may take for something.

    When it is over, that is cancelled, once. If `end` has not been called `grace_ms` later, what runs has
    swallowed the cancellation, and `on_ignored` is told.
    """

    __slots__ = ("_clock", "_grace_ms", "_limited", "_milliseconds", "_on_ignored", "_timer", "due_ms", "expired")

    def __init__(
        self,
        clock: Clock,
        limited: Cancellable,
        milliseconds: float,
        grace_ms: float,
        on_ignored: Callable[[], None],
    ) -> None:
        self._clock, self._limited, self._milliseconds = clock, limited, milliseconds
        self._grace_ms, self._on_ignored = grace_ms, on_ignored
        self._timer: Timer | None = None
        self.due_ms: float | None = None
        self.expired = False

    def begin(self) -> None:
        """Count from now; what was counted so far is forgotten."""
        if not self.expired:
            self.hold()
            self.due_ms = self._clock.now_ms() + self._milliseconds
            self._timer = self._clock.after(self._milliseconds, self._expire)

    def hold(self) -> None:
        """Stop counting until it begins again."""
        if self._timer and not self.expired:
            self._timer.cancel()
            self._timer = self.due_ms = None

    def end(self) -> None:
        """Stop counting, and take the cancellation back if there was one."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self.expired:
            self._limited.uncancel()

    def _expire(self) -> None:
        self.expired = True
        self._timer = self._clock.after(self._grace_ms, self._on_ignored)
        self._limited.cancel()
