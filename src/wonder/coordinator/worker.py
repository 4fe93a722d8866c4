"""What the coordinator asks of workers, and of the clock: whoever wires the parts gives both."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from wonder.engine.facts import TaskCompleted, TaskFailed
from wonder.language.values import JsonValue

TaskEnded = TaskCompleted | TaskFailed


class Dispatch(Struct, frozen=True):
    """One task for a worker, and whose it is."""

    project_id: str
    run_id: str
    token_id: str
    node_ref: str
    path_id: str
    task_id: str
    task_version: int
    input: JsonValue


class Work(Protocol):
    """A task that a worker has."""

    def cancel(self) -> None:
        """Abort it; what it still brings is late."""


class PreparedWork(Work, Protocol):
    """A task that has begun as far as nobody outside can tell: nothing was done for it yet that has any effect."""

    def discard(self) -> None:
        """Give it up."""


class Worker(Protocol):
    """Runs tasks."""

    def prepare(self, dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> PreparedWork | None:
        """Begin a task that may have no effect yet; None if that can't be now, and it is to be started in its turn."""

    def begin(self, prepared: Any) -> bool:
        """Go on with a task that was prepared here; False if it has to be started anew."""

    def start(self, dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> Work:
        """Take a task on; `on_done` is called in the loop, exactly once, and never before this returns."""


class Timer(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None:
        """Let it not be called."""


class Clock(Protocol):
    """The time, and what is called later."""

    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970."""

    def monotonic_ms(self) -> float:
        """Return a time that never goes back, to measure with."""

    def after(self, milliseconds: float, call: Callable[[], None]) -> Timer:
        """Have something called in the loop later."""
