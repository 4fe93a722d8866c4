"""Decide: a fact comes in, and out comes all that should happen because of it."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from wonder.engine.advance import go_on
from wonder.engine.budget_gate import ask_about_budget, asks_a_person, decide_on_budget, is_about_budget
from wonder.engine.control import (
    answer_gate,
    cancel_run,
    draw_conclusions,
    pause_run,
    queue_run,
    reach_timeout,
    requeue_run,
    resume_by_request,
    start_run,
)
from wonder.engine.decisions import (
    CancelTimer,
    Decision,
    DispatchTask,
    MoveToken,
    RecordEvent,
    SendMetric,
    SetTimer,
)
from wonder.engine.ending import WORKFLOW_TIMER, fail_run
from wonder.engine.events import (
    LATE_RESULT_IGNORED,
    NODE_STARTED,
    TIMER_FIRED,
    TOKEN_DISPATCHED,
    LateResultIgnored,
    NodeCompleted,
    TokenDispatched,
)
from wonder.engine.facts import (
    CancelRequested,
    ChildEnded,
    EventArrived,
    Fact,
    FunctionFound,
    GateAnswered,
    InputClaimed,
    InputDelegated,
    InputGiven,
    InputReleased,
    LimitReached,
    PauseRequested,
    ProcessLost,
    ResumeRequested,
    RunBroken,
    RunQueued,
    RunStarted,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    TimerFired,
    TriggerAdvanced,
    TurnContinued,
    WorkerLost,
)
from wonder.engine.failure import Failure
from wonder.engine.function_waits import (
    begin_with_function,
    give_up_function,
    is_missing,
    wait_for_function,
    waits_for_function,
)
from wonder.engine.gate_changes import change_question
from wonder.engine.joins import time_out_join
from wonder.engine.limits import evaluation_failure, over_limit
from wonder.engine.nodes import complete_node, fail_node
from wonder.engine.state import DISPATCHED, EXECUTING, SUSPENDED, RunState, Token
from wonder.engine.triggers import advance_trigger
from wonder.engine.turn import Turn
from wonder.engine.waits import answer, end_call, fire_wait_timer, wake_by_event
from wonder.language import steps

_WORKING = (DISPATCHED, EXECUTING)
# Shared, never changed: on the way of every task.
_STARTED = NODE_STARTED({})
# What needs no event where it changes nothing any more.
_UNTOLD_LATE = (
    TaskStarted,
    ProcessLost,
    TimerFired,
    CancelRequested,
    PauseRequested,
    ResumeRequested,
    LimitReached,
    TurnContinued,
)


def decide(
    run: RunState,
    fact: Fact,
    *,
    now_ms: int,
    new_id: Callable[[], str],
    over_time: Callable[[], bool] | None = None,
    hand_on: Callable[[list[Decision]], None] | None = None,
) -> list[Decision]:
    """Take a fact, and give the decisions that follow from it, in order; they are applied to `run` already.

    `over_time` says whether this turn has taken long enough; it is asked between pure nodes (CTL-20). `hand_on` is
    given the decisions of a long turn in parts, each when `run` is as its last decision leaves it; then the rest is
    returned. All of them belong together: if the turn fails, none of them may become durable.
    """
    turn = Turn(run, now_ms, new_id, over_time, hand_on)
    if run.ended:
        if type(fact) is TriggerAdvanced:
            advance_trigger(turn, fact)
        else:
            _take_late(turn, fact)
        return turn.decisions
    before = steps.begin(turn.steps)
    try:
        _TAKERS[type(fact)](turn, fact)
        go_on(turn)
    except steps.TooManySteps as error:
        # Whatever was looked at, all decisions so far are whole: the run ends after them.
        fail_run(turn, evaluation_failure(error))
        draw_conclusions(turn)
    finally:
        steps.end(before)
    return turn.decisions


def redispatch(run: RunState) -> list[DispatchTask]:
    """Give the dispatches of all tasks that workers had when the process ended: they run again (INV-4).

    Those with -1 losses were left to another process, and no worker has had them.
    """
    return [
        DispatchTask(
            token.id,
            token.node.id,
            token.node.task_id,
            token.node.task_version,
            token.node.queue,
            token.input,
            token.losses,
        )
        for token in run.tokens.values()
        if token.status in _WORKING
    ]


def _run_queued(turn: Turn, fact: RunQueued) -> None:
    queue_run(turn)


def _run_started(turn: Turn, fact: RunStarted) -> None:
    assert turn.run.status == "queued", "a run starts once"
    start_run(turn, fact.input)


def _task_started(turn: Turn, fact: TaskStarted) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is not None and token.status == DISPATCHED:
        turn.emit(MoveToken(token.id, EXECUTING))
        turn.record(_STARTED, token, fact.started_ms)


def _task_completed(turn: Turn, fact: TaskCompleted) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.status not in _WORKING:
        _take_late(turn, fact)
        return
    if token.status == DISPATCHED:
        turn.record(_STARTED, token, fact.started_ms)
    if fact.noted or fact.metrics:
        _keep_asides(turn, token, fact)
    # Attempts that were lost with their process count as well: they may have had effects (INV-4).
    told: NodeCompleted = {"attempts": fact.attempts + token.losses}
    if fact.steps is not None:
        told["steps"] = fact.steps
    if fact.output_cut is not None:
        told["output_cut"] = fact.output_cut
    complete_node(turn, token, fact.output, told, fact.tokens, fact.cost_usd)


def _task_failed(turn: Turn, fact: TaskFailed) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.status not in _WORKING:
        _take_late(turn, fact)
        return
    if is_missing(fact.failure):
        wait_for_function(turn, token, fact.failure)
        return
    if token.status == DISPATCHED:
        turn.record(_STARTED, token, fact.started_ms)
    if asks_a_person(fact.failure):
        # Its metrics are left out: the node begins again, and what is done again is counted once.
        _record_noted(turn, token, fact)
        ask_about_budget(turn, token, fact.failure, fact.tokens, fact.cost_usd)
        return
    _keep_asides(turn, token, fact)
    told: NodeCompleted = {} if fact.steps is None else {"steps": fact.steps}
    failure = fact.failure
    if token.losses:
        failure = replace(failure, attempts=failure.attempts + token.losses)
    fail_node(turn, token, failure, told, fact.tokens, fact.cost_usd)


def _keep_asides(turn: Turn, token: Token, fact: TaskCompleted | TaskFailed) -> None:
    """Keep what the actions of a task gave beside its result: events to record, and numbers for metrics."""
    _record_noted(turn, token, fact)
    for name, value, dimensions in fact.metrics:
        turn.emit(SendMetric(token.id, name, value, dimensions))


def _record_noted(turn: Turn, token: Token, fact: TaskCompleted | TaskFailed) -> None:
    for event in fact.noted:
        turn.record(event, token)


def _worker_lost(turn: Turn, fact: WorkerLost) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.status not in _WORKING:
        _take_late(turn, fact)
        return
    losses, node = token.losses + 1, token.node
    if losses > turn.run.limits.dispatches_max:
        message = f"the worker of {node.ref!r} was lost {losses} times; see why it ends, or give it more memory"
        fail_node(turn, token, Failure("WORKER_LOST", message, losses, retryable=True))
        return
    _dispatch_again(turn, token, losses, "worker")


def _process_lost(turn: Turn, fact: ProcessLost) -> None:
    """Dispatch what was lost with its process again, however often that happens: quarantine guards against more."""
    for token in list(turn.run.tokens.values()):
        # Of one that no process has had, nothing is lost.
        if token.status in _WORKING and token.id not in fact.kept:
            _dispatch_again(turn, token, token.losses + 1, "process" if token.losses >= 0 else None)
            turn.hand_on_if_many()


def _dispatch_again(turn: Turn, token: Token, losses: int, lost_with: Literal["process", "worker"] | None) -> None:
    node, told = token.node, TokenDispatched(losses=losses)
    if lost_with is not None:
        told["lost_with"] = lost_with
    turn.emit(DispatchTask(token.id, node.id, node.task_id, node.task_version, node.queue, token.input, losses))
    turn.record(TOKEN_DISPATCHED(told), token)


def _timer_fired(turn: Turn, fact: TimerFired) -> None:
    run = turn.run
    due_ms = run.timers.get(fact.key)
    if due_ms is None:
        return
    if turn.now_ms < due_ms:
        turn.emit(SetTimer(fact.key, due_ms))  # INV-6: never early
        return
    turn.emit(CancelTimer(fact.key))
    kind, _, rest = fact.key.partition(":")
    token = run.tokens.get(rest)
    turn.record(TIMER_FIRED({"key": fact.key}), token)
    if fact.key == WORKFLOW_TIMER:
        reach_timeout(turn)
    elif kind == "join":
        group_id, _, node_id = rest.partition(":")
        group = run.groups.get(group_id)
        if group is not None and group.open and not group.join(run.workflow.joins[node_id]).fired:
            time_out_join(turn, group, run.workflow.joins[node_id])
    elif token is not None and waits_for_function(token):
        give_up_function(turn, token)
    elif token is not None and token.status == SUSPENDED:
        fire_wait_timer(turn, token, kind)


def _input_given(turn: Turn, fact: InputGiven) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.wait is None or token.wait.get("item_id") != fact.item_id:
        _take_late(turn, fact)
    elif is_about_budget(token):
        decide_on_budget(turn, token, fact.answer, fact.by)
    else:
        answer(turn, token, fact.answer, fact.by)


def _question_changed(turn: Turn, fact: InputClaimed | InputReleased | InputDelegated) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.wait is None or token.wait.get("item_id") != fact.item_id:
        _take_late(turn, fact)
    else:
        change_question(turn, token, fact)


def _gate_answered(turn: Turn, fact: GateAnswered) -> None:
    if turn.run.gate_item_id == fact.item_id:
        answer_gate(turn, fact)
    else:
        _take_late(turn, fact)


def _child_ended(turn: Turn, fact: ChildEnded) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.wait is None or token.wait.get("child_run_id") != fact.child_run_id:
        _take_late(turn, fact)
    else:
        end_call(turn, token, fact.status, fact.output, fact.failure, fact.of_run)


def _event_arrived(turn: Turn, fact: EventArrived) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or token.wait is None or token.wait.get("kind") != "wait_for_event":
        _take_late(turn, fact)
    else:
        wake_by_event(turn, token, fact.payload)


def _function_found(turn: Turn, fact: FunctionFound) -> None:
    token = turn.run.tokens.get(fact.token_id)
    if token is None or not waits_for_function(token):
        _take_late(turn, fact)
    else:
        begin_with_function(turn, token)


def _cancel_requested(turn: Turn, fact: CancelRequested) -> None:
    cancel_run(turn, fact.reason)


def _pause_requested(turn: Turn, fact: PauseRequested) -> None:
    if turn.run.paused is None:
        pause_run(turn, fact.reason)


def _resume_requested(turn: Turn, fact: ResumeRequested) -> None:
    if turn.run.paused is None:
        return
    if turn.run.begun:
        resume_by_request(turn)
    else:
        requeue_run(turn)


def _run_broken(turn: Turn, fact: RunBroken) -> None:
    fail_run(turn, fact.failure)


def _limit_was_reached(turn: Turn, fact: LimitReached) -> None:
    fail_run(turn, over_limit(fact.limit, fact.found, fact.most))


def _turn_continued(turn: Turn, fact: TurnContinued) -> None:
    """Nothing happened but that time is given."""


def _take_late(turn: Turn, fact: Fact) -> None:
    """Record a result that changes nothing any more, with its cost (CTL-16)."""
    if isinstance(fact, _UNTOLD_LATE):
        return
    token_id: str | None = getattr(fact, "token_id", None)
    told: LateResultIgnored = {"fact": type(fact).__name__}
    if isinstance(fact, InputGiven | InputClaimed | InputReleased | InputDelegated | GateAnswered):
        told["item_id"] = fact.item_id
    name, metadata = LATE_RESULT_IGNORED(told)
    tokens: int | None = getattr(fact, "tokens", None)
    cost_usd: float | None = getattr(fact, "cost_usd", None)
    sequence = turn.run.sequence + 1
    turn.emit(RecordEvent(sequence, turn.step, name, turn.now_ms, None, token_id, None, metadata, tokens, cost_usd))


_TAKERS: dict[type, Callable[[Turn, Any], None]] = {
    RunQueued: _run_queued,
    RunStarted: _run_started,
    TaskStarted: _task_started,
    TaskCompleted: _task_completed,
    TaskFailed: _task_failed,
    WorkerLost: _worker_lost,
    ProcessLost: _process_lost,
    TimerFired: _timer_fired,
    InputGiven: _input_given,
    InputClaimed: _question_changed,
    InputReleased: _question_changed,
    InputDelegated: _question_changed,
    GateAnswered: _gate_answered,
    ChildEnded: _child_ended,
    EventArrived: _event_arrived,
    FunctionFound: _function_found,
    CancelRequested: _cancel_requested,
    PauseRequested: _pause_requested,
    ResumeRequested: _resume_requested,
    RunBroken: _run_broken,
    LimitReached: _limit_was_reached,
    TurnContinued: _turn_continued,
}
