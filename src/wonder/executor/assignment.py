"""One task given to an executor: what it may use, whose it is, and the asyncio task that carries it out."""

import asyncio
from collections.abc import Callable
from typing import Any

from wonder.actions.protocol import Origin
from wonder.executor.limits import TimeLimit
from wonder.executor.results import TaskFailure
from wonder.executor.services import Services
from wonder.language.steps import Steps


class Assignment:
    """A task under way; `worker` is the asyncio task that carries it out.

    `abandon` is told why, when an action ignores that it was cancelled.
    """

    __slots__ = ("_cancellations", "abandon", "due_ms", "origin", "services", "steps", "worker")

    def __init__(
        self,
        services: Services,
        origin: Origin,
        abandon: Callable[[TaskFailure], None],
        worker: "asyncio.Task[Any]",
    ) -> None:
        self.services, self.origin, self.abandon, self.worker = services, origin, abandon, worker
        self._cancellations = 0
        self.steps = Steps(origin.evaluation_steps)
        """What its conditions, mappings, expressions and templates may do together."""
        self.due_ms: float | None = None
        """The time of day when the time of the whole task is over."""

    @property
    def is_cancelled(self) -> bool:
        """Whether someone wants the task to stop, time limits that have ended not counted.

        Counted here, because asyncio's own count can't be trusted: in Python 3.11 a TaskGroup that has failed leaves it
        one too high.
        """
        return self._cancellations > 0

    def cancel(self) -> None:
        """Abort what is under way."""
        self._cancellations += 1
        self.worker.cancel()

    def uncancel(self) -> None:
        """Take one cancellation back."""
        self._cancellations -= 1
        self.worker.uncancel()

    def is_ended_by(self, error: BaseException) -> bool:
        """Say whether what an action raised is its answer to a cancellation: ours, or that of a loop that closes."""
        return self.is_cancelled or (isinstance(error, asyncio.CancelledError) and _loop_closes())

    def limit(self, milliseconds: float, failure: Callable[[], TaskFailure]) -> TimeLimit:
        """Return a limit that has not begun; `failure` is what the task ends with if it is ignored."""
        services = self.services

        def on_ignored() -> None:
            self.abandon(failure())

        return TimeLimit(services.environment, self, milliseconds, services.grace_ms, on_ignored)


def _loop_closes() -> bool:
    """Say whether everything in the loop is being cancelled, as `asyncio.run` does in its end."""
    return all(task.cancelling() for task in asyncio.all_tasks())
