"""Ending early: tokens that are stopped, scopes that fail, and the run that ends with them (CTL-10, CTL-15a)."""

from typing import assert_never

from wonder.engine.compiled import ALL
from wonder.engine.decisions import (
    AbortTask,
    CancelTimer,
    ControlChild,
    EndBranch,
    EndGroup,
    EndLive,
    EndRun,
    RetryRun,
    StopAwaiting,
    WithdrawInput,
)
from wonder.engine.events import HUMAN_INPUT_WITHDRAWN, TOKENS_ENDED, WORKFLOW_FAILED, WORKFLOW_TIMED_OUT
from wonder.engine.failure import Failure
from wonder.engine.limits import is_run_limit
from wonder.engine.state import (
    CANCELLED,
    DISPATCHED,
    EXECUTING,
    SUSPENDED,
    TIMED_OUT,
    UNDER_WAY,
    WAITING_FOR_SIBLINGS,
    EarlyEnd,
    EndStatus,
    Scope,
    Token,
)
from wonder.engine.turn import Turn
from wonder.engine.wait_kinds import wait_kind

WORKFLOW_TIMER = "workflow"


def join_timer(group_id: str, node_id: str) -> str:
    """Name the timer of a fan-in."""
    return f"join:{group_id}:{node_id}"


def stop_wait(turn: Turn, token: Token) -> None:
    """Take back what a suspended token asked for: timers, an inbox item, an event."""
    wait, kind = token.wait or {}, wait_kind(token.id, token.wait)
    turn.cancel_timer(f"task:{token.id}")
    turn.cancel_timer(f"action:{token.id}")
    match kind:
        case "human_input" | "budget":
            turn.cancel_timer(f"deadline:{token.id}")
            turn.cancel_timer(f"remind:{token.id}")
            turn.emit(WithdrawInput(str(wait["item_id"])))
            turn.record(HUMAN_INPUT_WITHDRAWN({"item_id": str(wait["item_id"])}), token)
        case "workflow_call":
            turn.emit(ControlChild(str(wait["child_run_id"]), "cancel"))
        case "wait_for_event":
            turn.cancel_timer(f"event:{token.id}")
            turn.emit(StopAwaiting(token.id))
        case "sleep":
            turn.cancel_timer(f"sleep:{token.id}")
        case "function":
            turn.cancel_timer(f"function:{token.id}")
        case _:
            assert_never(kind)


def stop_token(turn: Turn, token: Token, status: EndStatus) -> None:
    """End a token that has not come to its own end."""
    if token.status in (DISPATCHED, EXECUTING):
        turn.emit(AbortTask(token.id))
    elif token.status == SUSPENDED:
        stop_wait(turn, token)
    turn.end_token(token, status)


def stop_scope(turn: Turn, scope: Scope, status: EndStatus, waiting_status: EndStatus | None = None) -> None:
    """End all tokens of a scope and of all that is nested in it; those at a join may get a status of their own."""
    around = [scope]
    while around:
        here = around.pop()
        for token in here.tokens:
            waits = waiting_status is not None and token.status == WAITING_FOR_SIBLINGS
            stop_token(turn, token, waiting_status if waits and waiting_status else status)
        for group in list((here.groups or {}).values()):
            for state, join in [(group.joins.get(join.index), join) for join in group.all_joins]:
                if state is not None and not state.fired:
                    turn.cancel_timer(join_timer(group.id, join.node.id))
            around += [branch for branch in group.branches if branch.live]
            if group.open:
                turn.emit(EndGroup(group.id))
            turn.closable[group.id] = group


def fail_scope(turn: Turn, scope: Scope, failure: Failure) -> None:
    """Fail a scope, and those around it until one can do without it (CTL-15a)."""
    while scope.group is not None and not is_run_limit(failure):
        group = scope.group
        assert scope.segment is not None
        stop_scope(turn, scope, CANCELLED)
        turn.closable[group.id] = group
        joins = turn.run.workflow.joins_of(group.node, scope.segment.transition)
        tolerant = bool(joins) and all(join.needed != ALL for join in joins)
        if scope.abandoned or tolerant:
            if scope.status == UNDER_WAY:
                turn.emit(EndBranch(group.id, scope.index, arrived=False, failure=failure))
            free_slot(turn, scope)
            turn.groups.append(group)
            return
        scope = group.scope
    fail_run(turn, failure)


def free_slot(turn: Turn, branch: Scope) -> None:
    """Let the next held branch of a foreach begin, now that this one is done (CTL-5a)."""
    segment = branch.segment
    if segment is not None and segment.transition.foreach and segment.transition.foreach.max_parallel is not None:
        turn.run.note_startable(segment)


def fail_run(turn: Turn, failure: Failure, status: EarlyEnd = CANCELLED) -> None:
    """End the run as failed, and with it all that is live."""
    end_live(turn, status)
    turn.record(WORKFLOW_FAILED({"error": failure.as_json()}))
    turn.emit(EndRun("failed", None, failure))
    if turn.run.limits.retries_left:
        turn.emit(RetryRun())


def time_out_run(turn: Turn) -> None:
    """End the run because its time is over (RET-3)."""
    timeout_ms = turn.run.timeout_ms
    turn.record(WORKFLOW_TIMED_OUT({"timeout_ms": timeout_ms}))
    whose = "its timeout_ms" if turn.run.limits.timeout_ms is None else "its trigger's workflow_timeout_ms"
    message = f"the run took longer than {whose} of {timeout_ms:,}; give it more time, or on_timeout: human_gate"
    fail_run(turn, Failure("WORKFLOW_TIMEOUT", message), TIMED_OUT)


def end_live(turn: Turn, status: EarlyEnd) -> None:
    """End all tokens, timers and gates of a run that is about to end."""
    run = turn.run
    if len(run.tokens) > run.limits.ended_singly_max:
        _end_all(turn, status)
        return
    stop_scope(turn, run.root, status)
    for key in list(run.timers):
        turn.emit(CancelTimer(key))
    if run.gate_item_id is not None:
        turn.emit(WithdrawInput(run.gate_item_id))
        turn.record(HUMAN_INPUT_WITHDRAWN({"item_id": run.gate_item_id}))


def _end_all(turn: Turn, status: EarlyEnd) -> None:
    """End very many tokens with one decision and one event: one of each for each token would take gigabytes."""
    run = turn.run
    for token in run.tokens.values():
        if token.status in (DISPATCHED, EXECUTING):
            turn.decisions.append(AbortTask(token.id))
        elif token.wait is not None and token.wait.get("kind") == "workflow_call":
            turn.decisions.append(ControlChild(str(token.wait["child_run_id"]), "cancel"))
    count = len(run.tokens)
    turn.emit(EndLive(status, count))
    turn.record(TOKENS_ENDED({"status": status, "count": count}))
    turn.closable.clear()
    turn.scopes.clear()
    turn.groups.clear()
