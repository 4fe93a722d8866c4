"""Control: starting, pausing, resuming, cancelling and ending a run (CTL-16 to CTL-18, RET-3)."""

from typing import Literal, assert_never

from wonder.engine.budget_gate import check_decision, is_about_budget
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decisions import (
    CloseGroup,
    ControlChild,
    EndRun,
    RequestInput,
    SetRunStatus,
    StartRun,
    WithdrawInput,
)
from wonder.engine.ending import WORKFLOW_TIMER, end_live, fail_run, time_out_run
from wonder.engine.events import (
    HUMAN_INPUT_ANSWERED,
    HUMAN_INPUT_REQUESTED,
    HUMAN_INPUT_WITHDRAWN,
    WORKFLOW_CANCELLED,
    WORKFLOW_COMPLETED,
    WORKFLOW_EXTENDED,
    WORKFLOW_PAUSED,
    WORKFLOW_QUEUED,
    WORKFLOW_RESUMED,
    WORKFLOW_STARTED,
    WORKFLOW_TIMED_OUT,
    WORKFLOW_WAITING,
)
from wonder.engine.facts import GateAnswered
from wonder.engine.failure import Failure, misfit
from wonder.engine.state import CANCELLED, WAITING_FOR_SIBLINGS, RunState, Token
from wonder.engine.triggers import fire_triggers
from wonder.engine.turn import Turn
from wonder.engine.waiting_tasks import HumanWait
from wonder.language.schemas import ValueFault
from wonder.language.values import JsonValue

_GATE_SCHEMA: JsonValue = {
    "type": "object",
    "required": ["decision"],
    "properties": {
        "decision": {"enum": ["extend", "abort", "fail"]},
        "extend_ms": {"type": "integer", "minimum": 1},
    },
}


def check_input(workflow: CompiledWorkflow, value: JsonValue) -> tuple[JsonValue, list[ValueFault]]:
    """Give the input with its defaults, and what of it does not fit the schema (CTL-17)."""
    filled = workflow.input_defaults(value)
    return filled, workflow.input_validator.faults(filled)


def check_answer(token: Token, value: JsonValue) -> list[ValueFault]:
    """Say what of an answer does not fit the schema of the question (ACT-4)."""
    if is_about_budget(token):
        return check_decision(value)
    assert token.node.wait is not None
    wait = token.node.wait.wait
    assert isinstance(wait, HumanWait)
    return wait.validator.faults(value)


def queue_run(turn: Turn) -> None:
    """Note that a run waits for its start."""
    turn.emit(SetRunStatus("queued"))
    turn.record(WORKFLOW_QUEUED({}))


def requeue_run(turn: Turn) -> None:
    """Let a run that was paused before its start wait for it again."""
    turn.record(WORKFLOW_RESUMED({}))
    queue_run(turn)


def start_run(turn: Turn, run_input: JsonValue) -> None:
    """Start a run with its first token."""
    run = turn.run
    workflow = run.workflow
    state = workflow.initial_state
    turn.emit(StartRun(run_input, state))
    turn.emit(SetRunStatus("running"))
    turn.record(WORKFLOW_STARTED({"input": run_input, "state": state}))
    if faults := workflow.state_check.whole_faults(state):
        fail_run(turn, misfit("CONTEXT_SCHEMA", "the state of defaults", faults))
        return
    if run.timeout_ms is not None:
        turn.set_timer(WORKFLOW_TIMER, turn.now_ms + run.timeout_ms)
    turn.create_token(workflow.initial, run.root, "0", None)


def pause_run(turn: Turn, reason: str, gate_item_id: str | None = None) -> None:
    """Stop dispatching; the workflow's time-out stands still (RET-3)."""
    run = turn.run
    due_ms = run.timers.get(WORKFLOW_TIMER)
    left_ms = None if due_ms is None else max(0, due_ms - turn.now_ms)
    turn.cancel_timer(WORKFLOW_TIMER)
    turn.emit(SetRunStatus("paused", reason, gate_item_id, left_ms))
    turn.record(WORKFLOW_PAUSED({"reason": reason, "left_ms": left_ms}))
    _control_children(turn, "pause")


def resume_run(turn: Turn, left_ms: int | None = None) -> None:
    """Go on; what was held back begins in the order in which it was made."""
    run = turn.run
    left_ms = run.timeout_left_ms if left_ms is None else left_ms
    turn.emit(SetRunStatus("running"))
    turn.record(WORKFLOW_RESUMED({}))
    if left_ms is not None:
        turn.set_timer(WORKFLOW_TIMER, turn.now_ms + left_ms)
    _control_children(turn, "resume")


def reach_timeout(turn: Turn) -> None:
    """Fail at the workflow's time-out, or ask a person what to do (RET-3)."""
    on_timeout = turn.run.on_timeout
    match on_timeout:
        case "fail":
            time_out_run(turn)
        case "human_gate":
            _ask_about_timeout(turn)
        case _:
            assert_never(on_timeout)


def _ask_about_timeout(turn: Turn) -> None:
    run = turn.run
    item_id = turn.new_id()
    prompt = f"the run of {run.workflow.name!r} took longer than {run.timeout_ms:,} ms: extend, abort or fail?"
    turn.record(WORKFLOW_TIMED_OUT({"timeout_ms": run.timeout_ms}))
    pause_run(turn, "timeout", item_id)
    turn.emit(RequestInput(item_id, None, "timeout", prompt, _GATE_SCHEMA, None, None))
    turn.record(HUMAN_INPUT_REQUESTED({"item_id": item_id, "prompt": prompt}))


def answer_gate(turn: Turn, fact: GateAnswered) -> None:
    """Carry out what a person decided about a run at its time-out."""
    run = turn.run
    turn.record(HUMAN_INPUT_ANSWERED({"item_id": fact.item_id, "decision": fact.decision, "by": fact.by}))
    # The question is answered, so ending the run must not take it back.
    turn.emit(SetRunStatus("paused", "timeout", None, run.timeout_left_ms))
    match fact.decision:
        case "abort":
            cancel_run(turn, "aborted at its time-out")
        case "fail":
            time_out_run(turn)
        case "extend":
            _extend(turn, fact.extend_ms)
        case _:
            assert_never(fact.decision)


def resume_by_request(turn: Turn) -> None:
    """Go on with a paused run; at its time-out, that takes the question back and gives it as much time again."""
    item_id = turn.run.gate_item_id
    if item_id is None:
        resume_run(turn)
        return
    turn.emit(WithdrawInput(item_id))
    turn.record(HUMAN_INPUT_WITHDRAWN({"item_id": item_id}))
    _extend(turn, None)


def _extend(turn: Turn, extend_ms: int | None) -> None:
    length_ms = extend_ms or turn.run.timeout_ms
    turn.record(WORKFLOW_EXTENDED({"extend_ms": length_ms}))
    resume_run(turn, length_ms)


def cancel_run(turn: Turn, reason: str | None) -> None:
    """End the run as cancelled, and with it all that is live."""
    end_live(turn, CANCELLED)
    turn.record(WORKFLOW_CANCELLED({"reason": reason}))
    turn.emit(EndRun("cancelled"))


def draw_conclusions(turn: Turn) -> None:
    """Close what is empty, and give the run the status that its tokens ask for (CTL-4, CTL-18)."""
    run = turn.run
    _close_groups(turn)
    if run.ended or not run.begun:
        return
    if not run.root.live:
        # RET-3: at its time-out a person decides how it ends, or that it may complete.
        if run.gate_item_id is None:
            _complete_run(turn)
    elif run.paused is None:
        if not run.moving and not run.suspended and not run.startable:
            fail_run(turn, _stuck(run))
            _close_groups(turn)
            return
        waits = run.suspended > 0 and not run.moving
        if waits != (run.status == "waiting"):
            turn.emit(SetRunStatus("waiting" if waits else "running"))
            if waits:
                turn.record(WORKFLOW_WAITING({}))


def _complete_run(turn: Turn) -> None:
    run = turn.run
    validator = run.workflow.output_validator
    faults = validator.faults(run.output) if validator else []
    if faults:
        fail_run(turn, misfit("OUTPUT_SCHEMA", "the run's output", faults))
        return
    end_live(turn, CANCELLED)
    turn.record(WORKFLOW_COMPLETED({"output": run.output}))
    turn.emit(EndRun("completed", run.output))
    if run.workflow.triggers:
        fire_triggers(turn)


def _close_groups(turn: Turn) -> None:
    run, closable = turn.run, turn.closable
    while closable:
        _, group = closable.popitem()
        if group.live or group.open or group.id not in run.groups:
            continue
        turn.emit(CloseGroup(group.id))
        outer = group.scope
        if outer.group is not None and not outer.live:
            closable[outer.group.id] = outer.group


def _control_children(turn: Turn, order: Literal["pause", "resume"]) -> None:
    for token in turn.run.tokens.values():
        if token.wait is not None and token.wait.get("kind") == "workflow_call":
            turn.emit(ControlChild(str(token.wait["child_run_id"]), order))


def _stuck(run: RunState) -> Failure:
    """CTL-9a: reaching this is a bug of ours."""
    waiting = {t.waits_at.node.ref for t in run.tokens.values() if t.status == WAITING_FOR_SIBLINGS and t.waits_at}
    joins = ", ".join(sorted(map(repr, waiting))) or "none"
    return Failure("RUN_STUCK", f"no token can move and nothing is awaited; joins with waiting tokens: {joins}")
