"""EVT-1: every type of event is declared, recorded by somebody, folded, and described on its page."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from support.declared_events import assert_declared
from support.engine_runs import Player, append, workflow
from support.events_page import PAGE, page
from wonder.checker.events import DECLARED, NOT_INDEXED
from wonder.checker.fold import TAKERS
from wonder.checker.fold import UNCHANGING as UNCHANGING_FOR_THE_CHECKER
from wonder.definitions.records.workflows import Trigger
from wonder.engine.decisions import RecordEvent, RequestInput
from wonder.engine.event_type import EventName, Metadata, UndeclaredEvent
from wonder.engine.events import ARTIFACT_WRITTEN, BUDGET_ALERT, EVENTS, LLM_CALL_COMPLETED, check_event
from wonder.engine.facts import (
    CancelRequested,
    GateAnswered,
    InputClaimed,
    InputDelegated,
    InputGiven,
    InputReleased,
    PauseRequested,
    ResumeRequested,
    RunQueued,
    TaskCompleted,
    TaskStarted,
    TriggerAdvanced,
)
from wonder.engine.failure import Failure
from wonder.engine.fork import fork, snapshot_at
from wonder.engine.limits import Limits
from wonder.engine.replay import FOLDED, UNCHANGING, UnknownEvent, fold
from wonder.engine.triggers import compile_triggers
from wonder.storage.runs.indexed_events import ROUTINE

TASK: dict[str, Any] = {}
WRITES = {"output": {"state.x": "$.x"}}
ASKS = {"kind": "human_input", "prompt": "?", "deadline_ms": 50}


def completed() -> Player:
    """A chain of two tasks."""
    player = Player(workflow({"a": WRITES, "b": TASK}, [{"from": "a", "to": "b"}]))
    player.bring(RunQueued())
    player.start()
    player.bring(TaskStarted(player.token("a").id, 5))
    artifact = {"step": "s", "artifact_id": "1", "content_type": "a/b", "size_bytes": 3}
    alert = {"scope": "project", "id": "p", "name": "P", "month": "2026-11", "threshold_cents": 5}
    called = {"profile": "p", "model": "m", "duration_ms": 1, "input_tokens": 1, "output_tokens": 1, "cost_usd": 0.1}
    noted = (ARTIFACT_WRITTEN(artifact), BUDGET_ALERT(alert), LLM_CALL_COMPLETED(called))  # type: ignore[arg-type]  # plain dicts
    player.bring(TaskCompleted(player.token("a").id, {"x": 1}, steps=[{"ref": "s"}], noted=noted))
    player.complete("b")
    player.bring(TaskCompleted("gone", {}))
    return player


def forked() -> Player:
    """A run that begins where another one was."""
    old = completed()
    new = Player(old.compiled)
    new.decisions += fork(new.run, snapshot_at(old.events(), 6), now_ms=5, new_id=new.new_id)
    return new


def failed() -> Player:
    player = Player(workflow({"a": TASK}, [])).start()
    player.fail("a")
    return player


def timed_out_task() -> Player:
    player = Player(workflow({"a": TASK}, [])).start()
    player.fail("a", "TASK_TIMEOUT")
    return player


def paused() -> Player:
    """A run that waits for a person, is paused and resumed, and then cancelled."""
    player = Player(workflow({"a": ASKS}, [])).start()
    player.bring(PauseRequested())
    player.bring(ResumeRequested())
    player.bring(CancelRequested("enough"))
    return player


def answered() -> Player:
    player = Player(workflow({"a": ASKS}, [])).start()
    (request,) = player.of(RequestInput)
    player.bring(InputGiven(request.token_id or "", request.item_id, {}, "bob"))
    return player


def handed_around() -> Player:
    """A question that is claimed, released, handed on and reminded of, and one that two people answer."""
    quorum = {"of": ["ann", "bob"], "needed": 2}
    asks = {"a": {**ASKS, "remind_ms": 20}, "b": {**ASKS, "quorum": quorum}}
    player = Player(workflow(asks, [{"from": "a", "to": "b"}])).start()
    (request,) = player.of(RequestInput)
    token_id, item_id = request.token_id or "", request.item_id
    player.bring(InputClaimed(token_id, item_id, "ann"))
    player.bring(InputReleased(token_id, item_id, "ann"))
    player.bring(InputDelegated(token_id, item_id, "ann", "bob"))
    player.fire("remind")
    player.bring(InputGiven(token_id, item_id, {}, "bob"))
    request = player.of(RequestInput)[1]
    player.bring(InputGiven(request.token_id or "", request.item_id, 1, "ann"))
    return player


def extended() -> Player:
    """A run at its time-out that is given more time."""
    player = Player(workflow({"a": TASK}, [], timeout_ms=100)).start()
    player.fire("workflow")
    (request,) = player.of(RequestInput)
    player.bring(GateAnswered(request.item_id, "extend", 500, "bob"))
    return player


def ended_together() -> Player:
    """A run with more live tokens than are ended one by one."""
    player = Player(workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "spawn_count": 5}]))
    player.run.limits.ended_singly_max = 3
    player.start()
    player.complete("a")
    player.bring(CancelRequested())
    return player


def joined(strategy: Any) -> Player:
    """A fan-out of two, whose join waits for so many; both branches come to it, or fail."""
    join = {"sibling_group": "a", "strategy": strategy, "merge": append("state.all")}
    player = Player(
        workflow(
            {"a": TASK, "b": TASK, "c": TASK},
            [{"from": "a", "to": "b", "spawn_count": 2}, {"from": "b", "to": "c", "join": join}],
        )
    ).start()
    player.complete("a")
    for name in ("b@0.0", "b@0.1"):
        if strategy == "all":
            player.complete(name)
        elif player.tokens(name):
            player.fail(name)
    return player


def triggers() -> Player:
    """A completed run with a trigger that fires, one that is skipped and one that fails."""
    of = {"workflow_def_id": "workflow", "workflow_def_version": 1, "workflowId": "w"}
    made: list[dict[str, Any]] = [{}, {"inputs": {"x": "@output.absent"}}, {"forEach": "@output"}]
    compiled = workflow({"a": TASK}, [])
    compiled.triggers = compile_triggers(
        [Trigger.model_validate({"id": f"t{n}", "ordinal": n, "inputs": {}, **of, **one}) for n, one in enumerate(made)]
    )
    player = Player(compiled, Limits()).start()
    player.complete("a")
    player.bring(TriggerAdvanced(0, "w", items=1, upto=1, started=1, skipped=0))
    player.bring(TriggerAdvanced(0, "w", items=2, upto=2, started=1, skipped=1, failure=Failure("X", "y")))
    return player


PLAYED: dict[str, Callable[[], Player]] = {
    **dict.fromkeys(("workflow_queued", "workflow_started", "workflow_completed", "token_spawned"), completed),
    **dict.fromkeys(("token_dispatched", "token_completed", "node_started", "node_completed"), completed),
    **dict.fromkeys(("transitions_evaluated", "context_updated", "late_result_ignored"), completed),
    **dict.fromkeys(("artifact_written", "budget_alert", "llm_call_completed"), completed),
    **dict.fromkeys(("workflow_failed", "node_failed", "token_failed"), failed),
    **dict.fromkeys(("workflow_waiting", "workflow_paused", "workflow_resumed", "workflow_cancelled"), paused),
    **dict.fromkeys(("token_suspended", "token_cancelled", "human_input_requested", "human_input_withdrawn"), paused),
    **dict.fromkeys(("human_input_answered", "token_resumed"), answered),
    **dict.fromkeys(("human_input_claimed", "human_input_released", "human_input_delegated"), handed_around),
    **dict.fromkeys(("human_input_reminded", "human_input_counted"), handed_around),
    **dict.fromkeys(("workflow_timed_out", "workflow_extended", "timer_set", "timer_fired"), extended),
    **dict.fromkeys(("fan_out_started", "fan_in_waiting", "fan_in_completed"), lambda: joined("all")),
    **dict.fromkeys(("trigger_fired", "trigger_skipped", "trigger_failed"), triggers),
    "fan_in_failed": lambda: joined("any"),
    "token_timed_out": timed_out_task,
    "tokens_ended": ended_together,
    "context_snapshot": forked,
}


def test_evt_1_the_types_of_the_source_are_declared() -> None:
    of_workflows = {"workflow_started", "workflow_completed", "workflow_failed"}
    of_tokens = {"token_spawned", "token_dispatched", "token_completed", "token_failed"}
    of_nodes = {"node_started", "node_completed", "node_failed", "context_updated", "artifact_written"}
    of_joins = {"fan_in_waiting", "fan_in_completed"}
    assert of_workflows | of_tokens | of_nodes | of_joins <= set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_evt_1_every_declared_type_is_recorded_by_some_run(name: str) -> None:
    assert name in PLAYED, f"{name} is declared; play a run here that records it"
    player = PLAYED[name]()
    assert_declared(player.decisions)
    assert player.events(name), [event.type for event in player.events()]


def test_evt_1_no_run_is_played_for_a_type_that_is_not_declared() -> None:
    assert PLAYED.keys() == EVENTS.keys()


def test_evt_2_every_declared_type_is_folded_or_said_to_change_nothing() -> None:
    assert FOLDED.keys() | UNCHANGING == EVENTS.keys()
    assert not FOLDED.keys() & UNCHANGING


def test_evt_1_the_checkers_own_list_is_the_same() -> None:
    assert {name: (one.required, one.optional) for name, one in EVENTS.items()} == DECLARED
    assert NOT_INDEXED == ROUTINE
    assert TAKERS.keys() | UNCHANGING_FOR_THE_CHECKER == DECLARED.keys()
    assert not TAKERS.keys() & UNCHANGING_FOR_THE_CHECKER


def test_evt_1_a_type_that_is_not_declared_is_not_folded() -> None:
    event = RecordEvent(7, 7, EventName("node_vanished"), 0, None, None, None, Metadata({}))
    with pytest.raises(UnknownEvent, match="event 7 has the type 'node_vanished', which this version of Wonder"):
        fold([event])


@pytest.mark.parametrize(
    ("name", "metadata", "message"),
    [
        ("asked", {}, "the event 'asked' is not declared"),
        ("timer_fired", {}, "the event 'timer_fired' lacks 'key'"),
        ("timer_fired", {"key": "k", "at": 1, "by": 2}, "the event 'timer_fired' has no field 'at', 'by'"),
        ("timer_fired", {"key": "k"}, None),
        ("token_resumed", {"by": "answer", "again": True}, None),
    ],
)
def test_evt_1_an_event_has_the_fields_of_its_type(name: str, metadata: dict[str, Any], message: str | None) -> None:
    event = EventName(name), Metadata(metadata)
    if message is None:
        check_event(event)
    else:
        with pytest.raises(UndeclaredEvent, match=f"^{message}; engine/events.py declares"):
            check_event(event)


@pytest.mark.parametrize("name", EVENTS)
def test_evt_1_every_type_has_a_sentence_and_a_json_schema(name: str) -> None:
    declared = EVENTS[name]
    assert declared.sentence[0].isupper()
    assert declared.sentence.endswith(".")
    assert len({one.sentence for one in EVENTS.values()}) == len(EVENTS)
    schema = msgspec.json.schema(declared.fields)
    assert schema["$defs"][declared.fields.__name__]["properties"].keys() == declared.required | declared.optional


def test_the_page_of_events_says_what_is_declared() -> None:
    assert PAGE.read_text() == page(), "write it anew: PYTHONPATH=src:tests python -m support.events_page"
