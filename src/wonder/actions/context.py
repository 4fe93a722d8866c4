"""The context of an action: one for each attempt, and on the way of every task."""

import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from wonder.actions.attempts import NOTHING_USED, AttemptClock, Origin, StoredArtifact, Usage
from wonder.actions.logs.collecting import LogCollector, Place
from wonder.actions.logs.lines import LogLines
from wonder.engine.event_type import Event
from wonder.engine.events import check_event
from wonder.language.values import JsonValue

_LOGGER = logging.getLogger("wonder.actions")


class ActionContext:
    """What an action may know and do while it runs one attempt."""

    __slots__ = (
        "_clock",
        "_on_progress",
        "_task_due_ms",
        "artifacts",
        "attempt",
        "cancelled",
        "idempotency_key",
        "logs",
        "noted",
        "origin",
        "printed",
        "step",
        "usage",
    )

    def __init__(
        self,
        origin: Origin,
        step: str,
        attempt: int,
        *,
        idempotency_key: str | None = None,
        clock: AttemptClock | None = None,
        task_due_ms: float | None = None,
        on_progress: Callable[[JsonValue], None] | None = None,
        logs: LogCollector | None = None,
    ) -> None:
        self.origin, self.step, self.attempt = origin, step, attempt
        self.idempotency_key = idempotency_key
        self.logs = logs
        """What takes the log records of this attempt; None where nothing is kept of them."""
        self.printed: LogLines | None = None
        """What takes the lines that its code prints; None as long as it prints nothing."""
        self.usage = NOTHING_USED
        self.noted: list[Event] | None = None
        """The events that the action asks for."""
        self.artifacts: list[StoredArtifact] | None = None
        self.cancelled = False
        """Set when nobody waits for this attempt any more; code in a thread, which can't be stopped, may look at it."""
        self._clock, self._task_due_ms, self._on_progress = clock, task_due_ms, on_progress

    @property
    def deadline_ms(self) -> float | None:
        """The time of day, in milliseconds since 1970, when this attempt is aborted; None if no limit holds."""
        due = [self._clock.due_ms if self._clock else None, self._task_due_ms]
        return min((due_ms for due_ms in due if due_ms is not None), default=None)

    @property
    def place(self) -> Place:
        """Where in the run this attempt is, as its log records say."""
        return Place(self.origin, self.step, self.attempt)

    @property
    def logger(self) -> "logging.LoggerAdapter[logging.Logger]":
        """A logger whose records say where they come from; the logs of the run get them from INFO on (EVT-4a)."""
        origin = self.origin
        where = {"run_id": origin.run_id, "node": origin.node, "branch": origin.branch, "step": self.step}
        return _ContextLogger(self, {**where, "attempt": self.attempt})

    def say_of(self, service: str) -> Callable[[int, str], None]:
        """Give what logs messages of this attempt, with their level, as those of a service; from any thread."""
        logs, place = self.logs, self.place

        def say(level: int, message: str) -> None:
            if logs:
                logs.add(level, service, message, place=place)

        return say

    def hold(self) -> None:
        """Stop the attempt's time while it waits in line for a place to run; the task's own limit goes on."""
        if self._clock:
            self._clock.hold()

    def begin(self) -> None:
        """Count the attempt's time from now."""
        if self._clock:
            self._clock.begin()

    def end(self) -> None:
        """Note that nobody waits for this attempt any more; for the executor to call."""
        self.cancelled = True
        # What counts the time knows the asyncio task, whose variables know this context: a circle, to be cut.
        self._clock = None
        if self.printed is not None:
            self.printed.close()

    def report_usage(self, *, input_tokens: int = 0, output_tokens: int = 0, cost_usd: float = 0.0) -> None:
        """Add to what this attempt has used; it counts even if the attempt fails."""
        self.usage += Usage(input_tokens, output_tokens, cost_usd)

    def report_artifact(self, id: str, content_type: str, size_bytes: int) -> None:
        """Tell of an artifact that this attempt has stored; it is there even if the attempt fails."""
        written = StoredArtifact(id, content_type, size_bytes)
        self.artifacts = [written] if self.artifacts is None else [*self.artifacts, written]

    def note(self, event: Event) -> None:
        """Ask for an event of the run, which is recorded with the result of the task, whether it succeeds or not.

        Raises UndeclaredEvent unless its type and fields are declared: a kind of a package may not have been checked.
        """
        check_event(event)
        if self.noted is None:
            self.noted = []
        self.noted.append(event)

    def report_progress(self, progress: JsonValue) -> None:
        """Report to the watchers of the run how far the action is; nothing of it is kept."""
        if self._on_progress:
            self._on_progress(progress)


CURRENT: ContextVar[ActionContext] = ContextVar("wonder_action_context")
"""The attempt that the code which looks at it belongs to."""


class _ContextLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs what the application's settings let through, and gives the rest to the logs of the run alone."""

    def __init__(self, context: ActionContext, where: dict[str, Any]) -> None:
        super().__init__(_LOGGER, where)
        self._context = context

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  # the name of the standard library
        return level >= logging.INFO or _LOGGER.isEnabledFor(level)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        before = CURRENT.set(self._context)
        try:
            if _LOGGER.isEnabledFor(level):
                # One frame more than usual lies between the caller and the record.
                kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
                super().log(level, msg, *args, **kwargs)
            elif level >= logging.INFO and self._context.logs:
                # Making it is enough: what takes records for the logs sees it then (`actions/captured_logs.py`).
                extra = self.process(msg, kwargs)[1].get("extra")
                error = _error_of(kwargs.get("exc_info"))
                _LOGGER.makeRecord(_LOGGER.name, level, "", 0, msg, args, error, extra=extra)
        finally:
            CURRENT.reset(before)


def _error_of(given: Any) -> Any:
    if isinstance(given, BaseException):
        return (type(given), given, given.__traceback__)
    return sys.exc_info() if given and not isinstance(given, tuple) else given or None
