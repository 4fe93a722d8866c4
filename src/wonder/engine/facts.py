"""Facts: what happened, as the engine is told; each is taken in the order in which the coordinator brings it."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from wonder.engine.event_type import Event
from wonder.engine.failure import Failure
from wonder.engine.state import RunEnd
from wonder.language.values import JsonValue

Metric: TypeAlias = tuple[str, float, dict[str, str]]
"""The name of a metric, a number, and its dimensions."""


class RunQueued(Struct, frozen=True, gc=False):
    """The run was accepted, and may not start yet (RES-6)."""


class RunStarted(Struct, frozen=True, gc=False):
    """The run may go: its input was checked and has its defaults (`check_input`)."""

    input: JsonValue


class TaskStarted(Struct, frozen=True, gc=False):
    """A worker has begun with a task, at this true time."""

    token_id: str
    started_ms: int


class TaskCompleted(Struct, frozen=True, gc=False):
    """A worker brought a task to its end; `steps` is told on for people (TSK-6), each of `noted` as an event."""

    token_id: str
    output: JsonValue
    started_ms: int | None = None
    attempts: int = 1
    steps: Any = None
    tokens: int | None = None
    cost_usd: float | None = None
    noted: tuple[Event, ...] = ()
    metrics: tuple[Metric, ...] = ()
    output_cut: dict[str, Any] | None = None
    """Told in the place of an output that is too large for an event: its size, its start, and where it is kept."""


class TaskFailed(Struct, frozen=True, gc=False):
    """A task has failed for good; the code `TASK_TIMEOUT` ends its token `timed_out`."""

    token_id: str
    failure: Failure
    started_ms: int | None = None
    steps: Any = None
    tokens: int | None = None
    cost_usd: float | None = None
    noted: tuple[Event, ...] = ()
    metrics: tuple[Metric, ...] = ()


class WorkerLost(Struct, frozen=True, gc=False):
    """The worker of a task is gone, without a result (TSK-5)."""

    token_id: str


class ProcessLost(Struct, frozen=True, gc=False):
    """The process that had the run's tasks has ended; all of them run again, but for those whose tokens are `kept`."""

    kept: frozenset[str] = frozenset()


class TimerFired(Struct, frozen=True, gc=False):
    """A timer that was set has come due."""

    key: str


class InputGiven(Struct, frozen=True, gc=False):
    """A person answered; the answer was checked with `check_answer` before."""

    token_id: str
    item_id: str
    answer: JsonValue
    by: str | None = None


class InputClaimed(Struct, frozen=True, gc=False):
    """Somebody wants to answer a question themselves: nobody else may from now on (`check_claim`)."""

    token_id: str
    item_id: str
    by: str


class InputReleased(Struct, frozen=True, gc=False):
    """A question that was claimed is free again (`check_release`)."""

    token_id: str
    item_id: str
    by: str | None


class InputDelegated(Struct, frozen=True, gc=False):
    """A question, or the place of an approver, was handed to another person (`check_delegation`)."""

    token_id: str
    item_id: str
    by: str | None
    to: str


class GateAnswered(Struct, frozen=True, gc=False):
    """A person decided on a run that stopped at its time-out (RET-3); `extend` says by how long."""

    item_id: str
    decision: Literal["extend", "abort", "fail"]
    extend_ms: int | None = None
    by: str | None = None


class ChildEnded(Struct, frozen=True, gc=False):
    """A sub-workflow ended, or could not be started, which counts as failed."""

    token_id: str
    child_run_id: str
    status: RunEnd
    output: JsonValue = None
    failure: Failure | None = None
    of_run: str | None = None
    """The run whose output this is, if it was called with the same key before and none was started (RET-4)."""


class EventArrived(Struct, frozen=True, gc=False):
    """The event that a token waits for has come."""

    token_id: str
    payload: JsonValue


class FunctionFound(Struct, frozen=True, gc=False):
    """The process that runs the engine now has the function that a token waits for."""

    token_id: str


class CancelRequested(Struct, frozen=True, gc=False):
    """Somebody wants the run to end."""

    reason: str | None = None


class PauseRequested(Struct, frozen=True, gc=False):
    """Somebody wants nothing more to be dispatched."""

    reason: str = "requested"


class ResumeRequested(Struct, frozen=True, gc=False):
    """Somebody wants a paused run to go on."""


class RunBroken(Struct, frozen=True, gc=False):
    """The engine itself failed on the run, which can't go on."""

    failure: Failure


class LimitReached(Struct, frozen=True, gc=False):
    """The run has reached a limit that only its writer can see: `found` is more than the `most` that it may have."""

    limit: Literal["bytes_written"]
    found: int
    most: int


class TriggerAdvanced(Struct, frozen=True, gc=False):
    """A trigger of a run that has completed is `upto` that item, with so many runs started in all (PHS-6)."""

    ordinal: int
    workflow_id: str
    items: int
    upto: int
    started: int
    skipped: int = 0
    failure: Failure | None = None
    """The first that kept it from starting a run."""


class TurnContinued(Struct, frozen=True, gc=False):
    """The run, which went to the back of the line, has its turn again (CTL-20)."""


Fact: TypeAlias = (
    RunQueued
    | RunStarted
    | TaskStarted
    | TaskCompleted
    | TaskFailed
    | WorkerLost
    | ProcessLost
    | TimerFired
    | InputGiven
    | InputClaimed
    | InputReleased
    | InputDelegated
    | GateAnswered
    | ChildEnded
    | EventArrived
    | FunctionFound
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | RunBroken
    | LimitReached
    | TriggerAdvanced
    | TurnContinued
)
