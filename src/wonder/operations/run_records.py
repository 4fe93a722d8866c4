"""Runs as operations give them: one of a list, one in full, its events, its tokens, what it waits for."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from wonder.operations.outputs import Output
from wonder.operations.question_records import Question as Question
from wonder.operations.question_records import QuestionAnswer
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.records import QUARANTINED, TriggerOrigin
from wonder.storage.runs.triggering import StoredFiring

RunStatus = Literal["queued", "running", "waiting", "paused", "completed", "failed", "cancelled"]
ListedStatus = Literal["queued", "running", "waiting", "paused", "quarantined", "completed", "failed", "cancelled"]
"""The statuses under which runs are listed and counted: a quarantined run is paused, but is not listed as paused."""


class RunError(Output, frozen=True):
    """Why a run failed, and at which node."""

    node: str | None
    code: str
    message: str
    attempts: int
    retryable: bool
    details: Any


class TriggeredBy(Output, frozen=True):
    """The run whose trigger started another one."""

    run_id: str
    trigger: int
    item: int
    depth: int
    attempt: int


class RunSummary(Output, frozen=True):
    """A run without its tokens and events; times are milliseconds since 1970."""

    run_id: str
    status: str
    paused_reason: str | None
    workflow: str
    """The name of its definition."""
    workflow_def_id: str
    workflow_version: int
    parent_run_id: str | None
    triggered_by: TriggeredBy | None
    output: Any
    error: RunError | None
    created_ms: int
    completed_ms: int | None
    retried_as: str | None
    """The run that it was last retried as."""

    @property
    def is_quarantined(self) -> bool:
        """Whether it was set aside because its process died again and again while it was under way."""
        return self.paused_reason == QUARANTINED

    @property
    def has_ended(self) -> bool:
        """Whether it has its final status."""
        return self.completed_ms is not None


class RunOutcome(Output, frozen=True):
    """What has become of a run: what `wonder run --json` prints (CMD-4)."""

    run_id: str
    status: str
    output: Any
    error: RunError | None


class RunPage(Output, frozen=True):
    """Some runs of a list; `cursor` gets the next page, or is null at the end."""

    runs: list[RunSummary]
    cursor: str | None


class FailureReason(Output, frozen=True):
    """Why something failed."""

    code: str
    message: str


class TokenRecord(Output, frozen=True):
    """One execution of one node."""

    id: str
    node: str
    node_name: str | None
    """The node's name for people, if it has one."""
    status: str
    path_id: str
    created_ms: int
    took_ms: int | None
    attempts: int
    llm_tokens: int
    cost_usd: float
    waits_for: Any
    """What a suspended one waits for."""
    error: FailureReason | None
    """Why it failed, also where that was handled."""
    item: Any | UnsetType = UNSET
    """What its branch was made for, if a foreach made it."""


class ChildRun(Output, frozen=True):
    """A run that another has called."""

    run_id: str
    status: str


class AwaitedEvent(Output, frozen=True):
    """An event from outside that a run waits for."""

    run_id: str
    event: str
    key: str | None


class TriggerReason(Output, frozen=True):
    """Why a trigger failed or was skipped."""

    code: str
    message: str


class TriggerRecord(Output, frozen=True):
    """What became of one trigger of a run: `pending`, `triggered`, `skipped` or `failed`."""

    workflow_id: str = field(name="workflowId")
    status: str
    runs: int
    """How many runs it has started."""
    reason: TriggerReason | None
    skipped: int | UnsetType = UNSET
    """Items of which a ref was missing."""


class RunDetails(RunSummary, frozen=True, kw_only=True):
    """All that is shown of a run."""

    input: Any
    """What it was started with; null where its first events are gone."""
    schedule: str | None
    """The schedule that started it."""
    retry_of_run_id: str | None
    forked_from_run_id: str | None
    forked_from_sequence: int | None
    llm_tokens: int
    cost_usd: float
    tokens: list[TokenRecord]
    """The first of them."""
    tokens_total: int
    children: list[ChildRun]
    """The first of them."""
    children_total: int
    inbox: list[Question]
    answers: list[QuestionAnswer]
    """What people have answered to its questions, in the order in which they were asked; the first of them."""
    events: list[AwaitedEvent]
    functions: list[str]
    """Functions that no process which runs the engine has, and that tasks wait for."""
    calls_wait_until_ms: int | None
    """Until when calls of models wait, because the project has used up max_llm_calls_per_hour."""
    trigger_status: str | None = field(name="triggerStatus")
    triggers: list[TriggerRecord]
    triggered_run_ids: list[str] = field(name="triggeredExecutionIds")


class EventRecord(Output, frozen=True):
    """One event of a run."""

    sequence_number: int
    event_type: str
    timestamp: int
    recorded_ms: int
    """When it was recorded at the latest; unlike `timestamp`, it never goes back from one event to the next."""
    message: str
    """What happened, for people."""
    node: str | None
    token_id: str | None
    path_id: str | None
    metadata: Any
    attempts: int | None
    """How often the task was tried, where the event ends a node."""
    llm_tokens: int | None
    cost_usd: float | None


class FoundEvent(EventRecord, frozen=True, kw_only=True):
    """One event of any run of the project."""

    run_id: str


def summary_of(header: RunHeader, workflow: str) -> RunSummary:
    """Give a run as lists show it."""
    return RunSummary(**summary_fields(header, workflow))


def summary_fields(header: RunHeader, workflow: str) -> dict[str, Any]:
    """Give the fields that a run has in a list and in full."""
    return {
        "run_id": header.id,
        "status": header.status,
        "paused_reason": header.paused_reason,
        "workflow": workflow,
        "workflow_def_id": header.workflow_def_id,
        "workflow_version": header.workflow_version,
        "parent_run_id": header.parent_run_id,
        "triggered_by": _triggered_by(header.origin),
        "output": header.output,
        "error": RunError(**header.error.as_json()) if header.error else None,  # type: ignore[arg-type]  # its fields
        "created_ms": header.created_ms,
        "completed_ms": header.completed_ms,
        "retried_as": header.retried_as,
    }


def _triggered_by(origin: TriggerOrigin | None) -> TriggeredBy | None:
    if origin is None:
        return None
    return TriggeredBy(
        run_id=origin.triggered_by_run_id,
        trigger=origin.ordinal,
        item=origin.item_index,
        depth=origin.depth,
        attempt=origin.attempt,
    )


def trigger_record(firing: StoredFiring) -> TriggerRecord:
    """Give a trigger of a run that has completed."""
    failure = firing.failure
    return TriggerRecord(
        workflow_id=firing.workflow_id,
        status=firing.status,
        runs=firing.started,
        skipped=firing.skipped or UNSET,
        reason=TriggerReason(code=failure.code, message=failure.message) if failure else None,
    )
