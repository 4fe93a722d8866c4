"""Definitions that were made to break the checks: they end quickly, with a clear answer, and never too kindly."""

import time
from typing import Any

import pytest

from support.definitions import codes_in, faults_in, noop, workflow
from wonder.definitions.checks.branches import Branches
from wonder.definitions.differences import Difference, differences
from wonder.definitions.faults import FAULTS_MAX, DefinitionRefused, has_errors
from wonder.definitions.loading import load_text, load_value
from wonder.definitions.references import inline_name, parse_reference
from wonder.definitions.source import VALUES_MAX

PURE: dict[str, Any] = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
# What such a graph took before was minutes or hours, and now takes two seconds, so that a slow machine fails nothing.
SECONDS = 30.0


def graph(nodes: int, transitions: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return workflow({f"n{i}": PURE for i in range(nodes)}, transitions, initial_node="n0", **fields)


def test_a_large_or_tangled_graph_is_checked_in_linear_time() -> None:
    many = 3_000
    foreach = {"collection": "input.x"}
    tangles = [
        # One node with very many ways out, in one tier and in as many tiers.
        graph(2, [{"from": "n0", "to": "n1", "condition": f"input.x = {i}"} for i in range(many)]),
        graph(2, [{"from": "n0", "to": "n1", "condition": f"input.x = {i}", "priority": i} for i in range(many)]),
        # Every node fans out to every other: ways without number.
        graph(40, [{"from": f"n{i}", "to": f"n{j}", "foreach": foreach} for i in range(40) for j in range(40)]),
        # Fan-outs in fan-outs, each with an item of its own.
        graph(
            many,
            [
                {"from": f"n{i}", "to": f"n{i + 1}", "foreach": {"collection": "input.x", "item_var": f"v{i}"}}
                for i in range(many - 1)
            ],
        ),
        # Very many cycles, and one very long one.
        graph(
            many,
            [{"from": f"n{i}", "to": f"n{i}", "priority": 1} for i in range(many)]
            + [{"from": f"n{i}", "to": f"n{(i + 1) % many}"} for i in range(many)],
        ),
    ]
    started = time.process_time()
    for tangle in tangles:
        faults_in(tangle)
    assert time.process_time() - started < SECONDS


def test_a_node_that_can_be_reached_in_too_many_ways_is_reachable_all_the_same() -> None:
    count = 60
    document = graph(
        count + 1,
        [
            {"from": f"n{i}", "to": f"n{j}", "foreach": {"collection": "input.x", "item_var": f"v{i}"}}
            for i in range(count)
            for j in range(i + 1, min(count, i + 6))
        ]
        + [{"from": f"n{count - 1}", "to": f"n{count}"}],
    )
    assert codes_in(document) == []
    draft = load_value(document).reading.bundle.definitions.workflows["test"]
    branches = Branches(draft)
    assert f"n{count}" in branches.unknown
    assert set(branches.of_node) == set(draft.nodes)


@pytest.mark.parametrize(
    ("field", "size"),
    [("nodes", 10_001), ("transitions", 20_001)],
)
def test_a_graph_beyond_the_limit_is_refused(field: str, size: int) -> None:
    transitions = [{"from": "n0", "to": "n0"}] * (size if field == "transitions" else 0)
    faults = faults_in(graph(size if field == "nodes" else 1, transitions))
    assert [(fault.code, fault.path[-1]) for fault in faults if fault.code == "too_long"] == [("too_long", field)]


@pytest.mark.parametrize("text", ["[" + "1," * VALUES_MAX + "1]", "a:\n" + "- 1\n" * VALUES_MAX])
def test_a_file_with_more_values_than_can_be_read_in_seconds_is_refused(text: str) -> None:
    with pytest.raises(DefinitionRefused) as refusal:
        load_text(text, "many.yaml")
    assert [fault.code for fault in refusal.value.faults] == ["too_large"]


def test_a_value_with_too_many_values_is_refused_as_well() -> None:
    with pytest.raises(DefinitionRefused, match="more than 250,000 values"):
        load_value({"workflow": [1] * VALUES_MAX})


def test_of_very_many_faults_of_shape_the_first_are_told() -> None:
    found = codes_in({f"k{i}": 1 for i in range(FAULTS_MAX + 5)})
    assert found.count("unknown_field") == FAULTS_MAX
    assert found[-1] == "too_many_faults"


def test_of_very_many_faults_of_meaning_the_first_are_told_and_warnings_refuse_nothing() -> None:
    missing = codes_in(workflow({f"n{i}": {"task": f"t{i}"} for i in range(FAULTS_MAX + 5)}, [], initial_node="n0"))
    assert missing.count("missing_ref") == FAULTS_MAX
    assert "too_many_faults" in missing
    count = FAULTS_MAX + 5
    only_warnings = graph(
        count + 1, [{"from": f"n{i}", "to": f"n{i + 1}", "condition": "input.x"} for i in range(count)]
    )
    faults = faults_in(only_warnings)
    assert len(faults) == FAULTS_MAX
    assert not has_errors(faults)


def test_reads_are_parsed_once_however_many_names_there_are() -> None:
    reads = [f"input.f{i}" for i in range(1_000)]
    expression = "f0 IN (" + ", ".join(f"f{i}" for i in range(1_000)) + ")"
    condition = {"type": "expression", "expr": expression, "reads": reads}
    started = time.process_time()
    assert codes_in(graph(2, [{"from": "n0", "to": "n1", "condition": condition}])) == ["no_way_out"]
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    ("outer", "ref"),
    [("w", "a/b@2"), ("w", "r" * 200), ("w" * 200, "n"), ("w" * 200, "é" * 200), ("w@", "/")],
)
def test_lay_2_what_stands_in_line_always_has_a_name_that_can_be_stored(outer: str, ref: str) -> None:
    name = inline_name(outer, ref)
    assert len(name) <= 200
    found = parse_reference("task", name, ())
    assert found
    assert (found.name, found.library, found.version) == (name, None, None)
    assert name != inline_name(outer, ref + "x")
    assert name == inline_name(outer, ref)


def test_lay_2_a_plain_ref_keeps_its_plain_name() -> None:
    assert inline_name("orders", "pay") == "orders.pay"


@pytest.mark.parametrize(
    ("until", "code"),
    [
        ("2032-02-29", None),
        ("2000-02-29T23:59:59.999+14:00", None),
        ("2030-01-31 08:00", None),
        ("2030-02-29", "no_such_day"),
        ("1900-02-29", "no_such_day"),
        ("2030-02-30", "bad_form"),
        ("2030-04-31", "bad_form"),
        ("2030-13-01", "bad_form"),
        ("2030-01-00", "bad_form"),
        ("2030-01-01T24:00", "bad_form"),
        ("2030-01-01T00:60", "bad_form"),
        ("2030-01-01T00:00:60Z", "bad_form"),
        ("2030-01-01T00:00+25:00", "bad_form"),
        ("٢٠٣٠-01-01", "bad_form"),
    ],
)
def test_act_10_a_moment_that_no_calendar_has_is_refused(until: str, code: str | None) -> None:
    found = codes_in({"actions": {"a": {"kind": "sleep", "implementation": {"until": until}}}})
    assert found == ([code] if code else [])


@pytest.mark.parametrize(
    ("fan_out", "m_of_n", "found"),
    [
        ([{"from": "a", "to": "b", "spawn_count": 2}], 2, []),
        ([{"from": "a", "to": "b", "spawn_count": 2}], 3, ["too_few_branches"]),
        ([{"from": "a", "to": "b"}, {"from": "a", "to": "b"}], 3, ["too_few_branches"]),
        ([{"from": "a", "to": "b"}, {"from": "a", "to": "b", "spawn_count": 2}], 3, []),
        ([{"from": "a", "to": "b", "foreach": {"collection": "input.x"}}], 1_000, []),
    ],
)
def test_ctl_9_more_branches_than_are_ever_made_can_not_be_waited_for(
    fan_out: list[Any], m_of_n: int, found: list[str]
) -> None:
    join = {"from": "b", "to": "c", "synchronization": {"strategy": {"m_of_n": m_of_n}, "sibling_group": "a"}}
    assert codes_in(workflow({"a": PURE, "b": PURE, "c": PURE}, [*fan_out, join])) == found


@pytest.mark.parametrize(
    ("reads", "found"),
    [
        (["state.a"], []),
        (["a"], []),
        (["state.typo"], ["unknown_field"]),
        (["%%"], ["path_syntax"]),
        (["_branch.index"], ["unknown_name"]),
    ],
)
def test_exp_2_every_path_of_reads_must_be_there(reads: list[str], found: list[str]) -> None:
    condition = {"type": "expression", "expr": "state.a = 1", "reads": reads}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    document = workflow(
        {"a": PURE, "b": PURE},
        [{"from": "a", "to": "b", "condition": condition}, {"from": "a", "to": "b", "priority": 1}],
        context_schema=schema,
    )
    assert codes_in(document) == found


@pytest.mark.parametrize(
    ("expr", "found"),
    [
        ("input.text", ["type_mismatch"]),
        ("input.number", []),
        ("input.text || ''", []),  # computed: known only when it runs
        ("input.maybe", []),
        ("other", ["type_mismatch"]),  # a bare name of state
    ],
)
def test_exp_6_a_copied_value_that_can_never_fit_is_a_type_mismatch(expr: str, found: list[str]) -> None:
    update = {"kind": "update_context", "implementation": {"updates": [{"path": "state.n", "expr": expr}]}}
    text, number = {"type": "string"}, {"type": "integer"}
    document = workflow(
        {"a": {"action": update}},
        [],
        context_schema={"type": "object", "properties": {"n": number, "other": text}},
        input_schema={
            "type": "object",
            "properties": {"text": text, "number": number, "maybe": {"type": ["string", "integer"]}},
        },
    )
    assert codes_in(document) == found


@pytest.mark.parametrize(("expr", "found"), [("input.n", ["type_mismatch"]), ("input.n + 0", [])])
def test_exp_6_a_number_can_not_be_copied_to_a_boolean(expr: str, found: list[str]) -> None:
    update = {"kind": "update_context", "implementation": {"updates": [{"path": "state.b", "expr": expr}]}}
    document = workflow(
        {"a": {"action": update}},
        [],
        context_schema={"type": "object", "properties": {"b": {"type": "boolean"}}},
        input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    )
    assert codes_in(document) == found


@pytest.mark.parametrize(
    ("mapping", "found"),
    [({}, ["output_not_written"]), ({"output.x": "$"}, []), ({"output": "$"}, []), ({"output.x.y": "$"}, [])],
)
def test_ctl_18_an_output_that_is_required_and_never_written_is_a_warning(mapping: Any, found: list[str]) -> None:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {}}}
    assert codes_in(workflow({"a": noop(output_mapping=mapping)}, [], output_schema=schema)) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [("input.child", []), ("nope.child", ["unknown_name"]), ("input.chil", ["unknown_field"])],
)
def test_act_5_from_context_reads_what_can_be_there(path: str, found: list[str]) -> None:
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": {"from_context": path}}}
    schema = {"type": "object", "properties": {"child": {"type": "string"}}}
    assert codes_in(workflow({"a": {"action": call}}, [], input_schema=schema)) == found


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"url_template": "https://x/{{y}}"}, []),
        ({"url_template": "{{base}}/y"}, []),
        ({"url_template": "http{{s}}://y"}, []),
        ({"url_template": "HTTPS://x"}, []),
        ({"url_template": "ftp://x/{{y}}"}, ["bad_url"]),
        ({"url_template": "orders/{{y}}"}, ["bad_url"]),
        ({"url_template": "orders"}, ["bad_url"]),
        ({"url_template": "http://x", "headers": {"X-A": "{{y}}"}}, []),
        ({"url_template": "http://x", "headers": {"a\r\nb": "c"}}, ["bad_header"]),
        ({"url_template": "http://x", "headers": {"a": "b\r\nEvil: c"}}, ["bad_header"]),
    ],
)
def test_act_3_a_request_that_can_never_be_sent_is_refused(fields: dict[str, Any], found: list[str]) -> None:
    action = {"kind": "http_request", "implementation": {"method": "GET", **fields}}
    assert codes_in({"actions": {"a": action}}) == found


def test_a_variable_of_the_environment_has_no_equals_sign_in_its_name() -> None:
    command = {"kind": "shell_command", "implementation": {"command": ["ls"], "env": {"A=B": "c"}}}
    server = {"transport": "stdio", "command": ["x"], "env": {"A=B": "c"}}
    assert codes_in({"actions": {"a": command}, "mcp_servers": {"s": server}}) == ["bad_form", "bad_form"]


def test_a_sleep_longer_than_its_task_may_take_is_a_warning() -> None:
    step = {"ref": "s", "action": {"kind": "sleep", "implementation": {"ms": 50}}}
    assert codes_in({"tasks": {"t": {"timeout_ms": 10, "steps": [step]}}}) == ["timeout_order"]
    assert codes_in({"tasks": {"t": {"timeout_ms": 50, "steps": [step]}}}) == []


def test_res_4_two_versions_of_one_reference_are_refused() -> None:
    faults = faults_in(workflow({"a": {"task": "t@3", "task_version": 2}}, []))
    assert [(fault.code, fault.message) for fault in faults] == [
        ("bad_reference", "'t@3' and the version 2 beside it are two versions")
    ]


def test_fil_6_both_spellings_of_one_field_are_told_as_such() -> None:
    faults = faults_in(workflow({"a": PURE}, [], initial_node_id="a"))
    assert [(fault.code, fault.message) for fault in faults] == [
        ("duplicate_field", "'initial_node' and 'initial_node_id' are the same field")
    ]


def test_a_spawn_count_beyond_what_one_commit_can_make_is_refused() -> None:
    assert codes_in(workflow({"a": PURE, "b": PURE}, [{"from": "a", "to": "b", "spawn_count": 100_001}])) == [
        "out_of_range"
    ]


def test_long_lists_are_compared_by_position_and_short_ones_by_likeness() -> None:
    short = list(differences([1, 2, 3, 4], [1, 3, 4, 5]))
    assert [(one.path, one.removed, one.added) for one in short] == [((1,), True, False), ((3,), False, True)]
    before: list[Any] = [i % 7 for i in range(20_000)]
    after: list[Any] = [*(i % 5 for i in range(20_000)), 9]
    started = time.process_time()
    found = list(differences(before, after))
    assert time.process_time() - started < SECONDS
    assert found[-1] == Difference((20_000,), None, 9, added=True)
    assert list(differences([*before, 9], [*before, 8, 9])) == [Difference((20_000,), None, 8, added=True)]
