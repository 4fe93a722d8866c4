"""Checks of tasks, steps and actions: durable waits, scopes, time-outs, texts and references (LAY-3, FIL-2, RES-4)."""

from typing import Any

import pytest

from support.definitions import faults_in, noop, workflow
from support.graphs import found_in, graph

FUNCTION = {"kind": "python", "implementation": {"function": "m:f"}}
WAITING = {
    "human_input": {"prompt": "?"},
    "workflow_call": {"workflow_def_id": "test"},
    "sleep": {"ms": 1},
    "wait_for_event": {"event": "paid"},
}
SCOPED = {
    "update_context": {"updates": []},
    "assert": {"expr": "1"},
    "emit_metric": {"metric_name": "m", "value": 1},
}


def action(kind: str, **implementation: Any) -> dict[str, Any]:
    return {"kind": kind, "implementation": {**WAITING.get(kind, {}), **SCOPED.get(kind, {}), **implementation}}


def with_task(steps: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Make a workflow of one node whose task has these steps, called s0, s1 and so on."""
    numbered = [{"ref": f"s{i}", **step} for i, step in enumerate(steps)]
    return {**workflow({"n": {"task": "t"}}), "tasks": {"t": {"steps": numbered, **fields}}}


YES_OR_NO = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def test_act_4_evidence_names_paths_that_the_context_has() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}}
    evidence = {"good": "state.total", "wrong": "state.totl", "nowhere": "stat.total"}
    definition = workflow({"n": {"action": action("human_input", evidence=evidence)}}, context_schema=schema)
    at = "nodes.n.action.implementation.evidence"
    assert found_in(definition) == [f"unknown_field at {at}.wrong", f"unknown_name at {at}.nowhere"]


@pytest.mark.parametrize("kind", WAITING)
@pytest.mark.parametrize("at", [0, 1])
def test_lay_3_a_durable_wait_is_the_sole_step_of_its_task(kind: str, at: int) -> None:
    steps = [{"action": FUNCTION}]
    steps.insert(at, {"action": action(kind)})
    assert found_in(with_task(steps)) == [f"waiting_step at tasks.t.steps.{at}.action"]
    assert found_in(with_task([{"action": action(kind)}])) == []


@pytest.mark.parametrize("kind", WAITING)
def test_lay_3_a_durable_wait_is_never_tried_again(kind: str) -> None:
    assert found_in(with_task([{"action": action(kind)}], retry={"max_attempts": 2})) == [
        "retry_on_waiting at tasks.t.retry"
    ]
    again = {**action(kind), "execution": {"retry_policy": {"max_attempts": 2}}}
    assert found_in(with_task([{"action": again}])) == [
        "retry_on_waiting at tasks.t.steps.0.action.execution.retry_policy"
    ]
    assert found_in(with_task([{"action": action(kind)}], timeout_ms=5)) == []  # a durable timer


def test_tsk_7_a_queue_is_refused_while_no_worker_takes_its_tasks() -> None:
    assert found_in(with_task([{"action": FUNCTION}], queue="gpu")) == ["queue_without_workers at tasks.t.queue"]
    assert found_in(with_task([{"action": FUNCTION}])) == []


FIELDS_OF_ACTIONS = {
    "requires": {"type": "object"},
    "produces": {"type": "boolean"},
    "execution": {"timeout_ms": 5},
    "idempotency": {"key_template": "{{run_id}}"},
}


@pytest.mark.parametrize("field", FIELDS_OF_ACTIONS)
@pytest.mark.parametrize("scope", ["task", "workflow"])
@pytest.mark.parametrize("kind", SCOPED)
def test_tsk_7_an_action_on_a_context_has_neither_input_nor_output_nor_attempts(
    kind: str, scope: str, field: str
) -> None:
    given = {**action(kind, scope=scope), field: FIELDS_OF_ACTIONS[field]}
    assert found_in(with_task([{"action": given}])) == [f"without_effect at tasks.t.steps.0.action.{field}"]
    inline = {"n": {"action": {**action(kind), field: FIELDS_OF_ACTIONS[field]}}}
    assert found_in(workflow(inline)) == [f"without_effect at nodes.n.action.{field}"]


@pytest.mark.parametrize("kind", WAITING)
def test_tsk_7_a_wait_is_limited_and_only_a_call_has_a_key(kind: str) -> None:
    for field in ("requires", "produces", "execution"):
        assert found_in(with_task([{"action": {**action(kind), field: FIELDS_OF_ACTIONS[field]}}])) == []
    keyed = {**action(kind), "idempotency": FIELDS_OF_ACTIONS["idempotency"]}
    refused = [] if kind == "workflow_call" else ["without_effect at tasks.t.steps.0.action.idempotency"]
    assert found_in(with_task([{"action": keyed}])) == refused


@pytest.mark.parametrize("kind", SCOPED)
@pytest.mark.parametrize(
    ("task", "step", "where"),
    [
        ({"input_schema": {"type": "object"}}, {}, "input_schema"),
        ({"output_schema": {"type": "object"}}, {}, "output_schema"),
        ({"retry": {"max_attempts": 2}}, {}, "retry"),
        ({"timeout_ms": 5}, {}, "timeout_ms"),
        ({}, {"condition": {"if": "1 = 2"}}, "steps.0.condition"),
        ({}, {"input_mapping": {"x": 1}}, "steps.0.input_mapping"),
        ({}, {"output_mapping": {"output.x": 1}}, "steps.0.output_mapping"),
    ],
)
def test_tsk_7_a_task_on_the_workflow_context_has_only_what_the_engine_can_obey(
    kind: str, task: dict[str, Any], step: dict[str, Any], where: str
) -> None:
    on_workflow = [{"action": action(kind, scope="workflow"), **step}]
    assert found_in(with_task(on_workflow, **task)) == [f"without_effect at tasks.t.{where}"]
    on_task = [{"action": action(kind, scope="task"), **step}]
    refused = ["without_effect at tasks.t.steps.0.input_mapping"] if where.endswith("input_mapping") else []
    assert found_in(with_task(on_task, **task)) == refused


@pytest.mark.parametrize(
    ("dimension", "refused"),
    [
        ("$.input.r", True),
        ("$['input']", True),
        ("$", True),
        ("$..r", True),
        ("$5", False),
        ("$5.00", False),
        ("US$.", False),
        ("$.", False),
        ("a $.input.r", False),
    ],
)
def test_act_10_a_dimension_is_a_template_and_no_query(dimension: str, refused: bool) -> None:
    metric = action("emit_metric", dimensions={"r": dimension})
    found = found_in(with_task([{"action": metric}]))
    assert found == (["query_in_template at tasks.t.steps.0.action.implementation.dimensions.r"] if refused else [])


@pytest.mark.parametrize("kind", SCOPED)
def test_fil_2_an_action_on_the_workflow_context_is_the_sole_step_of_its_task(kind: str) -> None:
    steps = [{"action": action(kind, scope="workflow")}, {"action": FUNCTION}]
    assert found_in(with_task(steps)) == ["workflow_scope_step at tasks.t.steps.0.action"]
    assert found_in(with_task(steps[:1])) == []
    assert found_in(with_task([{"action": action(kind)}, {"action": FUNCTION}])) == []


@pytest.mark.parametrize("kind", SCOPED)
@pytest.mark.parametrize("place", ["in line", "in a task", "named"])
def test_fil_2_a_node_on_the_workflow_context_has_no_mappings(kind: str, place: str) -> None:
    mappings = {"input_mapping": {"x": 1}, "output_mapping": {"state.x": "$"}}
    scoped = action(kind, scope="workflow")
    nodes = {
        "in line": {"action": action(kind)},
        "in a task": {"task": {"steps": [{"ref": "s", "action": scoped}]}},
        "named": {"action": "named"},
    }
    definition = {**workflow({"n": {**nodes[place], **mappings}}), "actions": {"named": scoped}}
    assert found_in(definition) == [
        "mapping_not_possible at nodes.n.input_mapping",
        "mapping_not_possible at nodes.n.output_mapping",
    ]


def test_fil_2_in_a_task_such_an_action_sees_the_task_and_has_mappings() -> None:
    schema = {"type": "object", "properties": {"total": {}}}
    updates = [{"path": "output.total", "expr": "input.total + state.anything"}, {"path": "output.sum", "expr": 1}]
    updates += [{"path": "state.x", "expr": "input.totl"}, {"path": "state.x", "expr": "_branch.index"}]
    step = {"action": action("update_context", updates=updates)}
    below = "tasks.t.steps.0.action.implementation.updates"
    definition = with_task([step, {"action": FUNCTION}], input_schema=schema, output_schema=schema)
    definition["workflow"]["nodes"]["n"]["input_mapping"] = {"total": 1}
    assert found_in(definition) == [
        f"unknown_field at {below}.2.expr",
        f"unknown_name at {below}.3.expr",
        f"unknown_target at {below}.1.path",
    ]


def test_two_steps_of_one_ref_are_refused() -> None:
    steps = [{"ref": "same", "action": FUNCTION}, {"ref": "same", "action": "f"}]
    definition = {**with_task(steps), "actions": {"f": FUNCTION}}
    assert found_in(definition) == ["duplicate_ref at tasks.t.steps.1.ref"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"if": "input.n > 1"}, []),
        ({"if": "state.any is null and output.any is null"}, []),
        ({"if": "input.m > 1"}, ["unknown_field at tasks.t.steps.0.condition.if"]),
        ({"if": "_branch.index = 1"}, ["unknown_name at tasks.t.steps.0.condition.if"]),
        ({"if": "_last_error.code = 1"}, ["unknown_name at tasks.t.steps.0.condition.if"]),
        ({"if": "input.n >"}, ["expression_syntax at tasks.t.steps.0.condition.if"]),
        ({"if": "random() > 1"}, ["expression_forbidden at tasks.t.steps.0.condition.if"]),
        ({"if": "frobnicate(1)"}, ["unknown_function at tasks.t.steps.0.condition.if"]),
        ({"if": "input.n > 1", "then": "stop"}, ["bad_choice at tasks.t.steps.0.condition.then"]),
        ({"then": "skip"}, ["missing_field at tasks.t.steps.0.condition.if"]),
    ],
)
def test_tsk_2_a_condition_of_a_step_reads_the_task(condition: dict[str, Any], found: list[str]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert found_in(with_task([{"action": FUNCTION, "condition": condition}], input_schema=schema)) == found


@pytest.mark.parametrize(
    ("fields", "retry", "found"),
    [
        ({"on_failure": "retry"}, None, ["retry_without_policy at tasks.t.steps.0.on_failure"]),
        ({"on_failure": "retry"}, {"max_attempts": 2}, []),
        ({"on_failure": "abort"}, None, []),
        ({"on_failure": "continue"}, None, []),
    ],
)
def test_tsk_3_a_step_that_retries_without_a_retry_of_its_task_is_a_warning(
    fields: dict[str, Any], retry: dict[str, Any] | None, found: list[str]
) -> None:
    definition = with_task([{"action": FUNCTION, **fields}], **({"retry": retry} if retry else {}))
    assert found_in(definition) == found


@pytest.mark.parametrize(
    ("workflow_ms", "task_ms", "action_ms", "found"),
    [
        (1000, 1000, 1000, []),
        (None, None, 5000, []),
        (1000, None, 5000, []),  # only a step and its own task are compared
        (1000, 2000, None, ["timeout_order at nodes.n"]),
        (None, 1000, 2000, ["timeout_order at tasks.t.steps.0"]),
        (1000, 2000, 3000, ["timeout_order at nodes.n", "timeout_order at tasks.t.steps.0"]),
    ],
)
def test_ret_3_a_time_out_above_the_one_around_it_is_a_warning(
    workflow_ms: int | None, task_ms: int | None, action_ms: int | None, found: list[str]
) -> None:
    definition = with_task([{"action": {**FUNCTION, "execution": {"timeout_ms": action_ms}}}], timeout_ms=task_ms)
    definition["workflow"]["timeout_ms"] = workflow_ms
    assert found_in(definition) == found


@pytest.mark.parametrize(
    ("implementation", "kind", "code"),
    [
        ({"url_template": "{{#if a}}", "method": "GET"}, "http_request", "template_syntax"),
        ({"url_template": "http://x", "method": "GET", "headers": {"A": "{{"}}, "http_request", "template_syntax"),
        ({"url_template": "http://x", "method": "POST", "body_template": "{{/x}}"}, "http_request", "template_syntax"),
        ({"url_template": "http://x", "method": "HEAD", "body_template": "x"}, "http_request", "body_not_sent"),
        ({"url_template": "http://x", "method": "FETCH"}, "http_request", "bad_choice"),
        ({"url_template": "http://x", "method": "GET", "accept_status": [700]}, "http_request", "out_of_range"),
        ({"prompt": "{{"}, "human_input", "template_syntax"),
        ({"prompt": "?", "on_deadline": {"default": 1}}, "human_input", "no_deadline"),
        (
            {"prompt": "?", "deadline_ms": 5, "on_deadline": {"default": 1}, "schema": {"type": "string"}},
            "human_input",
            "default_misfit",
        ),
        ({"prompt": "?", "schema": {"type": "text"}}, "human_input", "schema_unknown_type"),
        ({"prompt": "?", "assignee": "{{"}, "human_input", "template_syntax"),
        ({"prompt": "?", "evidence": {"x": "state..y"}}, "human_input", "path_syntax"),
        ({"prompt": "?", "assignee": "ann", "role": "author"}, "human_input", "two_assignees"),
        ({"prompt": "?", "assignee": "ann", "answerable_by": {"names": ["bob"]}}, "human_input", "cannot_answer"),
        ({"prompt": "?", "role": "author", "answerable_by": {"names": ["bob"]}}, "human_input", "cannot_answer"),
        ({"prompt": "?", "role": "operator", "answerable_by": {"role": "admin"}}, "human_input", "cannot_answer"),
        ({"prompt": "?", "answerable_by": {"names": []}}, "human_input", "too_short"),
        ({"prompt": "?", "answerable_by": {"names": ["a", "a"]}}, "human_input", "named_twice"),
        ({"prompt": "?", "answerable_by": {"role": "viewer"}}, "human_input", "bad_choice"),
        ({"prompt": "?", "remind_ms": 20, "deadline_ms": 20}, "human_input", "late_reminder"),
        ({"prompt": "?", "quorum": {"of": ["a", "b"], "needed": 3}}, "human_input", "quorum_too_large"),
        ({"prompt": "?", "quorum": {"of": ["a", "b", "a"], "needed": 2}}, "human_input", "named_twice"),
        ({"prompt": "?", "quorum": {"of": ["a"], "needed": 0}}, "human_input", "out_of_range"),
        ({"prompt": "?", "quorum": {"of": [], "needed": 1}}, "human_input", "too_short"),
        ({"prompt": "?", "assignee": "a", "quorum": {"of": ["a"], "needed": 1}}, "human_input", "quorum_assigned"),
        ({"prompt": "?", "role": "admin", "quorum": {"of": ["a"], "needed": 1}}, "human_input", "quorum_assigned"),
        (
            {"prompt": "?", "answerable_by": {"names": ["a"]}, "quorum": {"of": ["a", "b"], "needed": 1}},
            "human_input",
            "cannot_answer",
        ),
        (
            {"prompt": "?", "schema": YES_OR_NO, "quorum": {"of": ["a"], "needed": 1, "agree_on": "okay"}},
            "human_input",
            "unknown_field",
        ),
        (
            {
                "prompt": "?",
                "schema": YES_OR_NO,
                "quorum": {"of": ["a"], "needed": 1, "on_disagreement": {"default": {"ok": 1}}},
            },
            "human_input",
            "default_misfit",
        ),
        ({"prompt": "?", "quorum": {"of": ["a"], "needed": 1, "on_disagreement": "vote"}}, "human_input", "bad_choice"),
        ({"event": "e", "key": "{{"}, "wait_for_event", "template_syntax"),
        ({"path": "/etc/passwd"}, "read_file", "path_outside"),
        ({"path": "a/../../b"}, "read_file", "path_outside"),
        ({"path": "~/x", "content": ""}, "write_file", "path_outside"),
        ({"path": "x", "content": "{{"}, "write_file", "template_syntax"),
        ({"function": "os.system"}, "python", "bad_form"),
        ({"command": []}, "shell_command", "too_short"),
        ({"command": ["ls"], "shell": True}, "shell_command", "shell_text"),
        ({"command": "ls"}, "shell_command", "shell_text"),
        ({"command": ["ls", "{{"]}, "shell_command", "template_syntax"),
        ({"command": ["ls"], "env": {"A": "{{"}}, "shell_command", "template_syntax"),
        ({"command": ["ls"], "stdin": "{{/x}}"}, "shell_command", "template_syntax"),
        ({"command": ["ls"], "cwd": "../x"}, "shell_command", "path_outside"),
        ({"command": "ls {{x}}", "shell": True}, "shell_command", "template_in_shell"),
        ({"ms": -1}, "sleep", "out_of_range"),
        ({"until": "soon"}, "sleep", "bad_form"),
        ({}, "sleep", "ms_or_until"),
        ({"metric_name": "m", "value": {"expr": "1 +"}}, "emit_metric", "expression_syntax"),
        ({"metric_name": "m", "value": 1, "dimensions": {"__name__": "x"}}, "emit_metric", "reserved_name"),
        ({"metric_name": "m", "value": "1"}, "emit_metric", "wrong_type"),
        ({"metric_name": "m", "value": 1, "dimensions": {"d": "{{"}}, "emit_metric", "template_syntax"),
        ({"artifact_type_id": "blob", "content_mapping": "$x"}, "write_artifact", "mapping_syntax"),
        ({"workflow_def_id": {"from_context": "a..b"}}, "workflow_call", "path_syntax"),
        ({"updates": [{"path": "input.x", "expr": 1}]}, "update_context", "bad_target"),
        ({"updates": [{"path": "state.x"}]}, "update_context", "missing_field"),
        ({"updates": {}}, "update_context", "wrong_type"),
        ([], "python", "wrong_type"),
    ],
)
def test_act_8_the_implementation_of_each_kind_is_checked(implementation: Any, kind: str, code: str) -> None:
    faults = faults_in({"actions": {"x": {"kind": kind, "implementation": implementation}}})
    assert [fault.code for fault in faults] == [code]
    assert faults[0].path[:3] == ("actions", "x", "implementation")


@pytest.mark.parametrize(
    ("action_fields", "code"),
    [
        ({"idempotency": {"key_template": "{{"}}, "template_syntax"),
        ({"requires": {"$ref": "http://x.test"}}, "schema_outside_ref"),
        ({"produces": 3}, "schema_not_a_schema"),
        ({"execution": {"timeout_ms": 0}}, "out_of_range"),
        ({"kind": "pyton"}, "bad_choice"),
        ({"descripton": "x"}, "unknown_field"),
    ],
)
def test_an_action_is_checked_wherever_it_stands(action_fields: dict[str, Any], code: str) -> None:
    written = {**FUNCTION, **action_fields}
    for definition in (
        {"actions": {"x": written}},
        {"tasks": {"t": {"steps": [{"ref": "s", "action": written}]}}},
        workflow({"n": {"action": written}}),
        {"libraries": {"l": {"actions": {"x": written}}}},
    ):
        assert [fault.code for fault in faults_in(definition)] == [code]


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("t", None),
        ("lib/t", None),
        ("other", "missing_ref"),
        ("t@1", "missing_ref"),
        ("lib/other", "missing_ref"),
        ("nolib/t", "missing_ref"),
        ("t@", "bad_reference"),
        ("t@0", "bad_reference"),
        ("a/b/c", "bad_reference"),
        ("", "too_short"),
    ],
)
def test_res_4_a_name_is_looked_up_in_the_file(reference: str, code: str | None) -> None:
    task = {"steps": [{"ref": "s", "action": FUNCTION}]}
    definition = {
        **workflow({"n": {"task": reference}}),
        "tasks": {"t": task},
        "libraries": {"lib": {"tasks": {"t": task}}},
    }
    assert found_in(definition) == ([f"{code} at nodes.n.task"] if code else [])


@pytest.mark.parametrize(
    ("trigger", "code"),
    [
        ({"inputs": {"x": "@output.rows", "y": ["@input"], "z": "@@text", "n": 1}}, None),
        ({"inputs": {"x": "@output.row"}}, "missing_ref"),
        ({"inputs": {"x": "@output.rows.0"}}, "bad_ref"),
        ({"inputs": {"x": {"y": ["@item"]}}}, "missing_ref"),
        ({"inputs": {"x": "@step.output"}}, "missing_ref"),
        ({"inputs": {"x": "@output..rows"}}, "bad_ref"),
        ({"inputs": {"x": "@item", "i": "@index"}, "forEach": "@output.rows"}, None),
        ({"inputs": {}, "forEach": "output.rows"}, "bad_ref"),
        ({"inputs": {}, "forEach": "@item"}, "missing_ref"),
        ({"inputs": []}, "wrong_type"),
        ({}, "missing_field"),
        ({"inputs": {}, "max_retries": -1}, "out_of_range"),
        ({"inputs": {}, "on_timeout": "human_gate"}, "useless_on_timeout"),
        ({"inputs": {}, "on_timeout": "ask", "workflow_timeout_ms": 1}, "bad_choice"),
        ({"inputs": {}, "workflowId": "nobody"}, "trigger_target"),
        ({"inputs": {}, "workflowId": "test"}, "trigger_cycle"),
    ],
)
def test_phs_6_a_trigger_names_what_can_be_there(trigger: dict[str, Any], code: str | None) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}}
    definition = workflow({"n": noop()}, output_schema=schema, triggers=[{"workflowId": "other", **trigger}])
    definition["workflows"] = {"other": {"initial_node": "n", "nodes": {"n": noop()}}}
    assert [fault.code for fault in faults_in(definition)] == ([code] if code else [])


def test_phs_6_an_element_that_is_named_like_a_field_is_shown_as_it_is_written() -> None:
    trigger = {"workflowId": "other", "inputs": {"x": "@output.rows.0.id"}}
    definition = workflow({"n": noop()}, output_schema={"type": "object"}, triggers=[trigger])
    definition["workflows"] = {"other": {"initial_node": "n", "nodes": {"n": noop()}}}
    assert [fault.hint for fault in faults_in(definition)] == ["an element of a list is written @output.rows[0].id"]


@pytest.mark.parametrize(
    ("inputs", "place", "words"),
    [
        ({"id": "@item.id", "n": "@index"}, None, ""),
        ({"id": "@output.any", "n": 1}, None, ""),  # nothing is known of it
        ({"id": "@@item", "n": 1}, None, ""),
        ({"id": "x", "n": 1, "tags": ["@item.id", "y"], "place": {"x": "@index"}}, None, ""),
        ({"n": 1}, "inputs", "'id' is missing"),
        ({"id": "@index", "n": 1}, "inputs.id", "expected string but got integer"),
        ({"id": "@item.n", "n": 1}, "inputs.id", "expected string but got number"),
        ({"id": "x", "n": "@output.rows"}, "inputs.n", "expected number but got"),
        ({"id": 7, "n": 1}, "inputs.id", "expected string but got 7"),
        ({"id": "@item.either", "n": 1}, "inputs.id", "expected string but got"),  # a union
        ({"id": "x", "n": 1, "tags": "@item.numbers"}, "inputs.tags", "expected string[] but got number[]"),
        ({"id": "x", "n": 1, "tags": ["x", "@index"]}, "inputs.tags", "expected string[] but got ["),
        ({"id": "x", "n": 1, "place": {"x": "@item.id"}}, "inputs.place", "expected number but got string at 'x'"),
        ({"id": "x", "n": 1, "tag": []}, "inputs.tag", "the workflow 'other' has no input 'tag'"),
    ],
)
def test_phs_6_inputs_that_do_not_fit_the_target_are_rejected(
    inputs: dict[str, Any], place: str | None, words: str
) -> None:
    row = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "n": {"type": "number"},
            "either": {"type": ["string", "number"]},
            "numbers": {"type": "array", "items": {"type": "number"}},
        },
    }
    rows = {"type": "object", "properties": {"rows": {"type": "array", "items": row}, "any": {}}}
    trigger = {"workflowId": "other", "inputs": inputs, "forEach": "@output.rows"}
    takes = {
        "type": "object",
        "required": ["id", "n", "day"],
        "properties": {
            "id": {"type": "string"},
            "n": {"type": "number"},
            "day": {"type": "string", "default": "x"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"x": {"type": "number"}}},
        },
    }
    definition = workflow({"n": noop()}, output_schema=rows, triggers=[trigger])
    definition["workflows"] = {"other": {"initial_node": "n", "nodes": {"n": noop()}, "input_schema": takes}}
    found = faults_in(definition)
    assert [(fault.code, fault.severity) for fault in found] == ([("trigger_input", "error")] if place else [])
    for fault in found:
        assert ".".join(map(str, fault.path)).endswith(f"triggers.0.{place}")
        assert words in fault.message


def test_a_node_that_was_cut_out_does_not_hide_the_faults_beside_it() -> None:
    nodes = {"a": noop(), "b": {"task": 3}, "c": noop(input_mapping={"x": "$.input.y"}), "d": noop(nonsense=1)}
    definition = graph("a > b", "b > c", "c > d", "d > nowhere", nodes=nodes, timeout_ms="soon")
    del definition["workflow"]["nodes"]["nowhere"]
    definition["workflow"]["input_schema"] = {"type": "object", "properties": {"x": {}}}
    assert found_in(definition) == [
        "missing_node at transitions.3.to",
        "unknown_field at nodes.c.input_mapping.x",
        "unknown_field at nodes.d.nonsense",
        "wrong_type at nodes.b.task",
        "wrong_type at timeout_ms",
    ]


def test_a_field_of_the_workflow_that_is_wrong_does_not_hide_the_faults_of_its_graph() -> None:
    assert found_in(graph("a > b", "a > c @1", nodes={"d": noop()}, timeout_ms="soon", colour="red")) == [
        "unknown_field at colour",
        "unreachable_node at nodes.d",
        "unreachable_tier at transitions.1",
        "wrong_type at timeout_ms",
    ]
