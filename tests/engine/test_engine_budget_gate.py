"""RES-6: a task that would overspend asks a person, where the project says so."""

from typing import Any

from support.engine_runs import Player, workflow
from wonder.engine.control import check_answer
from wonder.engine.decisions import DispatchTask, RequestInput, WithdrawInput
from wonder.engine.events import BUDGET_ALERT, BudgetAlert
from wonder.engine.facts import CancelRequested, InputGiven, PauseRequested, ResumeRequested, TaskCompleted, TaskFailed
from wonder.engine.failure import Failure

GATE = {"on_exceeded": "human_gate", "budgets": [{"scope": "project", "max_cents": 100}]}


def overspent(details: Any = GATE) -> Failure:
    """What a task fails with when a budget does not allow its call."""
    return Failure("BUDGET_EXCEEDED", "the budget of 100 cents is used up", 1, details=details)


def at_the_gate() -> tuple[Player, RequestInput]:
    """A run whose only task would overspend."""
    player = Player(workflow({"a": {"output": {"state.x": "$"}}}, [])).start()
    player.bring(TaskFailed(player.token("a").id, overspent(), cost_usd=0.25))
    (request,) = player.of(RequestInput)
    return player, request


def decided(request: RequestInput, **answer: Any) -> InputGiven:
    """What a person said."""
    return InputGiven(request.token_id or "", request.item_id, answer, "bob")


def test_res_6_a_task_over_budget_waits_for_a_person() -> None:
    player, request = at_the_gate()
    assert (request.kind, player.run.status) == ("budget", "waiting")
    assert "extend the budget for this month by so many cents, or let it fail?" in request.prompt
    assert [e.cost_usd for e in player.events("token_suspended")] == [0.25]
    assert check_answer(player.token("a"), {"decision": "extend"})
    assert check_answer(player.token("a"), {"decision": "abort"})
    assert not check_answer(player.token("a"), {"decision": "fail"})
    assert not check_answer(player.token("a"), {"decision": "extend", "extend_cents": 500})


def test_res_6_an_extended_budget_begins_the_node_again() -> None:
    player, request = at_the_gate()
    before = len(player.of(DispatchTask))
    player.bring(decided(request, decision="extend", extend_cents=500))
    assert len(player.of(DispatchTask)) == before + 1
    assert player.run.status == "running"
    player.bring(TaskCompleted(player.token("a").id, 7))
    assert (player.run.status, player.run.state) == ("completed", {"x": 7})


def test_res_6_a_budget_that_is_not_extended_fails_the_node() -> None:
    player, request = at_the_gate()
    player.bring(decided(request, decision="fail"))
    assert (player.run.status, player.error) == ("failed", "BUDGET_EXCEEDED")


def test_res_6_without_a_gate_the_task_fails_at_once() -> None:
    player = Player(workflow({"a": {}}, [])).start()
    player.bring(TaskFailed(player.token("a").id, overspent({"on_exceeded": "fail"})))
    assert (player.run.status, player.error) == ("failed", "BUDGET_EXCEEDED")
    assert not player.of(RequestInput)


def test_res_6_a_cancelled_run_withdraws_the_question() -> None:
    player, request = at_the_gate()
    player.bring(CancelRequested())
    assert [one.item_id for one in player.of(WithdrawInput)] == [request.item_id]


def test_ctl_16_a_paused_run_begins_the_node_again_when_it_is_resumed() -> None:
    player, request = at_the_gate()
    player.bring(PauseRequested())
    before = len(player.of(DispatchTask))
    player.bring(decided(request, decision="extend", extend_cents=500))
    assert len(player.of(DispatchTask)) == before
    player.bring(ResumeRequested())
    assert len(player.of(DispatchTask)) == before + 1


def test_evt_1_what_an_action_notes_becomes_an_event_of_its_token() -> None:
    player = Player(workflow({"a": {}}, [])).start()
    told: BudgetAlert = {"scope": "project", "id": "p", "name": "P", "month": "2026-11", "threshold_cents": 5}
    player.bring(TaskCompleted(player.token("a").id, {}, noted=(BUDGET_ALERT(told),)))
    (alert,) = player.events("budget_alert")
    assert (alert.node_id, alert.metadata) == ("a", told)
