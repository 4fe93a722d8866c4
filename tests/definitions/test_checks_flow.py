"""Checks of what flows where: reads of what a closed schema does not have, values that can't fit (CTX-5, CTX-5b)."""

from typing import Any

import pytest

from support.definitions import faults_in, noop, update, workflow
from support.graphs import found_in, graph

CUSTOMER = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": ["integer", "null"]},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False},
        "extra": {"type": "object", "properties": {"known": {}}, "additionalProperties": True},
        "any": {},
        "tags": {"type": "array", "items": {"type": "string"}},
        "either": {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
    },
}


@pytest.mark.parametrize(
    ("path", "is_there"),
    [
        ("input.name", True),
        ("input.nam", False),
        ("input.name.first", False),
        ("input.address.city", True),
        ("input.address.town", False),
        ("input.extra.unknown", True),
        ("input.any.thing.at.all", True),
        ("input.tags[0]", True),
        ("input.tags.first", False),
        ("input.tags[0].x", False),
        ("input.either.a", True),
        ("input.either.b", True),
        ("input.either.c", False),
        ("state.whatever", True),  # the context has no schema
        ("output.whatever", True),
        ("_last_error.code", True),
        ("_last_error.kode", False),
        ("state._last_error.message", True),
        ("state._last_error.text", False),
    ],
)
class TestReads:
    """CTX-5b, EXP-2: the same names are there in every place where one can read."""

    def test_a_mapping_reads_what_the_schema_has(self, path: str, is_there: bool) -> None:
        definition = workflow({"a": noop(input_mapping={"x": {"y": [f"$.{path}"]}})}, input_schema=CUSTOMER)
        found = [] if is_there else ["unknown_field at nodes.a.input_mapping.x.y.0"]
        assert found_in(definition) == found

    def test_a_condition_reads_what_the_schema_has(self, path: str, is_there: bool) -> None:
        definition = graph(f"a > b if {path} is not null", "a > c @1", input_schema=CUSTOMER)
        found = [] if is_there else ["unknown_field at transitions.0.condition"]
        assert found_in(definition) == found

    def test_an_update_reads_what_the_schema_has(self, path: str, is_there: bool) -> None:
        definition = workflow({"a": update(**{"state.copy": f"coalesce({path}, 1)"})}, input_schema=CUSTOMER)
        found = [] if is_there else ["unknown_field at nodes.a.action.implementation.updates.0.expr"]
        assert found_in(definition) == found

    def test_an_assertion_and_a_metric_read_what_the_schema_has(self, path: str, is_there: bool) -> None:
        sure = {"action": {"kind": "assert", "implementation": {"expr": path}}}
        metric = {"action": {"kind": "emit_metric", "implementation": {"metric_name": "m", "value": {"expr": path}}}}
        definition = graph("a > b", nodes={"a": sure, "b": metric}, input_schema=CUSTOMER)
        found = ["unknown_field at nodes.a.action.implementation.expr"]
        found += ["unknown_field at nodes.b.action.implementation.value.expr"]
        assert found_in(definition) == ([] if is_there else found)


@pytest.mark.parametrize(
    ("name", "code"), [("total", None), ("totl", "unknown_field"), ("input", None), ("_branch", "unknown_name")]
)
def test_exp_2_a_bare_name_is_a_field_of_state_and_a_root_that_is_not_here_is_none(name: str, code: str | None) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}}
    found = [f"{code} at transitions.0.condition"] if code else []
    assert found_in(graph(f"a > b if {name} is not null", "a > c @1", context_schema=schema)) == found


def test_exp_2_a_root_that_is_not_here_is_told_although_the_context_is_open() -> None:
    assert found_in(graph("a > b if _branch.index = 1", "a > c @1")) == ["unknown_name at transitions.0.condition"]


INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
LIST = {"type": "array"}


def takes(**properties: Any) -> dict[str, Any]:
    """Make a task that takes these properties and needs all of them."""
    schema = {"type": "object", "required": list(properties), "properties": properties}
    action = {"kind": "python", "implementation": {"function": "m:f"}}
    return {"input_schema": schema, "steps": [{"ref": "s", "action": action, "input_mapping": "$.input"}]}


@pytest.mark.parametrize(
    ("wanted", "given", "code"),
    [
        (INTEGER, 5, None),
        (INTEGER, "5", "type_mismatch"),
        (INTEGER, 1.5, "type_mismatch"),
        (INTEGER, None, "type_mismatch"),
        (INTEGER, "$.input.age", None),  # may be null, which is found at run time
        (INTEGER, "$.input.name", "type_mismatch"),
        (INTEGER, "$.input.any", None),
        (INTEGER, "$.input.tags[*]", "type_mismatch"),  # a wildcard gives a list
        (INTEGER, {"$literal": 5}, None),
        (INTEGER, {"$literal": "$5"}, "type_mismatch"),
        (TEXT, "$.input.name", None),
        (TEXT, "plain", None),
        (TEXT, {"a": 1}, "type_mismatch"),
        (LIST, "$.input.tags", None),
        (LIST, [1, "$.input.name"], None),
        (LIST, "$.input.name", "type_mismatch"),
        ({"type": "array", "items": INTEGER}, ["$.input.name", "a"], "type_mismatch"),
        ({"enum": ["red", "green"]}, "red", None),
        ({"enum": ["red", "green"]}, "blue", "type_mismatch"),
        ({"type": "integer", "minimum": 10}, 3, "type_mismatch"),
        (CUSTOMER, "$.input", None),
        (CUSTOMER, {"name": "$.input.name"}, None),
        ({}, {"any": ["thing"]}, None),
        (True, 3, None),
    ],
)
def test_a_mapping_whose_value_can_never_fit_its_target_is_a_type_mismatch(
    wanted: Any, given: Any, code: str | None
) -> None:
    node = {"task": "t", "input_mapping": {"x": given}}
    definition = {**workflow({"a": node}, input_schema=CUSTOMER), "tasks": {"t": takes(x=wanted)}}
    faults = faults_in(definition)
    assert [fault.code for fault in faults] == ([code] if code else [])
    assert all(fault.path[:5] == ("workflow", "nodes", "a", "input_mapping", "x") for fault in faults)


@pytest.mark.parametrize(
    ("mapping", "found"),
    [
        ({"x": 1}, []),
        ({}, ["missing_input at nodes.a.input_mapping"]),
        (None, ["missing_input at nodes.a.input_mapping"]),
        ({"y": 1}, ["missing_input at nodes.a.input_mapping", "unknown_field at nodes.a.input_mapping.y"]),
        ("$.input", []),
        ("$.input.name", ["type_mismatch at nodes.a.input_mapping"]),
        (7, ["type_mismatch at nodes.a.input_mapping"]),
    ],
)
def test_a_task_is_given_all_that_it_needs_and_nothing_that_it_does_not_know(mapping: Any, found: list[str]) -> None:
    node = {"task": "t"} if mapping is None else {"task": "t", "input_mapping": mapping}
    definition = {**workflow({"a": node}, input_schema=CUSTOMER), "tasks": {"t": takes(x=INTEGER)}}
    assert found_in(definition) == found


def child(**fields: Any) -> dict[str, Any]:
    return {"workflows": {"child": {"initial_node": "n", "nodes": {"n": noop()}, **fields}}}


def test_act_5_a_sub_workflow_takes_what_its_input_schema_says_and_gives_its_output() -> None:
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": "child"}}
    node = {
        "action": call,
        "input_mapping": {"order": 7},
        "output_mapping": {"state.total": "$.total", "state.x": "$.y"},
    }
    schemas = child(
        input_schema={"type": "object", "required": ["order"], "properties": {"order": TEXT}},
        output_schema={"type": "object", "properties": {"total": TEXT}},
    )
    context = {"type": "object", "properties": {"total": INTEGER, "x": {}}}
    assert found_in({**workflow({"a": node}, context_schema=context), **schemas}) == [
        "type_mismatch at nodes.a.input_mapping.order",
        "type_mismatch at nodes.a.output_mapping.state.total",
        "unknown_field at nodes.a.output_mapping.state.x",
    ]


def test_act_5_a_sub_workflow_whose_failure_is_caught_may_give_an_error_instead() -> None:
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": "child", "on_failure": "catch"}}
    node = {"action": call, "output_mapping": {"state.why": "$.error.code"}}
    schemas = child(output_schema={"type": "object", "properties": {"total": TEXT}})
    assert found_in({**workflow({"a": node}), **schemas}) == []


@pytest.mark.parametrize(
    ("action", "query", "wanted", "code"),
    [
        ({"kind": "human_input", "implementation": {"prompt": "?", "schema": TEXT}}, "$", INTEGER, "type_mismatch"),
        ({"kind": "human_input", "implementation": {"prompt": "?", "schema": TEXT}}, "$", TEXT, None),
        ({"kind": "human_input", "implementation": {"prompt": "?"}}, "$.any", INTEGER, None),
        (
            {"kind": "http_request", "implementation": {"method": "GET", "url_template": "http://x"}},
            "$.status",
            INTEGER,
            None,
        ),
        (
            {"kind": "http_request", "implementation": {"method": "GET", "url_template": "http://x"}},
            "$.status",
            TEXT,
            "type_mismatch",
        ),
        (
            {"kind": "http_request", "implementation": {"method": "GET", "url_template": "http://x"}},
            "$.stat",
            INTEGER,
            "unknown_field",
        ),
        (
            {
                "kind": "http_request",
                "implementation": {"method": "GET", "url_template": "http://x", "response": "text"},
            },
            "$.body.x",
            TEXT,
            "unknown_field",
        ),
        ({"kind": "shell_command", "implementation": {"command": ["ls"]}}, "$.exit_code", TEXT, "type_mismatch"),
        ({"kind": "shell_command", "implementation": {"command": ["ls"]}}, "$.stdout", TEXT, None),
        ({"kind": "sleep", "implementation": {"ms": 1}}, "$.anything", TEXT, "unknown_field"),
        ({"kind": "read_file", "implementation": {"path": "a"}}, "$.size_bytes", TEXT, "type_mismatch"),
        ({"kind": "python", "implementation": {"function": "m:f"}}, "$.any", INTEGER, None),
        ({"kind": "python", "implementation": {"function": "m:f"}, "produces": TEXT}, "$", INTEGER, "type_mismatch"),
        ({"kind": "llm_call", "implementation": {"prompt_spec_id": "p"}}, "$", INTEGER, "type_mismatch"),
        ({"kind": "llm_call", "implementation": {"prompt_spec_id": "p"}}, "$", TEXT, None),
        ({"kind": "llm_call", "implementation": {"prompt_spec_id": "q"}}, "$.score", INTEGER, None),
        ({"kind": "llm_call", "implementation": {"prompt_spec_id": "q"}}, "$.scor", INTEGER, "unknown_field"),
    ],
)
def test_act_10_what_an_action_gives_is_known_by_its_kind(
    action: dict[str, Any], query: str, wanted: dict[str, Any], code: str | None
) -> None:
    context = {"type": "object", "properties": {"x": wanted}}
    definition = workflow({"a": {"action": action, "output_mapping": {"state.x": query}}}, context_schema=context)
    definition["prompts"] = {
        "p": {"template": "Hello"},
        "q": {"template": "Hello", "produces": {"type": "object", "properties": {"score": INTEGER}}},
    }
    assert found_in(definition) == ([f"{code} at nodes.a.output_mapping.state.x"] if code else [])


def test_what_a_task_gives_is_its_output_schema_or_that_of_the_action_that_it_passes_on() -> None:
    action = {"kind": "python", "implementation": {"function": "m:f"}, "produces": TEXT}
    step = {"ref": "s", "action": action}
    tasks = {
        "says": {"output_schema": {"type": "object", "properties": {"x": TEXT}}, "steps": [step]},
        "passes": {"steps": [{**step, "output_mapping": {"output": "$"}}]},
        "makes": {"steps": [{**step, "output_mapping": {"output.x": "$"}}]},
    }
    nodes = {
        "a": {"task": "says", "output_mapping": {"state.n": "$.x"}},
        "b": {"task": "passes", "output_mapping": {"state.n": "$"}},
        "c": {"task": "makes", "output_mapping": {"state.n": "$.x"}},
    }
    definition = graph("a > b", "b > c", nodes=nodes, context_schema={"type": "object", "properties": {"n": INTEGER}})
    assert found_in({**definition, "tasks": tasks}) == [
        "type_mismatch at nodes.a.output_mapping.state.n",
        "type_mismatch at nodes.b.output_mapping.state.n",
    ]


@pytest.mark.parametrize(
    ("path", "expr", "code"),
    [
        ("state.n", 5, None),
        ("state.n", {"$literal": "5"}, "type_mismatch"),
        ("state.n", [1], "type_mismatch"),
        ("state.n", "'5'", None),  # what an expression gives is found at run time
        ("state.list[0]", 1, None),
        ("state.n.deeper", 1, "unknown_target"),
        ("state.nn", 1, "unknown_target"),
        ("state", {"n": 1}, None),
        ("state", [1], "type_mismatch"),
        ("output.free", 1, None),
        ('state."n"', 1, None),
    ],
)
def test_fil_3_an_update_writes_a_value_that_its_target_can_hold(path: str, expr: Any, code: str | None) -> None:
    context = {"type": "object", "properties": {"n": INTEGER, "list": LIST}}
    faults = faults_in(workflow({"a": update(**{path: expr})}, context_schema=context))
    assert [fault.code for fault in faults] == ([code] if code else [])


def test_a_schema_with_a_fault_is_told_once_and_taken_as_open() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "int"}}}
    node = noop(input_mapping={"x": "$.input.other"})
    assert found_in(workflow({"a": node}, input_schema=schema)) == [
        "schema_unknown_type at input_schema.properties.n.type"
    ]
