"""Decisions: orders to the one writer; `evolve` applies them to the state, the writer to its rows and to the world.

A scope is named by its group's id and its branch's index; of the run itself by None and 0. Decisions that change rows
come first in this module, then those that are carried out once the rows are durable.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from wonder.engine.event_type import EventName, Metadata
from wonder.engine.failure import Failure
from wonder.engine.restore import Snapshot
from wonder.engine.state import EarlyEnd, RunEnd
from wonder.language.targets import Change
from wonder.language.values import JsonValue


class StartRun(Struct, frozen=True, gc=False):
    """Store the context that a run begins with."""

    input: JsonValue
    state: JsonValue


class AdoptSnapshot(Struct, frozen=True, gc=False):
    """Store all rows of a run that begins as a fork of another."""

    snapshot: Snapshot


class SetRunStatus(Struct, frozen=True, gc=False):
    """Store a status that is not final; `paused` says why it is paused."""

    status: Literal["queued", "running", "waiting", "paused"]
    paused: str | None = None
    gate_item_id: str | None = None
    timeout_left_ms: int | None = None


class EndLive(Struct, frozen=True, gc=False):
    """Store that all live tokens of a run which is about to end have ended, and all that they waited for is withdrawn.

    In the place of very many decisions: the groups and timers of the run and its questions to people go with it.
    """

    status: EarlyEnd
    count: int


class EndRun(Struct, frozen=True, gc=False):
    """Store the final status."""

    status: RunEnd
    output: JsonValue = None
    failure: Failure | None = None


class CreateToken(Struct, frozen=True, gc=False):
    """Store a new token, `pending`."""

    token_id: str
    node_id: str
    path_id: str
    parent_id: str | None
    group_id: str | None
    branch_index: int
    born: int
    held: bool = False
    last_error: dict[str, JsonValue] | None = None


class MoveToken(Struct, frozen=True, gc=False):
    """Store that a token is executing, or has ended."""

    token_id: str
    status: str


class ReleaseToken(Struct, frozen=True, gc=False):
    """Store that `max_parallel` no longer holds a token back."""

    token_id: str


class DispatchTask(Struct, frozen=True, gc=False):
    """Store a token `dispatched` with its input, and send the task to a worker once that is durable."""

    token_id: str
    node_id: str
    task_id: str
    task_version: int
    queue: str | None
    input: JsonValue
    losses: int = 0


class SuspendToken(Struct, frozen=True, gc=False):
    """Store a token `suspended` with what it waits for."""

    token_id: str
    wait: dict[str, JsonValue]
    input: JsonValue


class RestartToken(Struct, frozen=True, gc=False):
    """Store a suspended token `pending` again: its node begins anew."""

    token_id: str


class EnterJoin(Struct, frozen=True, gc=False):
    """Store a token `waiting_for_siblings`, at the join into a node, for a branch around it."""

    token_id: str
    join_node_id: str
    group_id: str
    branch_index: int


class WriteContext(Struct, frozen=True, gc=False):
    """Store changes of the run's state and output; both are given as they are afterwards."""

    changes: list[Change]
    state: JsonValue
    output: JsonValue


class WriteBranchOutput(Struct, frozen=True, gc=False):
    """Store changes of a branch's output, which is given as it is afterwards, with the objects written as a whole."""

    group_id: str
    branch_index: int
    changes: list[Change]
    output: JsonValue
    replaced: JsonValue


class OpenFanOut(Struct, frozen=True, gc=False):
    """Store a new group: for each transition its id, the number of its branches and, for a foreach, the items."""

    group_id: str
    node_id: str
    path_id: str
    outer_group_id: str | None
    outer_index: int
    segments: list[tuple[str, int, list[JsonValue] | None]]


class EndBranch(Struct, frozen=True, gc=False):
    """Store that a branch is no longer under way: it arrived at its join, or is gone."""

    group_id: str
    branch_index: int
    arrived: bool
    failure: Failure | None = None


class AbandonBranch(Struct, frozen=True, gc=False):
    """Store that a branch no longer counts, and runs on."""

    group_id: str
    branch_index: int


class FireJoin(Struct, frozen=True, gc=False):
    """Store that a fan-in of a group has gone on, or failed, and never will again."""

    group_id: str
    join_node_id: str


class EndGroup(Struct, frozen=True, gc=False):
    """Note that no branch of a group is under way any more, and its joins are done with; nothing to store."""

    group_id: str


class CloseGroup(Struct, frozen=True, gc=False):
    """Forget a group: nothing in it is live. Its rows, and those of its branches, may go."""

    group_id: str


class SetLoop(Struct, frozen=True, gc=False):
    """Store how often a transition was taken in a scope; 0 removes it."""

    group_id: str | None
    branch_index: int
    transition_id: str
    count: int
    first_ms: int


class SetTimer(Struct, frozen=True, gc=False):
    """Store a timer, by its key in the run; it fires at its time or, if that has passed, at once."""

    key: str
    due_ms: int


class CancelTimer(Struct, frozen=True, gc=False):
    """Remove a timer, if it is there."""

    key: str


class RecordEvent(Struct, frozen=True, gc=False, array_like=True):
    """Store an event; numbers have no gaps (EVT-1). Its fields, in this order, are how it is stored.

    `step` is the number of the first event that belongs to the same step forward: before it the run was at rest, so
    that a fork can begin there.
    """

    sequence: int
    step: int
    type: EventName
    at_ms: int
    node_id: str | None
    token_id: str | None
    path_id: str | None
    metadata: Metadata
    tokens: int | None = None
    cost_usd: float | None = None


class RequestInput(Struct, frozen=True, gc=False):
    """Put an item into the inbox: a question of a node, or a gate at a budget or the workflow's time-out (no token)."""

    item_id: str
    token_id: str | None
    kind: Literal["human_input", "timeout", "budget"]
    prompt: str
    schema: JsonValue
    input: JsonValue
    due_ms: int | None
    role: str | None = None
    """Whose question it is, where it has no assignee."""
    evidence: list[JsonValue] | None = None
    rules: dict[str, JsonValue] | None = None
    """Who may answer and how many must agree, for those who look at it."""
    progress: dict[str, JsonValue] | None = None
    """What will change while it is open: its assignee, claim, approvers, answers and reminders."""


class UpdateInput(Struct, frozen=True, gc=False):
    """Store how an open item stands; `outcome` is what its approvers have decided together, if they have."""

    item_id: str
    progress: dict[str, JsonValue]
    outcome: dict[str, JsonValue] | None = None


class WithdrawInput(Struct, frozen=True, gc=False):
    """Take an item out of the inbox: a later answer is refused."""

    item_id: str


class AbortTask(Struct, frozen=True, gc=False):
    """Stop the task of a token that has ended."""

    token_id: str


class StartChild(Struct, frozen=True, gc=False):
    """Start a sub-workflow; if it can't be started, `ChildEnded` says so."""

    token_id: str
    child_run_id: str
    workflow_def_id: str
    version: int | None
    input: JsonValue
    inherit_artifacts: bool
    by_name: bool = False
    """Whether `workflow_def_id` is what a context says: an id, or a name as a definition would write it."""
    key: str | None = None
    """With one, a sub-workflow that completed with the same key gives its output instead (RET-4)."""
    ttl_seconds: int | None = None
    """How long the output of such a one counts; None for ever."""


class ControlChild(Struct, frozen=True, gc=False):
    """Cancel, pause or resume a sub-workflow."""

    child_run_id: str
    order: Literal["cancel", "pause", "resume"]


class AwaitEvent(Struct, frozen=True, gc=False):
    """Let a token wait for an event of its project, name and key."""

    token_id: str
    event: str
    key: str | None


class StopAwaiting(Struct, frozen=True, gc=False):
    """Let a token wait for its event no longer."""

    token_id: str


class SendMetric(Struct, frozen=True, gc=False):
    """Store a number that a metric is given, with its dimensions."""

    token_id: str
    name: str
    value: float
    dimensions: dict[str, str]


FiringEnd: TypeAlias = Literal["triggered", "skipped", "failed"]
FiringStatus: TypeAlias = Literal["pending"] | FiringEnd


class Firing(Struct, frozen=True, gc=False):
    """What a trigger of a run that has completed is about to do: `pending`, or done with already and why."""

    ordinal: int
    trigger_id: str
    workflow_id: str
    status: FiringStatus
    items: int
    failure: Failure | None = None


class FireTriggers(Struct, frozen=True, gc=False):
    """Store what triggers are to do, and have the pending ones start their runs once that is durable (PHS-6)."""

    firings: tuple[Firing, ...]


class MoveTrigger(Struct, frozen=True, gc=False):
    """Store how far a trigger is: up to which item, and how many runs it has started."""

    ordinal: int
    status: FiringStatus
    upto: int
    started: int
    skipped: int
    failure: Failure | None


class RetryRun(Struct, frozen=True, gc=False):
    """Store that a triggered run, which has failed, is due to be retried, and do so once that is durable (PHS-6)."""


class WarnOfMapping(Struct, frozen=True, gc=False):
    """Log that an input mapping found nothing where a schema requires a value (CTX-5c)."""

    token_id: str
    node_id: str
    queries: tuple[str, ...]


class ContinueLater(Struct, frozen=True, gc=False):
    """Commit, put the run at the back of the line, and bring `TurnContinued` then (CTL-20)."""


Decision: TypeAlias = (
    StartRun
    | AdoptSnapshot
    | SetRunStatus
    | EndLive
    | EndRun
    | CreateToken
    | MoveToken
    | ReleaseToken
    | DispatchTask
    | SuspendToken
    | RestartToken
    | EnterJoin
    | WriteContext
    | WriteBranchOutput
    | OpenFanOut
    | EndBranch
    | AbandonBranch
    | FireJoin
    | EndGroup
    | CloseGroup
    | SetLoop
    | SetTimer
    | CancelTimer
    | RecordEvent
    | RequestInput
    | UpdateInput
    | WithdrawInput
    | AbortTask
    | StartChild
    | ControlChild
    | AwaitEvent
    | StopAwaiting
    | SendMetric
    | FireTriggers
    | MoveTrigger
    | RetryRun
    | WarnOfMapping
    | ContinueLater
)
