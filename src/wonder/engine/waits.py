"""Waits: tokens that wait durably for a person, a time, an event or a sub-workflow, and what wakes them (LAY-3)."""

from typing import Any, assert_never

from wonder.engine.decisions import (
    AwaitEvent,
    RequestInput,
    StartChild,
    SuspendToken,
    UpdateInput,
    WarnOfMapping,
    WithdrawInput,
)
from wonder.engine.ending import stop_wait
from wonder.engine.events import (
    HUMAN_INPUT_ANSWERED,
    HUMAN_INPUT_REQUESTED,
    HUMAN_INPUT_WITHDRAWN,
    TOKEN_RESUMED,
    TOKEN_SUSPENDED,
    NodeCompleted,
    TokenSuspended,
)
from wonder.engine.failure import Failure
from wonder.engine.gate_changes import count_answer, gathered_evidence, progress_of, remind
from wonder.engine.gates import check_name
from wonder.engine.limits import CUT_SHOWN, RECORDED_MAX, evaluation_failure
from wonder.engine.nodes import complete_node, fail_node, is_tolerated, node_input, tolerated
from wonder.engine.quorums import QuorumRule, Verdict, outcome
from wonder.engine.state import RunEnd, Token
from wonder.engine.turn import Turn
from wonder.engine.views import view_from
from wonder.engine.wait_kinds import UnknownWait
from wonder.engine.waiting_tasks import CallWait, EventWait, HumanWait, SleepWait, WaitingTask
from wonder.errors import WonderError
from wonder.language.keys import check_key
from wonder.language.values import JsonValue, encode_json

_OF_CALLS = ("CHILD_FAILED", "CHILD_CANCELLED")


def begin_wait(turn: Turn, token: Token) -> None:
    """Begin the task of a node whose sole step waits."""
    task_input, missed = node_input(turn, token)
    task = token.node.wait
    assert task is not None
    if isinstance(task_input, Failure):
        fail_node(turn, token, task_input)
        return
    if missed:
        turn.emit(WarnOfMapping(token.id, token.node.id, missed))
    refusal: Failure | None = None
    try:
        if (failure := task.input_failure(task_input)) is not None:
            fail_node(turn, token, failure)
            return
        outcome = task.outcome(task_input)
        if outcome == "continue":
            refusal = _suspend(turn, token, task, task_input, missed)
    except WonderError as error:
        outcome, refusal = "continue", evaluation_failure(error)
    match outcome:
        case "continue":
            pass
        case "fail":
            refusal = Failure("STEP_CONDITION", f"the condition of the step {task.step_ref!r} says that it fails")
        case "skip" | "succeed":
            _end(turn, token, *task.ended({}))
        case _:
            assert_never(outcome)
    if refusal is not None:
        _end_in_failure(turn, token, refusal)


def _suspend(
    turn: Turn, token: Token, task: WaitingTask, task_input: JsonValue, missed: tuple[str, ...]
) -> Failure | None:
    """Let a token wait; gives why it can't."""
    action_input = task.action_input(task_input)
    if isinstance(action_input, Failure):
        return action_input
    match task.wait:
        case HumanWait() as wait:
            _ask(turn, token, wait, task_input, action_input, missed)
        case SleepWait() as wait:
            due_ms = wait.due_ms(action_input, turn.now_ms)
            _sleep(turn, token, {"kind": "sleep", "due_ms": due_ms}, task_input, missed)
            turn.set_timer(f"sleep:{token.id}", due_ms, token)
        case EventWait() as wait:
            key = None if wait.key is None else wait.key.render(_names(action_input))
            if key is not None:
                check_key("the key of the event", key)
            _sleep(turn, token, {"kind": "wait_for_event", "event": wait.event, "key": key}, task_input, missed)
            turn.emit(AwaitEvent(token.id, wait.event, key))
            if wait.timeout_ms is not None:
                turn.set_timer(f"event:{token.id}", turn.now_ms + wait.timeout_ms, token)
        case CallWait() as wait:
            view = view_from(turn.run, token.scope, token.last_error, with_branch=token.scope.group is not None)
            called = wait.resolve(view)
            if isinstance(called, Failure):
                return called
            key = _key(turn, token, task, action_input)
            child_run_id = turn.new_id()
            waits: dict[str, JsonValue] = {"kind": "workflow_call", "child_run_id": child_run_id}
            _sleep(turn, token, waits if key is None else {**waits, "key": key}, task_input, missed)
            turn.emit(call_order(token, task, wait, child_run_id, called, action_input))
        case _:
            assert_never(task.wait)
    if task.timeout_ms is not None:
        turn.set_timer(f"task:{token.id}", turn.now_ms + task.timeout_ms, token)
    if task.action_timeout_ms is not None:
        turn.set_timer(f"action:{token.id}", turn.now_ms + task.action_timeout_ms, token)
    return None


def _key(turn: Turn, token: Token, task: WaitingTask, action_input: JsonValue) -> str | None:
    if task.idempotency is None:
        return None
    return task.idempotency.key(action_input, turn.run.id, token.node.ref, token.path_id)


def call_order(
    token: Token,
    task: WaitingTask,
    wait: CallWait,
    child_run_id: str,
    called: tuple[str, int | None],
    action_input: JsonValue,
) -> StartChild:
    """Make the order to start the sub-workflow that a token waits for."""
    ttl_seconds = task.idempotency.ttl_seconds if task.idempotency else None
    key = (token.wait or {}).get("key")
    return StartChild(
        token.id,
        child_run_id,
        *called,
        action_input,
        wait.inherit_artifacts,
        wait.by_name,
        key if isinstance(key, str) else None,
        ttl_seconds,
    )


def _ask(
    turn: Turn,
    token: Token,
    wait: HumanWait,
    task_input: JsonValue,
    action_input: JsonValue,
    missed: tuple[str, ...],
) -> None:
    names = _names(action_input)
    prompt = wait.prompt.render(names)
    item_id = turn.new_id()
    due_ms = None if wait.deadline_ms is None else turn.now_ms + wait.deadline_ms
    waits: dict[str, JsonValue] = {"kind": "human_input", "item_id": item_id}
    if wait.assignee is not None and (assignee := wait.assignee.render(names).strip()):
        check_name(item_id, assignee)
        waits["assignee"] = assignee
    if wait.quorum is not None:
        waits |= {"approvers": [*wait.quorum.approvers], "answers": []}
    evidence = gathered_evidence(turn, token, wait)
    _sleep(turn, token, waits, task_input, missed)
    turn.emit(
        RequestInput(
            item_id,
            token.id,
            "human_input",
            prompt,
            wait.schema,
            action_input,
            due_ms,
            wait.assigned_role,
            evidence,
            wait.rules,
            progress_of(waits) or None,
        )
    )
    turn.record(HUMAN_INPUT_REQUESTED({"item_id": item_id, "prompt": prompt}), token)
    if due_ms is not None:
        turn.set_timer(f"deadline:{token.id}", due_ms, token)
    if wait.remind_ms is not None:
        turn.set_timer(f"remind:{token.id}", turn.now_ms + wait.remind_ms, token)


def answer(turn: Turn, token: Token, value: JsonValue, by: str | None) -> None:
    """Go on with a person's answer, or count it if several are asked."""
    task, wait = token.node.wait, token.wait or {}
    assert task is not None
    assert isinstance(task.wait, HumanWait)
    if task.wait.quorum is not None:
        assert by is not None, "an approver is known by name"
        _answer_of_several(turn, token, task.wait.quorum, count_answer(turn, token, value, by), by)
        return
    turn.record(HUMAN_INPUT_ANSWERED({"item_id": str(wait["item_id"]), "by": by}), token)
    _end_asking(turn, token)
    _wake(turn, token, "answer", value)


def _answer_of_several(turn: Turn, token: Token, rule: QuorumRule, wait: dict[str, Any], by: str) -> None:
    """Go on once enough approvers agree, or can't any more (ACT-4a)."""
    item_id, answers = str(wait["item_id"]), wait["answers"]
    verdict = rule.judge(answers, len(wait["approvers"]))
    if verdict is None:
        turn.emit(UpdateInput(item_id, progress_of(wait)))
        return
    decided = outcome(verdict, answers)
    turn.emit(UpdateInput(item_id, progress_of(wait), decided))
    turn.record(HUMAN_INPUT_ANSWERED({"item_id": item_id, "decided_by": verdict.decided_by, "by": by}), token)
    _end_asking(turn, token)
    if verdict.has_answer:
        _wake(turn, token, "answer", decided)
        return
    message = (
        f"the approvers of {token.node.ref!r} disagree: {rule.needed} must give the same answer, and that can't be "
        f"reached any more after {len(answers)} of {len(wait['approvers'])}"
    )
    _give_up(turn, token, Failure("HUMAN_INPUT_DISAGREEMENT", message, 1, details={"answers": answers}))


def _end_asking(turn: Turn, token: Token) -> None:
    turn.cancel_timer(f"deadline:{token.id}")
    turn.cancel_timer(f"remind:{token.id}")


def timers_of_event_wait(token_id: str) -> tuple[str, ...]:
    """Give the keys of the timers that may end a wait for an event."""
    return f"event:{token_id}", f"action:{token_id}", f"task:{token_id}"


def wake_by_event(turn: Turn, token: Token, payload: JsonValue) -> None:
    """Go on with the payload of the event that a token waited for."""
    turn.cancel_timer(f"event:{token.id}")
    _wake(turn, token, "event", payload)


def end_call(
    turn: Turn, token: Token, status: RunEnd, output: JsonValue, failure: Failure | None, of_run: str | None = None
) -> None:
    """Go on with what a sub-workflow gave (ACT-10); `of_run` if that was called with the same key before (RET-4)."""
    task, wait = token.node.wait, token.wait or {}
    assert task is not None
    assert isinstance(task.wait, CallWait)
    match status:
        case "completed":
            _wake(turn, token, "child", output, of_run)
            return
        case "failed":
            code = "CHILD_FAILED"
        case "cancelled":
            code = "CHILD_CANCELLED"
        case _:
            assert_never(status)
    run_id = wait["child_run_id"]
    why = failure.message if failure else f"it was {status}"
    if task.wait.catch:
        error = {"code": failure.code if failure else code, "message": why, "run_id": run_id}
        _wake(turn, token, "child", {"error": error})
        return
    details: JsonValue = {"run_id": run_id, "error": failure.as_json() if failure else None}
    _give_up(turn, token, Failure(code, _cause_and_way(details), 1, details=details))


def _cause_and_way(details: Any) -> str:
    """Say why a sub-workflow has failed, however deep the cause lies, and then once which runs lead to it."""
    way, error = [str(details["run_id"])], details["error"]
    while error is not None and error["code"] in _OF_CALLS and isinstance(error["details"], dict):
        way.append(str(error["details"]["run_id"]))
        error = error["details"]["error"]
    runs = " → ".join(way)
    if error is None:
        return f"the sub-workflow {runs} was cancelled"
    node = f", at {error['node']!r}" if error["node"] else ""
    return f"{error['message']} (in the sub-workflow {runs}{node})"


def fire_wait_timer(turn: Turn, token: Token, kind: str) -> None:
    """Draw the consequence of a timer that a waiting token had set."""
    task = token.node.wait
    assert task is not None
    match kind:
        case "sleep":
            _wake(turn, token, "timer", {})
        case "task":
            message = f"the task of {token.node.ref!r} took longer than its timeout_ms of {task.timeout_ms:,}"
            stop_wait(turn, token)
            _end_in_failure(turn, token, Failure("TASK_TIMEOUT", message, 1))
        case "action":
            limit = task.action_timeout_ms
            message = f"the action {task.action_name!r} took longer than {limit:,} ms and was aborted"
            stop_wait(turn, token)
            details: JsonValue = {"timeout_ms": limit}
            _end_in_failure(turn, token, Failure("ACTION_TIMEOUT", message, 1, retryable=True, details=details))
        case "deadline":
            assert isinstance(task.wait, HumanWait)
            _reach_deadline(turn, token, task.wait)
        case "remind":
            assert isinstance(task.wait, HumanWait)
            remind(turn, token, task.wait)
        case "event":
            assert isinstance(task.wait, EventWait)
            message = f"the event {task.wait.event!r} did not come within {task.wait.timeout_ms:,} ms"
            stop_wait(turn, token)
            _end_in_failure(turn, token, Failure("EVENT_TIMEOUT", message, 1))
        case _:
            raise UnknownWait(f"the timer {kind}:{token.id} is of no known kind")


def _reach_deadline(turn: Turn, token: Token, wait: HumanWait) -> None:
    held: dict[str, Any] = token.wait or {}
    item_id, answers = str(held["item_id"]), held.get("answers")
    turn.emit(WithdrawInput(item_id))
    turn.record(HUMAN_INPUT_WITHDRAWN({"item_id": item_id}), token)
    turn.cancel_timer(f"remind:{token.id}")
    if wait.has_default:
        given = wait.default if answers is None else outcome(Verdict("deadline", wait.default), answers)
        _wake(turn, token, "timer", given)
        return
    message, details = f"nobody answered {token.node.ref!r} in time", None
    if answers and wait.quorum is not None:
        came = "1 approver" if len(answers) == 1 else f"{len(answers)} approvers"
        message = f"only {came} of {token.node.ref!r} answered in time; {wait.quorum.needed} must give the same answer"
        details = {"answers": answers}
    _give_up(turn, token, Failure("HUMAN_INPUT_DEADLINE", message, 1, details=details))


def _sleep(
    turn: Turn, token: Token, wait: dict[str, JsonValue], task_input: JsonValue, missed: tuple[str, ...]
) -> None:
    turn.emit(SuspendToken(token.id, wait, task_input))
    told: TokenSuspended = {"wait": wait}
    if missed:
        told["found_nothing"] = list(missed)
    turn.record(TOKEN_SUSPENDED(told), token)


def _wake(turn: Turn, token: Token, by: str, action_output: JsonValue, of_run: str | None = None) -> None:
    task = token.node.wait
    assert task is not None
    turn.cancel_timer(f"task:{token.id}")
    turn.cancel_timer(f"action:{token.id}")
    turn.record(TOKEN_RESUMED({"by": by} if of_run is None else {"by": by, "run_id": of_run}), token)
    try:
        output, failure = task.output(token.input, action_output)
    except WonderError as error:
        output, failure = None, evaluation_failure(error)
    _end(turn, token, output, failure)


def _give_up(turn: Turn, token: Token, failure: Failure) -> None:
    turn.cancel_timer(f"task:{token.id}")
    turn.cancel_timer(f"action:{token.id}")
    turn.record(TOKEN_RESUMED({"by": failure.code}), token)
    _end_in_failure(turn, token, failure)


def _end_in_failure(turn: Turn, token: Token, failure: Failure) -> None:
    """End a task whose step failed, as its `on_failure` says (TSK-3); a time-out is the task's own failure."""
    task = token.node.wait
    assert task is not None
    if is_tolerated(token, failure):
        _end(turn, token, *task.ended({}), tolerated(token, failure))
    else:
        fail_node(turn, token, failure)


def _end(
    turn: Turn, token: Token, output: JsonValue, failure: Failure | None, told: NodeCompleted | None = None
) -> None:
    if failure is not None:
        fail_node(turn, token, failure)
    else:
        complete_node(turn, token, output, {**(told or {}), **_cut(turn, token, output)})


def _cut(turn: Turn, token: Token, output: JsonValue) -> NodeCompleted:
    """Say where an output is that is too large for an event; what came with an outside event is nowhere else."""
    wait = token.wait or {}
    kept_as = f"output of run {wait['child_run_id']}" if "child_run_id" in wait else None
    if "item_id" in wait:
        kept_as = f"answer of inbox item {wait['item_id']}"
    if kept_as is None or turn.run.limits.record_io != "all" or not isinstance(output, str | list | dict):
        return {}
    written = encode_json(output)
    if len(written) <= RECORDED_MAX:
        return {}
    return {"output_cut": {"bytes": len(written.encode()), "start": written[:CUT_SHOWN], "kept_as": kept_as}}


def _names(action_input: JsonValue) -> dict[str, Any]:
    """Give what a template of a waiting action reads: the input, and each of its members by its own name."""
    members = action_input if isinstance(action_input, dict) else {}
    return {**members, "input": action_input}
