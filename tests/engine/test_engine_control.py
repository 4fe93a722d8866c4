"""CTL-16 to CTL-18, RET-3: starting, pausing, resuming, cancelling, timing out and ending; and late results."""

from typing import Any

import pytest
from msgspec.structs import replace

from support.engine_runs import Player, workflow
from wonder.engine.control import check_input
from wonder.engine.decide import redispatch
from wonder.engine.decisions import ControlChild, DispatchTask, EndRun, RequestInput, SetRunStatus, WithdrawInput
from wonder.engine.facts import (
    CancelRequested,
    ChildEnded,
    GateAnswered,
    PauseRequested,
    ResumeRequested,
    RunQueued,
    RunStarted,
    TaskCompleted,
    TaskFailed,
    TimerFired,
)
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits

TASK: dict[str, Any] = {}
CHAIN = [{"from": "a", "to": "b"}]


def test_ctl_16_paused_results_are_applied_and_routed_and_nothing_is_dispatched() -> None:
    player = Player(workflow({"a": {"output": {"state.x": "$.x"}}, "b": TASK}, CHAIN)).start()
    player.bring(PauseRequested())
    assert player.run.status == "paused"
    assert not [d for d in player.complete("a", {"x": 1}) if isinstance(d, DispatchTask)]
    assert player.run.state == {"x": 1}
    assert player.live() == ["b@0 pending"]
    assert player.run.status == "paused"
    assert player.run.idle
    player.bring(ResumeRequested())
    assert player.live() == ["b@0 dispatched"]
    assert [e.type for e in player.events("workflow_paused", "workflow_resumed")] == [
        "workflow_paused",
        "workflow_resumed",
    ]


def test_ctl_16_pure_nodes_don_t_begin_while_paused() -> None:
    player = Player(workflow({"a": TASK, "b": {"updates": [("state.n", "1")]}}, CHAIN)).start()
    player.bring(PauseRequested())
    player.complete("a")
    assert player.live() == ["b@0 pending"]
    player.bring(ResumeRequested())
    assert player.run.status == "completed"


def test_ctl_16_pausing_twice_and_resuming_a_running_run_change_nothing() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    assert player.bring(ResumeRequested()) == []
    player.bring(PauseRequested())
    assert player.bring(PauseRequested()) == []


def test_ctl_16_all_three_go_down_to_child_runs() -> None:
    compiled = workflow({"a": {"kind": "workflow_call", "workflow_def_id": "w"}}, [])
    player = Player(compiled).start()
    child = player.token("a").wait
    assert child is not None
    for fact in (PauseRequested(), ResumeRequested(), CancelRequested()):
        player.bring(fact)
    assert player.of(ControlChild) == [
        ControlChild(child["child_run_id"], order) for order in ("pause", "resume", "cancel")
    ]


def test_ctl_16_cancelling_ends_all_tokens_and_aborts_their_tasks() -> None:
    player = Player(workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "spawn_count": 3}])).start()
    player.complete("a")
    player.bring(CancelRequested("enough"))
    assert player.run.status == "cancelled"
    assert list(player.ends().values()).count("cancelled") == 3
    assert len(player.aborted()) == 3
    assert player.events("workflow_cancelled")[0].metadata == {"reason": "enough"}


@pytest.mark.parametrize("ended", [True, False])
def test_ctl_16_a_result_for_a_final_token_is_recorded_and_changes_nothing(ended: bool) -> None:
    nodes = {"a": {"output": {"state.x": "$.x"}}, "b": TASK}
    player = Player(workflow(nodes, CHAIN)).start()
    token = player.token("a").id
    player.complete("a", {"x": 1})
    if ended:
        player.complete("b")
    status = player.run.status
    decisions = player.bring(TaskCompleted(token, {"x": 2}, tokens=7, cost_usd=0.5))
    assert [(d.type, d.token_id, d.tokens, d.cost_usd) for d in decisions] == [("late_result_ignored", token, 7, 0.5)]
    assert player.run.state == {"x": 1}
    assert player.run.status == status
    assert [d.type for d in player.bring(TaskFailed(token, Failure("X", "x")))] == ["late_result_ignored"]


def test_ctl_17_an_input_is_checked_with_its_defaults() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "m": {"default": 2}}}
    compiled = workflow({"a": TASK}, [], input_schema=schema)
    assert check_input(compiled, {"n": 1}) == ({"n": 1, "m": 2}, [])
    assert [str(fault.path) for fault in check_input(compiled, {"n": "x"})[1]] == ["('n',)"]


def test_ctl_18_a_queued_run_starts_when_it_may() -> None:
    player = Player(workflow({"a": TASK}, []))
    player.bring(RunQueued())
    assert player.run.status == "queued"
    player.bring(RunStarted({}))
    assert player.run.status == "running"
    assert [e.type for e in player.events()][:2] == ["workflow_queued", "workflow_started"]


def test_ctl_18_a_queued_run_can_be_cancelled() -> None:
    player = Player(workflow({"a": TASK}, []))
    player.bring(RunQueued())
    player.bring(CancelRequested())
    assert player.run.status == "cancelled"


def test_ctl_18_a_run_waits_when_every_token_is_suspended_or_waits_for_siblings() -> None:
    compiled = workflow(
        {"a": TASK, "nap": {"kind": "sleep", "ms": 10}, "work": TASK, "c": TASK},
        [
            {"from": "a", "to": "nap"},
            {"from": "a", "to": "work"},
            {"from": "nap", "to": "c", "join": {"sibling_group": "a"}},
            {"from": "work", "to": "c", "join": {"sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    assert player.run.status == "running"
    player.complete("work")
    assert player.run.status == "waiting"
    assert player.run.idle
    player.bring(PauseRequested())
    assert player.run.status == "paused"  # paused comes before waiting
    player.bring(ResumeRequested())
    assert player.run.status == "waiting"
    player.fire("sleep:")
    assert player.run.status == "running"


def test_ctl_18_an_output_that_does_not_fit_fails_the_run() -> None:
    schema = {"type": "object", "required": ["n"]}
    compiled = workflow({"a": {"output": {"output.n": "$.n"}}}, [], output_schema=schema)
    player = Player(compiled).start()
    player.complete("a", {})
    assert player.error == "OUTPUT_SCHEMA"
    player = Player(compiled).start()
    player.complete("a", {"n": 1})
    assert player.of(EndRun) == [EndRun("completed", {"n": 1})]


def test_ctl_18_an_output_may_be_any_json() -> None:
    player = Player(workflow({"a": {"output": {"output": "$"}}}, [])).start()
    player.complete("a", [1, 2])
    assert player.of(EndRun)[0].output == [1, 2]


def test_ret_3_on_timeout_fail_ends_live_tokens_timed_out() -> None:
    player = Player(workflow({"a": TASK}, [], timeout_ms=100, on_timeout="fail")).start()
    player.fire("workflow")
    assert player.error == "WORKFLOW_TIMEOUT"
    assert player.ends() == {"a@0": "timed_out"}


def _at_gate() -> tuple[Player, str]:
    player = Player(workflow({"a": TASK, "b": TASK}, CHAIN, timeout_ms=100)).start()
    player.fire("workflow")
    assert (player.run.status, player.run.paused) == ("paused", "timeout")
    (request,) = player.of(RequestInput)
    assert (request.kind, request.token_id) == ("timeout", None)
    return player, request.item_id


def test_ret_3_at_a_gate_the_time_out_can_be_extended() -> None:
    player, item = _at_gate()
    player.bring(GateAnswered(item, "extend", 500))
    assert player.run.status == "running"
    assert player.run.timers == {"workflow": player.now_ms + 500}
    assert player.events("workflow_extended")[0].metadata == {"extend_ms": 500}
    assert [d.type for d in player.bring(GateAnswered(item, "fail"))] == ["late_result_ignored"]


@pytest.mark.parametrize(
    ("decision", "status", "code"), [("abort", "cancelled", None), ("fail", "failed", "WORKFLOW_TIMEOUT")]
)
def test_ret_3_at_a_gate_a_person_can_abort_or_let_it_fail(decision: Any, status: str, code: str | None) -> None:
    player, item = _at_gate()
    player.bring(GateAnswered(item, decision))
    assert (player.run.status, player.error) == (status, code)


def test_ret_3_resuming_at_a_gate_withdraws_the_question() -> None:
    player, item = _at_gate()
    player.bring(ResumeRequested())
    assert [d.item_id for d in player.of(WithdrawInput)] == [item]
    assert player.run.status == "running"


@pytest.mark.parametrize(
    ("decided", "status"),
    [
        (GateAnswered("", "extend"), "completed"),
        (ResumeRequested(), "completed"),
        (GateAnswered("", "abort"), "cancelled"),
        (GateAnswered("", "fail"), "failed"),
    ],
)
def test_ret_3_a_run_at_a_gate_does_not_complete_before_the_question_is_answered(decided: Any, status: str) -> None:
    player = Player(workflow({"a": TASK}, [], timeout_ms=100)).start()
    player.fire("workflow")
    (request,) = player.of(RequestInput)
    player.complete("a", 1)
    assert (player.run.status, player.run.paused, player.run.tokens) == ("paused", "timeout", {})
    player.bring(replace(decided, item_id=request.item_id) if isinstance(decided, GateAnswered) else decided)
    assert player.run.status == status


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(timeout_ms=10), "failed"),  # whatever the definition says
        (Limits(timeout_ms=10, on_timeout="human_gate"), "paused"),
        (Limits(), "paused"),
    ],
)
def test_phs_6_at_the_time_out_of_its_trigger_a_run_does_what_the_trigger_says(limits: Limits, status: str) -> None:
    player = Player(workflow({"a": TASK}, [], timeout_ms=100), limits).start()
    player.fire("workflow")
    assert player.run.status == status


def test_ret_3_time_paused_does_not_count() -> None:
    player = Player(workflow({"a": TASK}, [], timeout_ms=100, on_timeout="fail")).start()
    player.now_ms += 60
    player.bring(PauseRequested())
    assert not player.run.timers
    player.now_ms += 10_000
    player.bring(ResumeRequested())
    assert player.run.timers == {"workflow": player.now_ms + 40}


def test_inv_6_a_timer_never_fires_early() -> None:
    player = Player(workflow({"a": {"kind": "sleep", "ms": 100}}, [])).start()
    (key,) = player.run.timers
    player.now_ms += 99
    player.bring(TimerFired(key))
    assert player.run.status == "waiting"
    player.now_ms += 1
    player.bring(TimerFired(key))
    assert player.run.status == "completed"
    assert player.bring(TimerFired(key)) == []


def test_inv_4_tasks_that_workers_had_are_dispatched_again_with_the_same_input() -> None:
    player = Player(workflow({"a": {"input": {"n": "$.input.n"}}}, [])).start({"n": 3})
    (again,) = redispatch(player.run)
    assert again == player.of(DispatchTask)[0]


def test_a_child_that_ended_after_the_parent_changes_nothing() -> None:
    player = Player(workflow({"a": {"kind": "workflow_call", "workflow_def_id": "w"}}, [])).start()
    token = player.token("a")
    assert token.wait is not None
    player.bring(CancelRequested())
    fact = ChildEnded(token.id, str(token.wait["child_run_id"]), "completed", {})
    assert [d.type for d in player.bring(fact)] == ["late_result_ignored"]
    assert player.bring(PauseRequested()) == []
    assert SetRunStatus("running") in player.decisions
