"""What the coordinator asks of workers; whoever wires the parts gives them."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from wonder.engine.facts import TaskCompleted, TaskFailed
from wonder.language.steps import STEPS_MAX
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
    evaluation_steps: int = STEPS_MAX
    records_output: bool = True
    """Whether its output is recorded (`record_io`), so that a large one has to be kept."""


class Work(Protocol):
    """A task that a worker has."""

    def cancel(self) -> None:
        """Abort it; what it still brings is late."""


class Worker(Protocol):
    """Runs tasks."""

    def start(self, dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> Work:
        """Take a task on; `on_done` is called in the loop, exactly once, and never before this returns."""
