"""Records: what is known of a run beside its state, when it is started and while it is in memory."""

from typing import Final, NamedTuple

from msgspec import Struct

from wonder.context.plan import ContextPlan
from wonder.definitions.records.graph import OnWorkflowTimeout
from wonder.engine.state import Group, RunState
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import to_json
from wonder.storage.store import Value

QUARANTINED: Final = "quarantined"
"""Why a run is paused that was under way whenever its process died: it is not loaded before a person resumes it."""
FAILURE_TEXT_MAX: Final = 200
"""So much is kept of an error's code and of a node's ref to find failed runs by."""


def shown_status(status: str, paused_reason: str | None) -> str:
    """Give the status under which a run is listed and counted: a quarantined one is not among the paused."""
    return QUARANTINED if paused_reason == QUARANTINED else status


class TriggerOrigin(Struct, frozen=True, kw_only=True):
    """By what a run was triggered, and what its trigger says of it (PHS-6)."""

    triggered_by_run_id: str
    ordinal: int
    item_index: int
    depth: int
    """How many triggers led here, one after the other."""
    attempt: int = 0
    """The number of the retry, from 1."""
    max_retries: int = 0
    timeout_ms: int | None = None
    on_timeout: OnWorkflowTimeout = "fail"
    """What happens at that time-out."""
    root_run_id: str | None = None
    """The run at the beginning of all these triggers; None in rows of before it was stored."""

    @property
    def retries_left(self) -> int:
        """How often it may be retried when it fails."""
        return self.max_retries - self.attempt

    @property
    def family_id(self) -> str:
        """The run whose triggers, and those of the runs that they started, have led here."""
        return self.root_run_id or self.triggered_by_run_id

    def row(self) -> list[Value]:
        """Give its row, without the run's id."""
        place: list[Value] = [self.triggered_by_run_id, self.ordinal, self.item_index, self.attempt]
        return [*place, self.depth, self.max_retries, self.timeout_ms, self.root_run_id, self.on_timeout]


class NewRun(Struct, frozen=True, kw_only=True):
    """A run that was accepted: who it belongs to, what it is a run of, and how it came about."""

    id: str
    project_id: str
    workflow_def_id: str
    workflow_version: int
    input: JsonValue
    created_ms: int
    workflow_id: str | None = None
    """None for a sub-workflow, which is called by its definition."""
    depth: int = 0
    parent_run_id: str | None = None
    parent_token_id: str | None = None
    parent_node_id: str | None = None
    retry_of_run_id: str | None = None
    forked_from_run_id: str | None = None
    forked_from_sequence: int | None = None
    idempotency_key: str | None = None
    input_hash: str | None = None
    owner_id: str | None = None
    origin: TriggerOrigin | None = None

    def row(self) -> list[Value]:
        """Give its row, `queued`, with the input, which stays there until the run starts."""
        return [
            self.id,
            self.project_id,
            self.workflow_id,
            self.workflow_def_id,
            self.workflow_version,
            "queued",
            None,
            None,
            None,
            self.depth,
            self.parent_run_id,
            self.parent_token_id,
            self.parent_node_id,
            self.retry_of_run_id,
            self.forked_from_run_id,
            self.forked_from_sequence,
            self.idempotency_key,
            self.input_hash,
            self.owner_id,
            to_json(self.input),
            None,
            None,
            self.created_ms,
            None,
            None,
        ]


class _Branches(NamedTuple):
    """The branches of a group: how many, and up to which index each transition made them."""

    total: int
    ends: list[tuple[int, str]]


class Recorded:
    """A run in memory, with what its rows say once the batches that it was added to are durable."""

    __slots__ = (
        "counted_as",
        "definition_id",
        "groups",
        "id",
        "output",
        "plan",
        "project_id",
        "run",
        "state",
        "written",
    )

    def __init__(self, run: RunState, plan: ContextPlan, project_id: str, definition_id: str, written: int = 0) -> None:
        self.run, self.plan, self.project_id, self.definition_id, self.id = run, plan, project_id, definition_id, run.id
        self.counted_as = shown_status(run.status, run.paused)
        """The status under which it is counted."""
        self.state, self.output = run.state, run.output
        self.written = written
        """About how many bytes it has written: its events, what its tasks were given, what its branches gave."""
        self.groups = {group.id: _branches_of(group) for group in run.groups.values()}

    def open_group(self, group_id: str, segments: list[tuple[str, int, list[JsonValue] | None]]) -> None:
        """Note which branches a group has, for the rows of their tokens."""
        ends, total = [], 0
        for transition_id, count, _ in segments:
            total += count
            ends.append((total, transition_id))
        self.groups[group_id] = _Branches(total, ends)

    def branch(self, group_id: str, index: int) -> tuple[int, str]:
        """Give how many branches a token's group has, and which transition made its own."""
        total, ends = self.groups[group_id]
        return total, next(transition_id for end, transition_id in ends if index < end)


def _branches_of(group: Group) -> _Branches:
    return _Branches(group.total, [(s.first + s.count, s.transition.id) for s in group.segments])
