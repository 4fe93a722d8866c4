"""LAY-3, ACT-4, ACT-5, ACT-10: what waits durably, and what it gives."""

from typing import Any

import pytest

from support.engine_runs import Player, workflow
from wonder.engine.control import check_answer
from wonder.engine.decisions import AwaitEvent, EndRun, RequestInput, StartChild, WithdrawInput
from wonder.engine.facts import ChildEnded, EventArrived, InputGiven
from wonder.engine.failure import Failure
from wonder.engine.moments import BadMoment, moment_ms

RESULT = {"output": {"state.result": "$"}}


def test_act_4_a_person_is_asked_and_the_answer_is_the_output() -> None:
    schema = {"type": "object", "required": ["ok"]}
    node = {
        "kind": "human_input",
        "prompt": "May {{name}}?",
        "schema": schema,
        "input": {"name": "$.input.name"},
        **RESULT,
    }
    player = Player(workflow({"a": node}, [])).start({"name": "Ada"})
    (request,) = player.of(RequestInput)
    assert (request.prompt, request.schema, request.input, request.due_ms) == (
        "May Ada?",
        schema,
        {"name": "Ada"},
        None,
    )
    assert player.run.status == "waiting"
    assert check_answer(player.token("a"), {"no": 1})
    assert not check_answer(player.token("a"), {"ok": 1})
    fact = InputGiven(request.token_id, request.item_id, {"ok": True}, "bob")
    player.bring(fact)
    assert player.run.state == {"result": {"ok": True}}
    assert player.run.status == "completed"
    assert [d.type for d in player.bring(fact)] == ["late_result_ignored"]


@pytest.mark.parametrize(
    ("on_deadline", "status", "state", "code"),
    [
        ({"default": {"ok": False}}, "completed", {"result": {"ok": False}}, None),
        ("fail", "failed", {}, "HUMAN_INPUT_DEADLINE"),
    ],
)
def test_act_4_a_deadline_withdraws_the_question(on_deadline: Any, status: str, state: Any, code: str | None) -> None:
    node = {"kind": "human_input", "prompt": "?", "deadline_ms": 50, "on_deadline": on_deadline, **RESULT}
    player = Player(workflow({"a": node}, [])).start()
    player.fire("deadline:")
    assert (player.run.status, player.run.state, player.error) == (status, state, code)
    assert len(player.of(WithdrawInput)) == 1


@pytest.mark.parametrize(
    ("implementation", "task_input", "due_ms"),
    [
        ({"ms": 250}, None, 1_250),
        ({"until": "1970-01-01T00:00:09Z"}, None, 9_000),
        ({"until": "1969-12-31T00:00:00Z"}, None, 1_000),  # past: goes on at once
        ({"ms": 0}, {"until": "1970-01-01T00:00:07"}, 7_000),
        ({"ms": 0}, {"ms": 30}, 1_030),
    ],
)
def test_sleep_waits_until_its_time(implementation: Any, task_input: Any, due_ms: int) -> None:
    player = Player(workflow({"a": {"kind": "sleep", "input": task_input, **implementation, **RESULT}}, [])).start()
    assert list(player.run.timers.values()) == [due_ms]
    player.fire("sleep:")
    assert player.run.state == {"result": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("2000-02-29T12:00:00Z", 951_825_600_000),
        ("2024-03-01T00:00:00.250+01:30", 1_709_245_800_250),
        ("1969-12-31 23:59:59", -1_000),
        ("2100-02-28T23:59", 4_107_542_340_000),
        ("2100-02-29", None),
        ("2024-13-01", None),
        ("2024-01-01T24:00", None),
        ("soon", None),
    ],
)
def test_moments(text: str, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(BadMoment):
            moment_ms(text)
    else:
        assert moment_ms(text) == expected


def test_wait_for_event_gives_the_payload() -> None:
    node = {
        "kind": "wait_for_event",
        "event": "paid",
        "key": "order {{order}}",
        "timeout_ms": 40,
        "input": {"order": 7},
        **RESULT,
    }
    compiled = workflow({"a": node}, [])
    player = Player(compiled).start()
    assert player.of(AwaitEvent) == [AwaitEvent(player.token("a").id, "paid", "order 7")]
    player.bring(EventArrived(player.token("a").id, {"cents": 5}))
    assert player.run.state == {"result": {"cents": 5}}
    assert not player.run.timers
    player = Player(compiled).start()
    player.fire("event:")
    assert player.error == "EVENT_TIMEOUT"


def test_act_5_a_sub_workflow_is_started_with_the_input() -> None:
    node = {
        "kind": "workflow_call",
        "workflow_def_id": {"from_context": "input.which"},
        "version": {"from_context": "state.version"},
        "input": {"x": 1},
        **RESULT,
    }
    schema = {"type": "object", "properties": {"version": {"default": 3}}}
    player = Player(workflow({"a": node}, [], context_schema=schema)).start({"which": "child"})
    (start,) = player.of(StartChild)
    assert (start.workflow_def_id, start.version, start.input) == ("child", 3, {"x": 1})
    player.bring(ChildEnded(start.token_id, start.child_run_id, "completed", {"y": 2}))
    assert player.run.state["result"] == {"y": 2}


def test_act_5_a_name_that_the_context_does_not_have_fails_the_node() -> None:
    node = {"kind": "workflow_call", "workflow_def_id": {"from_context": "input.which"}}
    assert Player(workflow({"a": node}, [])).start().error == "BAD_WORKFLOW_CALL"


@pytest.mark.parametrize(
    ("on_failure", "status", "code"),
    [("propagate", "failed", "CHILD_FAILED"), ("propagate", "cancelled", "CHILD_CANCELLED"), ("catch", "failed", None)],
)
def test_act_10_a_failed_child_fails_the_node_unless_it_is_caught(
    on_failure: str, status: Any, code: str | None
) -> None:
    node = {"kind": "workflow_call", "workflow_def_id": "w", "on_failure": on_failure, **RESULT}
    player = Player(workflow({"a": node}, [])).start()
    (start,) = player.of(StartChild)
    failure = Failure("BROKEN", "it broke") if status == "failed" else None
    player.bring(ChildEnded(start.token_id, start.child_run_id, status, None, failure))
    assert player.error == code
    if code is None:
        assert player.run.state == {
            "result": {"error": {"code": "BROKEN", "message": "it broke", "run_id": start.child_run_id}}
        }


def test_act_10_the_error_of_nested_calls_has_its_cause_first_and_the_way_to_it_once() -> None:
    failure: Failure | None = Failure("BROKEN", "it broke; mend it", node="pay")
    for level in (3, 2, 1):
        player = Player(workflow({"call": {"kind": "workflow_call", "workflow_def_id": "w"}}, [])).start()
        (start,) = player.of(StartChild)
        player.bring(ChildEnded(start.token_id, start.child_run_id, "failed", None, failure))
        failure = player.of(EndRun)[0].failure
        assert failure
        runs = " → ".join([start.child_run_id] * (4 - level))
        assert failure.message == f"it broke; mend it (in the sub-workflow {runs}, at 'pay')"


def test_act_10_a_sub_workflow_that_was_cancelled_is_called_so() -> None:
    player = Player(workflow({"a": {"kind": "workflow_call", "workflow_def_id": "w"}}, [])).start()
    (start,) = player.of(StartChild)
    player.bring(ChildEnded(start.token_id, start.child_run_id, "cancelled", None, None))
    failure = player.of(EndRun)[0].failure
    assert failure
    assert failure.message == f"the sub-workflow {start.child_run_id} was cancelled"


def test_act_5_messages_have_the_words_of_json() -> None:
    """Not those of Python: None, False."""
    node = {"kind": "workflow_call", "workflow_def_id": {"from_context": "input.which"}}
    player = Player(workflow({"a": node}, [])).start({"which": False})
    failure = player.of(EndRun)[0].failure
    assert failure
    assert ", and found false; correct" in failure.message
    routed = Player(workflow({"a": {}, "b": {}}, [{"from": "a", "to": "b", "if": "1 = 2"}])).start()
    routed.complete("a", 1)
    failure = routed.of(EndRun)[0].failure
    assert failure
    assert "False" not in failure.message
    assert "1 = 2 is " in failure.message


def test_lay_3_the_time_out_of_a_waiting_task_is_a_durable_timer() -> None:
    node = {"kind": "human_input", "prompt": "?", "task": {"timeout_ms": 30}}
    compiled = workflow({"a": node, "b": {}}, [{"from": "a", "to": "b", "if": "_last_error.code = 'TASK_TIMEOUT'"}])
    player = Player(compiled).start()
    player.fire("task:")
    assert player.live() == ["b@0 dispatched"]
    assert player.ends() == {"a@0": "timed_out"}
    assert len(player.of(WithdrawInput)) == 1


@pytest.mark.parametrize(
    ("step", "task", "result"),
    [
        ({"condition": {"if": "input.go", "else": "skip"}}, {}, {}),
        ({"condition": {"if": "input.go", "else": "fail"}}, {}, "STEP_CONDITION"),
        ({"condition": {"if": "input.go IS NULL", "then": "succeed"}}, {}, {}),
        ({}, {"input_schema": {"required": ["x"]}}, "TASK_INPUT_SCHEMA"),
        ({"on_failure": "continue"}, {"input_schema": {"required": ["x"]}}, "TASK_INPUT_SCHEMA"),
        ({"condition": {"if": "true", "then": "succeed"}}, {"input_schema": {"required": ["x"]}}, "TASK_INPUT_SCHEMA"),
        (
            {"condition": {"if": "true", "then": "succeed"}},
            {"output_schema": {"required": ["x"]}},
            "TASK_OUTPUT_SCHEMA",
        ),
    ],
)
def test_tsk_2_and_4_hold_for_a_waiting_step_too(step: Any, task: Any, result: Any) -> None:
    compiled = workflow({"a": {"kind": "sleep", "ms": 5, "step": step, "task": task, **RESULT}}, [])
    player = Player(compiled).start()
    if isinstance(result, str):
        assert player.error == result
    else:
        assert player.run.status == "completed"
        assert player.run.state == {"result": result}
