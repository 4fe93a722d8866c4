"""What an executor gives back: the output of a task or its failure, and what happened inside (TSK-6)."""

from typing import Any, Literal

import msgspec

from wonder.actions.protocol import NOTHING_USED, ActionFailed, Metric, StoredArtifact, Usage
from wonder.engine.event_type import Event
from wonder.errors import WonderError
from wonder.language.steps import TooManySteps
from wonder.language.values import JsonValue


class TaskFailure(msgspec.Struct, frozen=True):
    """Why a step or a task failed; `step` is the ref of the step, if it was one.

    Not the engine's Failure, which is about a node: events have this one as it is in the records of steps (TSK-6),
    where neither a node nor attempts belong.
    """

    code: str
    message: str
    retryable: bool = False
    details: dict[str, JsonValue] = {}
    step: str | None = None


class FailedAttempt(msgspec.Struct, frozen=True):
    """An attempt of an action after which it was tried again."""

    attempt: int
    started_at_ms: int
    error: TaskFailure


class StepRecord(msgspec.Struct, frozen=True):
    """One execution of a step; `attempt` is the task's, `attempts` those of the action within this execution."""

    ref: str
    attempt: int
    outcome: Literal["completed", "failed", "cancelled"]
    started_at_ms: int
    duration_ms: float
    attempts: int
    usage: Usage = NOTHING_USED
    error: TaskFailure | None = None
    # Unset, so that those without any, which are most, say nothing of it.
    artifacts: tuple[StoredArtifact, ...] | msgspec.UnsetType = msgspec.UNSET
    failed_attempts: tuple[FailedAttempt, ...] | msgspec.UnsetType = msgspec.UNSET
    """The attempts before the last one; of very many, the last of them."""


class TaskResult(msgspec.Struct, frozen=True):
    """How a task ended; `error` is None exactly when it completed.

    `steps` has the executions of all attempts, in order; of very many, the last ones. `usage` counts them all.
    `attempts` counts those of the task; those of an action within one of them are in `steps` (RET-2).
    """

    status: Literal["completed", "failed", "timed_out", "cancelled"]
    output: JsonValue = None
    error: TaskFailure | None = None
    attempts: int = 1
    started_at_ms: int = 0
    steps: tuple[StepRecord, ...] = ()
    usage: Usage = NOTHING_USED
    metrics: tuple[Metric, ...] = ()
    noted: tuple[Event, ...] = ()
    """The events that actions asked for."""
    output_cut: dict[str, Any] | None = None
    """Of an output that is too large for an event: its size, its start, and where all of it is kept."""


def failure_from(error: WonderError, step: str | None) -> TaskFailure:
    """Return what an error says as a failure."""
    if isinstance(error, ActionFailed):
        return TaskFailure(error.code, error.message, error.retryable, error.details, step)
    if isinstance(error, TooManySteps):
        return TaskFailure(error.code, str(error), details=error.details, step=step)
    return TaskFailure(error.code, str(error), step=step)
