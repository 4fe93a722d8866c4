"""PHS-6: what is decided when a run with triggers has completed, and while they fire."""

from typing import Any

import pytest

from support.engine_runs import Player, workflow
from wonder.definitions.records.workflows import Trigger
from wonder.engine.decisions import EndRun, FireTriggers, MoveTrigger, RetryRun
from wonder.engine.facts import CancelRequested, TriggerAdvanced
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits
from wonder.engine.triggers import compile_triggers, input_for, items_of
from wonder.language.paths import MISSING

OUTPUT: Any = {"null": None, "list": [{"id": 1}, {}], "empty": [], "n": 1}


def _player(*triggers: dict[str, Any], limits: Limits | None = None) -> Player:
    of = {"workflow_def_id": "workflow", "workflow_def_version": 1}
    compiled = workflow({"a": {"output": {"output": "$", "state.steps": "$.steps"}}}, [])
    compiled.triggers = compile_triggers(
        [
            Trigger.model_validate({"id": f"t{n}", "ordinal": n, "workflowId": "w", "inputs": {}, **of, **one})
            for n, one in enumerate(triggers)
        ]
    )
    return Player(compiled, limits).start({"given": 7})


@pytest.mark.parametrize(
    ("trigger", "status", "items"),
    [
        ({}, "pending", 1),
        ({"inputs": {"x": "@output.null"}}, "pending", 1),  # null is there
        ({"inputs": {"x": "@output.absent"}}, "skipped", 0),
        ({"inputs": {"x": [{"y": "@input.given"}]}}, "pending", 1),
        ({"inputs": {"x": '@"a step".output.x'}}, "pending", 1),
        ({"inputs": {"x": '@"a step".output.y'}}, "skipped", 0),
        ({"forEach": "@output.list", "inputs": {"x": "@item"}}, "pending", 2),
        ({"forEach": "@output.list", "inputs": {"x": "@item", "y": "@output.absent"}}, "skipped", 0),
        ({"forEach": "@output.empty"}, "triggered", 0),
        ({"forEach": "@output.absent"}, "skipped", 0),
        ({"forEach": "@output.n"}, "failed", 0),
        ({"forEach": "@output.null"}, "failed", 0),
    ],
)
def test_phs_6_a_trigger_fires_when_its_refs_are_there(trigger: dict[str, Any], status: str, items: int) -> None:
    player = _player(trigger)
    player.complete("a", {**OUTPUT, "steps": {"a step": {"x": 1}}})
    assert [type(decision) for decision in player.decisions if isinstance(decision, EndRun | FireTriggers)] == [
        EndRun,
        FireTriggers,
    ]
    ((firing,),) = [decision.firings for decision in player.of(FireTriggers)]
    assert (firing.status, firing.items) == (status, items)
    told = [event.type for event in player.events() if event.type.startswith("trigger_")]
    names = {"triggered": "trigger_fired", "skipped": "trigger_skipped", "failed": "trigger_failed"}
    assert told == ([] if status == "pending" else [names[status]])


def test_phs_6_each_item_has_an_input_of_its_own_or_is_missing() -> None:
    player = _player({"forEach": "@output.list", "inputs": {"id": "@item.id", "n": "@index", "all": "@output.n"}})
    player.complete("a", OUTPUT)
    (trigger,) = player.compiled.triggers
    items = items_of(trigger, player.run)
    assert items == OUTPUT["list"]
    assert input_for(trigger, player.run, items, 0) == {"id": 1, "n": 0, "all": 1}
    assert input_for(trigger, player.run, items, 1) is MISSING


def test_phs_6_what_fails_or_is_cancelled_fires_nothing() -> None:
    failed, cancelled = _player({}), _player({})
    failed.fail("a")
    cancelled.bring(CancelRequested())
    for player, status in ((failed, "failed"), (cancelled, "cancelled")):
        assert player.run.status == status
        assert player.of(FireTriggers) == []


@pytest.mark.parametrize(
    ("counts", "status", "told"),
    [
        ((4, 2, 2, 0), "pending", None),
        ((4, 4, 4, 0), "triggered", "trigger_fired"),
        ((4, 4, 3, 1), "triggered", "trigger_fired"),
        ((4, 4, 0, 4), "skipped", "trigger_skipped"),
        ((4, 4, 3, 0, Failure("INPUT_REFUSED", "no")), "failed", "trigger_failed"),
    ],
)
def test_phs_6_a_trigger_is_told_of_when_it_is_done(counts: tuple[Any, ...], status: str, told: str | None) -> None:
    player = _player({"forEach": "@output.list"})
    player.complete("a", OUTPUT)
    player.bring(TriggerAdvanced(0, "w", *counts))
    (moved,) = player.of(MoveTrigger)
    assert (moved.status, moved.upto, moved.started, moved.skipped) == (status, *counts[1:4])
    events = [event for event in player.events() if event.type.startswith("trigger_")]
    assert [event.type for event in events] == ([told] if told else [])
    assert player.run.status == "completed"


@pytest.mark.parametrize(("left", "retried"), [(0, False), (2, True)])
def test_phs_6_a_triggered_run_that_fails_is_retried_while_it_may(left: int, retried: bool) -> None:
    player = _player(limits=Limits(retries_left=left))
    player.fail("a")
    assert (len(player.of(RetryRun)) == 1) is retried


def test_phs_6_the_time_out_of_a_trigger_replaces_that_of_the_definition() -> None:
    compiled = workflow({"a": {}}, [], timeout_ms=5_000, on_timeout="fail")
    player = Player(compiled, Limits(timeout_ms=70)).start()
    assert player.run.timers == {"workflow": player.now_ms + 70}
    player.fire("workflow")
    assert player.error == "WORKFLOW_TIMEOUT"
    assert Player(compiled).start().run.timers == {"workflow": 6_000}
