"""The file form (FIL-1 to FIL-7): what is written in line becomes records, and all errors are reported at once."""

from typing import Any

import pytest

from support.definitions import GREET_EVERYONE, NOTHING, codes_in, faults_in, noop, workflow
from wonder.actions.update_context.record import UpdateContext
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import load_text, load_value


def bundle_of(definition: str | dict[str, Any]) -> Any:
    loaded = load_text(definition, "test.yaml") if isinstance(definition, str) else load_value(definition)
    return loaded.bundle(NOTHING)[0]


def test_the_example_of_the_specification_is_valid() -> None:
    assert faults_in(GREET_EVERYONE) == []


def test_fil_1_an_action_in_line_becomes_a_one_step_task() -> None:
    """LAY-1: a node names a task, whose step names the action."""
    definitions = bundle_of(workflow({"call": noop()})).definitions
    task = definitions.tasks["test.call"]
    assert definitions.workflows["test"].nodes["call"].task.name == "test.call"
    (step,) = task.steps
    assert (step.body.input_mapping, step.body.output_mapping) == ("$.input", {"output": "$"})
    assert definitions.actions["test.call"].body.kind == "python"


def test_lay_1_a_step_can_not_name_a_task() -> None:
    inner = {"steps": [{"ref": "s", "action": noop()["action"]}]}
    outer = {"steps": [{"ref": "s", "task": "inner", "action": noop()["action"]}]}
    definition = {**workflow({"n": {"task": "outer"}}), "tasks": {"inner": inner, "outer": outer}}
    assert codes_in(definition) == ["unknown_field"]


def test_fil_2_an_update_in_line_in_a_node_works_on_the_workflow_and_in_a_task_on_the_task() -> None:
    update = {"kind": "update_context", "implementation": {"updates": []}}
    in_node = bundle_of(workflow({"n": {"action": update}})).definitions.actions["test.n"].implementation
    in_task = workflow({"n": {"task": {"steps": [{"ref": "s", "action": update}]}}})
    of_task = bundle_of(in_task).definitions.actions["test.n.s"].implementation
    named = (
        bundle_of({**workflow({"n": {"action": "u"}}), "actions": {"u": update}})
        .definitions.actions["u"]
        .implementation
    )
    assert isinstance(in_node, UpdateContext)
    assert (in_node.scope, of_task.scope, named.scope) == ("workflow", "task", "task")


def test_fil_2_a_node_on_the_workflow_context_has_no_mappings() -> None:
    update = {"kind": "update_context", "implementation": {"updates": []}}
    node = {"action": update, "input_mapping": {"a": 1}, "output_mapping": {"state.a": "$"}}
    assert codes_in(workflow({"n": node})) == ["mapping_not_possible", "mapping_not_possible"]


def test_fil_6_records_own_names_are_accepted_for_the_aliases() -> None:
    definition = workflow({"a": noop(), "b": {"task_id": "t"}}, [{"from_node_id": "a", "to_node_id": "b"}])
    definition["workflow"]["initial_node_id"] = definition["workflow"].pop("initial_node")
    definition["tasks"] = {"t": {"steps": [{"ref": "s", "action_id": "x"}]}}
    definition["actions"] = {"x": {"kind": "python", "implementation": {"function": "m:f"}}}
    assert faults_in(definition) == []


def test_fil_6_a_condition_may_be_a_plain_text() -> None:
    transitions = [{"from": "a", "to": "b", "condition": "input.x > 1"}, {"from": "a", "to": "c", "priority": 1}]
    draft = bundle_of(workflow({"a": noop(), "b": noop(), "c": noop()}, transitions)).definitions.workflows["test"]
    assert draft.transitions[0].body.condition.expr == "input.x > 1"


def test_fil_6_an_item_variable_is_called_item_unless_it_is_named() -> None:
    draft = bundle_of(
        workflow({"a": noop(), "b": noop()}, [{"from": "a", "to": "b", "foreach": {"collection": "input.xs"}}])
    )
    assert draft.definitions.workflows["test"].transitions[0].body.foreach.item_var == "item"


def test_faults_of_the_shape_and_of_the_meaning_are_told_together() -> None:
    definition = workflow(
        {"a": noop(nonsense=1), "b": {"task": "nowhere"}, "c": {"task": 3}},
        [{"from": "a", "to": "b", "condition": "input.x >"}, {"from": "a"}],
        timeout_ms="soon",
        input_schema={"type": "strange"},
    )
    found = sorted(codes_in(definition))
    assert {"unknown_field", "wrong_type", "missing_field", "missing_ref", "expression_syntax"} < set(found)
    assert any(code.startswith("schema") for code in found)


def test_a_part_that_was_left_out_because_it_is_wrong_makes_no_faults_elsewhere() -> None:
    """A node that can't be read is still there for the transitions that name it, and so is a task for its nodes."""
    definition = workflow(
        {"a": noop(), "b": {"task": "t"}, "c": {"actoin": {}}}, [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    )
    definition["tasks"] = {"t": {"steps": []}}
    assert sorted(codes_in(definition)) == ["task_or_action", "too_short", "unknown_field"]


def test_a_fault_behind_parts_that_were_left_out_keeps_its_own_place() -> None:
    definition = """\
workflow:
  name: places
  initial_node: a
  nodes:
    a: {action: {kind: python, implementation: {function: "m:f"}}}
    b: {action: {kind: python, implementation: {function: "m:f"}}}
  transitions:
    - {from: a}
    - {from: a, to: b, condition: "1 +"}
"""
    (missing, syntax) = faults_in(definition)
    assert (missing.code, missing.path, missing.place.line) == (
        "missing_field",
        ("workflow", "transitions", 0, "to"),
        8,
    )
    assert (syntax.path[:3], syntax.place.line) == (("workflow", "transitions", 1), 9)


def test_a_refusal_holds_all_faults_and_says_them() -> None:
    with pytest.raises(DefinitionRefused) as caught:
        bundle_of(workflow({"a": {"task": "x"}, "b": {"task": "y"}}, [{"from": "a", "to": "b"}]))
    assert [fault.code for fault in caught.value.faults] == ["missing_ref", "missing_ref"]
    assert "2 errors; nothing was stored" in str(caught.value)


@pytest.mark.parametrize(
    ("definition", "code"),
    [
        ([], "wrong_type"),
        ("text", "wrong_type"),
        ({}, "empty"),
        ({"name": "p", "steps": [[{"name": "s", "sleep": {"ms": 1}}]]}, "phase_form"),
        ({"workflow": None, "tasks": []}, "wrong_type"),
    ],
)
def test_what_is_no_definition_file_at_all_is_refused_clearly(definition: Any, code: str) -> None:
    faults = load_value(definition).check(NOTHING)
    assert [fault.code for fault in faults] == [code]
