"""Events: every type of event that a run can record, with its fields (EVT-1).

A type is a TypedDict, whose docstring says what has happened, and its name. `Turn.record` takes nothing else. To add a
type, declare it here, record it, list it in `checker/events.py`, give it its sentence in the view `event_log` by a
migration, and renew its page (`tests/support/events_page.py`).
JSON values are `Any`, because msgspec makes the JSON Schemas and can't follow a recursive alias.
"""

from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from wonder.engine.event_type import Event, EventType, Fields, UndeclaredEvent
from wonder.engine.human_events import (
    HumanInputAnswered,
    HumanInputClaimed,
    HumanInputCounted,
    HumanInputDelegated,
    HumanInputReleased,
    HumanInputReminded,
    HumanInputRequested,
    HumanInputWithdrawn,
    Item,
)

EVENTS: Final[dict[str, EventType[Any]]] = {}
"""All types by name, in the order of this module."""


def _declare(name: str, fields: type[Fields]) -> EventType[Fields]:
    declared = EventType(name, fields)
    EVENTS[name] = declared
    return declared


def check_event(event: Event) -> None:
    """Raise UndeclaredEvent unless an event has a declared type and the fields of that type."""
    name, metadata = event
    declared = EVENTS.get(name)
    if declared is None:
        raise UndeclaredEvent(name, "is not declared")
    if missing := declared.required - metadata.keys():
        raise UndeclaredEvent(name, f"lacks {', '.join(map(repr, sorted(missing)))}")
    if unknown := metadata.keys() - declared.required - declared.optional:
        raise UndeclaredEvent(name, f"has no field {', '.join(map(repr, sorted(unknown)))}")


_Error = Annotated[
    dict[str, Any], Meta(description="what went wrong: `code`, `message`, `node`, `attempts`, `retryable`, `details`")
]
_Group = Annotated[str, Meta(description="the fan-out, by the id of the token that fanned out")]
_Branch = Annotated[int, Meta(description="the number of the branch in its fan-out, from 0")]
_JoinNode = Annotated[str, Meta(description="the id of the node that the join leads to")]
_Steps = Annotated[Any, Meta(description="every execution of a step, with its times, attempts, usage and error")]
_Attempts = Annotated[int, Meta(description="how often it was tried: by its task, by its actions, and lost")]
_Output = Annotated[Any, Meta(description="what its task gave, by `record_io` of the project")]
_OutputCut = Annotated[
    dict[str, Any], Meta(description="of a large `output`: `bytes`, `start`, where it is `kept_as`, or why `lost`")
]
_FoundNothing = Annotated[
    list[str], Meta(description="queries of its `input_mapping` that found nothing where a schema requires a value")
]


class WorkflowQueued(TypedDict):
    """The run was accepted and waits for its start."""


class WorkflowStarted(TypedDict):
    """The run started."""

    input: Annotated[Any, Meta(description="the input, with defaults")]
    state: Annotated[Any, Meta(description="the state that it begins with")]


class ContextSnapshot(TypedDict):
    """A fork or a retry begins with this snapshot; those that `snapshot_policy` has taken make no event."""

    snapshot: Annotated[dict[str, Any], Meta(description="`run`, `tokens`, `groups` and `branches` as they are")]


class WorkflowWaiting(TypedDict):
    """Everything in the run waits for a person, a time, an event or a sub-workflow."""


class WorkflowPaused(TypedDict):
    """The run was paused: nothing more is dispatched."""

    reason: Annotated[str, Meta(description="`requested`, `timeout`, `quarantined` or a caller's own words")]
    left_ms: Annotated[int | None, Meta(description="what is left of the workflow's time-out, which stands still")]


class WorkflowResumed(TypedDict):
    """A paused run goes on."""


class WorkflowTimedOut(TypedDict):
    """The run took longer than its `timeout_ms`: it fails, or a person is asked."""

    timeout_ms: Annotated[int | None, Meta(description="the time that it had")]


class WorkflowExtended(TypedDict):
    """A run at its time-out was given more time."""

    extend_ms: Annotated[int | None, Meta(description="how much")]


class WorkflowCompleted(TypedDict):
    """The run ended well."""

    output: Annotated[Any, Meta(description="its output")]


class WorkflowFailed(TypedDict):
    """The run failed."""

    error: _Error


class WorkflowCancelled(TypedDict):
    """The run was cancelled."""

    reason: Annotated[str | None, Meta(description="why, if somebody said so")]


class _Triggered(TypedDict):
    trigger: Annotated[int, Meta(description="which trigger of the workflow, from 0")]
    workflow_id: Annotated[str, Meta(description="the workflow that it starts")]
    runs: Annotated[int, Meta(description="how many runs it started")]
    skipped: NotRequired[Annotated[int, Meta(description="how many items started no run")]]
    error: NotRequired[Annotated[dict[str, Any], Meta(description="`code` and `message`")]]


class TriggerFired(_Triggered):
    """A trigger of a completed run started its runs."""


class TriggerSkipped(_Triggered):
    """A trigger of a completed run started nothing, because something that it refers to is missing."""


class TriggerFailed(_Triggered):
    """A trigger of a completed run could not start all of its runs."""


class TokenSpawned(TypedDict):
    """A token was made."""

    parent: Annotated[str | None, Meta(description="the token that it comes from; null for the first one")]
    group: NotRequired[_Group]
    branch: NotRequired[_Branch]
    of: NotRequired[Annotated[int, Meta(description="how many branches the fan-out has")]]
    held: NotRequired[Annotated[bool, Meta(description="true if `max_parallel` holds it back")]]
    last_error: NotRequired[Annotated[dict[str, Any], Meta(description="the failure that led here: `_last_error`")]]


class TokenDispatched(TypedDict):
    """The task of a token was sent to a worker."""

    losses: NotRequired[
        Annotated[int, Meta(description="how often it was lost; -1 if it is left to a process that runs it")]
    ]
    lost_with: NotRequired[Annotated[Literal["process", "worker"], Meta(description="what it was lost with")]]
    found_nothing: NotRequired[_FoundNothing]


class TokenSuspended(TypedDict):
    """A token began to wait for a person, a time, an event, a sub-workflow, a decision about a budget or a function."""

    wait: Annotated[dict[str, Any], Meta(description="what it waits for, by `kind`")]
    found_nothing: NotRequired[_FoundNothing]


class TokenResumed(TypedDict):
    """A token waits no longer."""

    by: Annotated[str, Meta(description="`answer`, `timer`, `event`, `child`, `function`, or the code of its error")]
    again: NotRequired[Annotated[bool, Meta(description="true if the node begins anew")]]
    run_id: NotRequired[Annotated[str, Meta(description="the sub-workflow of the same key, whose output counts")]]


class TokenCompleted(TypedDict):
    """A token ended well."""

    late_at: NotRequired[Annotated[str, Meta(description="the join that had gone on without it")]]


class TokenFailed(TypedDict):
    """A token failed."""

    error: NotRequired[_Error]


class TokenTimedOut(TypedDict):
    """A token ended because its time, that of its join or that of the run was over."""

    error: NotRequired[_Error]


class TokenCancelled(TypedDict):
    """A token was stopped, because its run or its branch ended without it."""


class TokensEnded(TypedDict):
    """All live tokens of a run ended at once; there were too many for an event each."""

    status: Annotated[Literal["cancelled", "timed_out"], Meta(description="how they ended")]
    count: Annotated[int, Meta(description="how many there were")]


class NodeStarted(TypedDict):
    """A worker began with the task of a node."""


class NodeCompleted(TypedDict):
    """A node succeeded; `tokens` and `cost_usd` of the event say what it used."""

    attempts: NotRequired[_Attempts]
    steps: NotRequired[_Steps]
    output: NotRequired[_Output]
    output_cut: NotRequired[_OutputCut]


class NodeFailed(TypedDict):
    """A node failed; `tokens` and `cost_usd` of the event say what it used."""

    error: _Error
    attempts: NotRequired[_Attempts]
    steps: NotRequired[_Steps]
    output: NotRequired[_Output]
    output_cut: NotRequired[_OutputCut]


class TransitionsEvaluated(TypedDict):
    """The transitions out of a node were looked at."""

    tiers: Annotated[
        list[Any],
        Meta(description="each `priority` that was looked at, and whether its `candidates` matched"),
    ]
    loops: NotRequired[
        Annotated[list[list[Any]], Meta(description="`[transition, times taken, first time in ms]` of limited ones")]
    ]


class FanOutStarted(TypedDict):
    """A token became a group of branches."""

    total: Annotated[int, Meta(description="how many branches")]
    branches: Annotated[
        list[dict[str, Any]], Meta(description="`transition`, `count` and, of a foreach, `items`, in their order")
    ]
    group: NotRequired[Annotated[str, Meta(description="the fan-out around it")]]
    branch: NotRequired[Annotated[int, Meta(description="the branch around it")]]


class FanInWaiting(TypedDict):
    """A token or a branch arrived at a join."""

    join: _JoinNode
    group: _Group
    branch: _Branch
    arrived: Annotated[bool, Meta(description="whether all of the branch is there, so that it counts")]


class FanInCompleted(TypedDict):
    """A join went on with the branches that had arrived."""

    group: _Group
    join: _JoinNode
    arrived: Annotated[int, Meta(description="how many branches it merged")]
    total: Annotated[int, Meta(description="how many branches there were")]
    abandoned: NotRequired[Annotated[list[int], Meta(description="the branches that run on and no longer count")]]


class FanInFailed(TypedDict):
    """A join failed: too few branches can arrive, it took too long, or their outputs can't be merged."""

    group: _Group
    join: _JoinNode
    error: _Error


class ContextUpdated(TypedDict):
    """The run's state and output were written or, with `group` and `branch`, a branch's output."""

    group: NotRequired[_Group]
    branch: NotRequired[_Branch]
    changes: Annotated[list[Any], Meta(description="`[path, value]` of each place, in order")]
    replaced: NotRequired[
        Annotated[Any, Meta(description="where the branch has written whole objects by now, if that has changed")]
    ]


class TimerSet(TypedDict):
    """A timer was set."""

    key: Annotated[str, Meta(description="its name in the run: `KIND:TOKEN`, `join:GROUP:NODE` or `workflow`")]
    due_ms: Annotated[int, Meta(description="when it is due, in milliseconds since 1970")]


class TimerFired(TypedDict):
    """A timer was due."""

    key: Annotated[str, Meta(description="its name in the run")]


class LateResultIgnored(TypedDict):
    """A result came too late to count; `tokens` and `cost_usd` of the event say what it used all the same."""

    fact: Annotated[str, Meta(description="what came: `TaskCompleted`, `TaskFailed`, `InputGiven`, …")]
    item_id: NotRequired[Item]


class ArtifactWritten(TypedDict):
    """A step stored an artifact."""

    step: Annotated[str, Meta(description="the ref of the step")]
    artifact_id: str
    content_type: str
    size_bytes: int


class LlmCallCompleted(TypedDict):
    """A call of a model ended, well or with an `error`; each attempt has its own."""

    profile: Annotated[str, Meta(description="the name of the model profile")]
    model: Annotated[str, Meta(description="the provider and the model's id: `anthropic/claude-x`")]
    duration_ms: Annotated[int, Meta(description="how long the answer took, without the wait for a budget")]
    input_tokens: int
    output_tokens: int
    cost_usd: float
    error: NotRequired[Annotated[dict[str, Any], Meta(description="`code` and `message`")]]


class BudgetAlert(TypedDict):
    """A budget has reached its `alert_threshold_cents` for the month."""

    scope: Annotated[Literal["project", "workspace"], Meta(description="whose budget it is")]
    id: Annotated[str, Meta(description="the id of that project or workspace")]
    name: Annotated[str, Meta(description="its name")]
    month: Annotated[str, Meta(description="as in `2026-11`")]
    threshold_cents: int


WORKFLOW_QUEUED: Final = _declare("workflow_queued", WorkflowQueued)
WORKFLOW_STARTED: Final = _declare("workflow_started", WorkflowStarted)
CONTEXT_SNAPSHOT: Final = _declare("context_snapshot", ContextSnapshot)
WORKFLOW_WAITING: Final = _declare("workflow_waiting", WorkflowWaiting)
WORKFLOW_PAUSED: Final = _declare("workflow_paused", WorkflowPaused)
WORKFLOW_RESUMED: Final = _declare("workflow_resumed", WorkflowResumed)
WORKFLOW_TIMED_OUT: Final = _declare("workflow_timed_out", WorkflowTimedOut)
WORKFLOW_EXTENDED: Final = _declare("workflow_extended", WorkflowExtended)
WORKFLOW_COMPLETED: Final = _declare("workflow_completed", WorkflowCompleted)
WORKFLOW_FAILED: Final = _declare("workflow_failed", WorkflowFailed)
WORKFLOW_CANCELLED: Final = _declare("workflow_cancelled", WorkflowCancelled)
TRIGGER_FIRED: Final = _declare("trigger_fired", TriggerFired)
TRIGGER_SKIPPED: Final = _declare("trigger_skipped", TriggerSkipped)
TRIGGER_FAILED: Final = _declare("trigger_failed", TriggerFailed)
TOKEN_SPAWNED: Final = _declare("token_spawned", TokenSpawned)
TOKEN_DISPATCHED: Final = _declare("token_dispatched", TokenDispatched)
TOKEN_SUSPENDED: Final = _declare("token_suspended", TokenSuspended)
TOKEN_RESUMED: Final = _declare("token_resumed", TokenResumed)
TOKEN_COMPLETED: Final = _declare("token_completed", TokenCompleted)
TOKEN_FAILED: Final = _declare("token_failed", TokenFailed)
TOKEN_TIMED_OUT: Final = _declare("token_timed_out", TokenTimedOut)
TOKEN_CANCELLED: Final = _declare("token_cancelled", TokenCancelled)
TOKENS_ENDED: Final = _declare("tokens_ended", TokensEnded)
NODE_STARTED: Final = _declare("node_started", NodeStarted)
NODE_COMPLETED: Final = _declare("node_completed", NodeCompleted)
NODE_FAILED: Final = _declare("node_failed", NodeFailed)
TRANSITIONS_EVALUATED: Final = _declare("transitions_evaluated", TransitionsEvaluated)
FAN_OUT_STARTED: Final = _declare("fan_out_started", FanOutStarted)
FAN_IN_WAITING: Final = _declare("fan_in_waiting", FanInWaiting)
FAN_IN_COMPLETED: Final = _declare("fan_in_completed", FanInCompleted)
FAN_IN_FAILED: Final = _declare("fan_in_failed", FanInFailed)
CONTEXT_UPDATED: Final = _declare("context_updated", ContextUpdated)
TIMER_SET: Final = _declare("timer_set", TimerSet)
TIMER_FIRED: Final = _declare("timer_fired", TimerFired)
HUMAN_INPUT_REQUESTED: Final = _declare("human_input_requested", HumanInputRequested)
HUMAN_INPUT_CLAIMED: Final = _declare("human_input_claimed", HumanInputClaimed)
HUMAN_INPUT_RELEASED: Final = _declare("human_input_released", HumanInputReleased)
HUMAN_INPUT_DELEGATED: Final = _declare("human_input_delegated", HumanInputDelegated)
HUMAN_INPUT_REMINDED: Final = _declare("human_input_reminded", HumanInputReminded)
HUMAN_INPUT_COUNTED: Final = _declare("human_input_counted", HumanInputCounted)
HUMAN_INPUT_ANSWERED: Final = _declare("human_input_answered", HumanInputAnswered)
HUMAN_INPUT_WITHDRAWN: Final = _declare("human_input_withdrawn", HumanInputWithdrawn)
LATE_RESULT_IGNORED: Final = _declare("late_result_ignored", LateResultIgnored)
ARTIFACT_WRITTEN: Final = _declare("artifact_written", ArtifactWritten)
LLM_CALL_COMPLETED: Final = _declare("llm_call_completed", LlmCallCompleted)
BUDGET_ALERT: Final = _declare("budget_alert", BudgetAlert)
