"""Time limits that cancel what runs too long, and notice when that is ignored."""

import asyncio
from collections.abc import Callable

from wonder.executor.environment import Environment, Timer


class TimeLimit:
    """A limit on the time that the current asyncio task may take for something.

    When it is over, the asyncio task is cancelled, once. If `end` has not been called `grace_ms` later, what runs has
    swallowed the cancellation, and `on_ignored` is told.
    """

    __slots__ = ("_environment", "_grace_ms", "_milliseconds", "_on_ignored", "_task", "_timer", "due_ms", "expired")

    def __init__(
        self,
        environment: Environment,
        task: "asyncio.Task[object]",
        milliseconds: float,
        grace_ms: float,
        on_ignored: Callable[[], None],
    ) -> None:
        self._environment, self._task, self._milliseconds = environment, task, milliseconds
        self._grace_ms, self._on_ignored = grace_ms, on_ignored
        self._timer: Timer | None = None
        self.due_ms: float | None = None
        self.expired = False

    def begin(self) -> None:
        """Count from now; what was counted so far is forgotten."""
        if not self.expired:
            self.hold()
            self.due_ms = self._environment.now_ms() + self._milliseconds
            self._timer = self._environment.after(self._milliseconds, self._expire)

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
            self._task.uncancel()

    def _expire(self) -> None:
        self.expired = True
        self._timer = self._environment.after(self._grace_ms, self._on_ignored)
        self._task.cancel()
