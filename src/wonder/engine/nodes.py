"""Nodes: how a token begins, how its node succeeds, and how it fails (FIL-2, CTL-15)."""

from typing import Any

from wonder.engine.contexts import apply_draft, draft_for, write_failure, write_output
from wonder.engine.decisions import DispatchTask, RecordEvent, SendMetric, WarnOfMapping
from wonder.engine.ending import fail_run
from wonder.engine.event_type import Event
from wonder.engine.events import NODE_COMPLETED, NODE_FAILED, TOKEN_DISPATCHED, NodeCompleted, NodeFailed
from wonder.engine.failure import Failure
from wonder.engine.limits import evaluation_failure, is_run_limit
from wonder.engine.pure import Metric
from wonder.engine.routing import route_failure, route_success
from wonder.engine.state import FAILED, TIMED_OUT, Token
from wonder.engine.turn import Turn
from wonder.engine.views import build_view, view_from
from wonder.engine.writing import Draft, json_size
from wonder.errors import WonderError
from wonder.language.paths import MISSING
from wonder.language.values import JsonValue

# What a task takes from a context of fewer bytes is not worth measuring.
_SMALL_CONTEXT = 1_000
# So many queries that found nothing are told of one node.
_MISSED_MAX = 10
# Shared, never changed: on the way of every task.
_DISPATCHED = TOKEN_DISPATCHED({})
_LEFT = TOKEN_DISPATCHED({"losses": -1})


def dispatch(turn: Turn, token: Token) -> None:
    """Send the task of a token to a worker."""
    task_input, missed = node_input(turn, token)
    if isinstance(task_input, Failure):
        fail_node(turn, token, task_input)
        return
    node = token.node
    if turn.run.context_bytes > _SMALL_CONTEXT:
        # A hundred thousand branches that each take all of a large context are too much for one turn.
        turn.bytes_left -= json_size(task_input)
    losses, event = token.losses, _DISPATCHED
    if turn.run.is_elsewhere:
        # The process that runs it later has to know that none has had it before.
        losses, event = -1, _LEFT
    if missed:
        event = TOKEN_DISPATCHED({"found_nothing": list(missed), **({"losses": losses} if event is _LEFT else {})})
        turn.emit(WarnOfMapping(token.id, node.id, missed))
    turn.emit(DispatchTask(token.id, node.id, node.task_id, node.task_version, node.queue, task_input, losses))
    turn.record(event, token)


def node_input(turn: Turn, token: Token) -> tuple[JsonValue | Failure, tuple[str, ...]]:
    """Give the input of a token's task, or why its mapping can't be carried out.

    With it, the queries that found nothing although a schema requires the value (CTX-5c).
    """
    node, scope = token.node, token.scope
    with_branch = node.input_reads_branch and scope.group is not None
    view = view_from(turn.run, scope, token.last_error, with_branch=with_branch)
    try:
        task_input = node.input_mapping.apply(view)
    except WonderError as error:
        return evaluation_failure(error), ()
    if not node.promised:
        return task_input, ()
    missed = [query.text for query in node.promised if query.find(view) is MISSING]
    return task_input, tuple(missed[:_MISSED_MAX])


def run_pure(turn: Turn, token: Token) -> None:
    """Carry out a pure node, which needs no worker."""
    run, scope, action = turn.run, token.scope, token.node.pure
    assert action is not None
    with_branch = action.reads_branch and scope.group is not None

    def view_of(draft: Draft) -> dict[str, Any]:
        roots = draft.roots
        state, own = roots.get("state", run.state), (roots.get("branch", scope.output), draft.replaced)
        return build_view(run.input, state, roots["output"], scope, own, token.last_error, with_branch=with_branch)

    draft = draft_for(turn, scope)
    try:
        outcome = action.run(draft, view_of)
    except WonderError as error:
        outcome = write_failure(error)
    if isinstance(outcome, Metric):
        turn.emit(SendMetric(token.id, outcome.name, outcome.value, outcome.dimensions))
        outcome = None
    if outcome is None:
        outcome = apply_draft(turn, scope, draft, token)
    told: NodeCompleted = {}
    if outcome is not None:
        if not is_tolerated(token, outcome):
            fail_node(turn, token, outcome)
            return
        told = tolerated(token, outcome)
    turn.record(NODE_COMPLETED(told), token)
    route_success(turn, token)


def is_tolerated(token: Token, failure: Failure) -> bool:
    """Say whether a node completes although its sole step, which the engine carries out, has failed (TSK-3)."""
    of_task = failure.code == "TASK_TIMEOUT"
    return token.node.tolerated_step is not None and not of_task and not is_run_limit(failure)


def tolerated(token: Token, failure: Failure) -> NodeCompleted:
    """Give what is recorded of a node that completes although its step has failed."""
    error = {"code": failure.code, "message": failure.message, "retryable": failure.retryable}
    step = {"ref": token.node.tolerated_step, "attempt": 1, "outcome": "failed", "attempts": 1}
    return {"steps": [{**step, "error": {**error, "details": failure.details}}]}


def complete_node(
    turn: Turn,
    token: Token,
    output: JsonValue,
    told: NodeCompleted,
    tokens: int | None = None,
    cost_usd: float | None = None,
) -> None:
    """Take the output of a node's task, and send the token on."""
    node, record_io = token.node, turn.run.limits.record_io
    if record_io == "all" and "output_cut" not in told:
        told["output"] = output
    if node.writes is not None:
        failure = write_output(turn, token.scope, node.writes, output, token)
        if failure is not None:
            if record_io == "failed":
                told["output"] = output
            fail_node(turn, token, failure, told, tokens, cost_usd)
            return
    if tokens is None and cost_usd is None:
        turn.record(NODE_COMPLETED(told), token)
    else:
        record_with_cost(turn, NODE_COMPLETED(told), token, tokens, cost_usd)
    route_success(turn, token)


def fail_node(
    turn: Turn,
    token: Token,
    failure: Failure,
    told: NodeCompleted | None = None,
    tokens: int | None = None,
    cost_usd: float | None = None,
) -> None:
    """Take the failure of a node's task, and route it or fail its scope."""
    failure = failure.at(token.node.ref)
    if is_run_limit(failure):
        fail_run(turn, failure)
        return
    failed: NodeFailed = {"error": failure.as_json(), **(told or {})}
    record_with_cost(turn, NODE_FAILED(failed), token, tokens, cost_usd)
    route_failure(turn, token, failure, TIMED_OUT if failure.code == "TASK_TIMEOUT" else FAILED)


def record_with_cost(turn: Turn, event: Event, token: Token, tokens: int | None, cost_usd: float | None) -> None:
    """Record an event of a token with what was spent."""
    type, metadata = event
    turn.emit(
        RecordEvent(
            turn.run.sequence + 1,
            turn.step,
            type,
            turn.now_ms,
            token.node.id,
            token.id,
            token.path_id,
            metadata,
            tokens,
            cost_usd,
        )
    )
