"""Workflows in the phase form inside definition files (FIL-5): where they are found, and where faults are told."""

from typing import Any

import pytest

from support.definitions import NOTHING, noop, workflow
from wonder.definitions.drafts import CompiledPhases, PhaseDraft
from wonder.definitions.file_form.phase_form import find_phase_forms
from wonder.definitions.loading import load_text, load_value

STEPS: list[Any] = [[{"name": "a", "sleep": {"ms": 1}}], [{"name": "b.all", "sleep": {"ms": 1}}]]
GRAPH = workflow({"a": noop(), "b.all": noop()}, [{"from": "a", "to": "b.all"}], name="p")
SERVER = {"transport": "stdio", "command": ["x"]}


def graph(**fields: Any) -> CompiledPhases:
    """What a phase form was compiled to."""
    return CompiledPhases({"workflow": {**GRAPH["workflow"], **fields}}, PhaseDraft(b"", {}, []))


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"name": "p", "steps": STEPS}, [()]),
        ({"workflow": {"name": "p", "steps": STEPS}}, [("workflow",)]),
        ({"workflows": {"p": {"steps": STEPS}, "q": GRAPH["workflow"]}}, [("workflows", "p")]),
        ({"workflow": GRAPH["workflow"]}, []),
        ({"tasks": {"t": {"steps": []}}}, []),
        ([], []),
    ],
)
def test_fil_5_a_workflow_with_steps_is_in_the_phase_form(document: Any, paths: list[Any]) -> None:
    found = find_phase_forms(document)
    assert [form.path for form in (found.forms if found else ())] == paths


def test_fil_5_mcp_servers_may_stand_beside_the_steps() -> None:
    loaded = load_value({"name": "p", "steps": STEPS, "mcp_servers": {"s": SERVER}})
    assert loaded.is_phase_form
    assert list(loaded.reading.bundle.mcp_servers) == ["s"]
    assert loaded.phases
    assert "mcp_servers" not in loaded.phases.forms[0].value


def test_schedules_may_stand_beside_the_steps_too() -> None:
    document = {"name": "p", "steps": STEPS, "schedules": {"nightly": {"cron": "0 3 * * *"}}}
    loaded = load_value(document).compiled({(): graph()}, [])
    assert loaded.check(NOTHING) == []
    assert list(loaded.reading.bundle.schedules) == ["nightly"]


def test_a_library_can_not_hold_the_phase_form() -> None:
    """The servers that its steps call belong to a project (RES-2)."""
    (fault,) = load_value({"libraries": {"l": {"workflows": {"w": {"steps": STEPS}}}}}).check(NOTHING)
    assert (fault.code, fault.path) == ("phase_form", ("libraries", "l", "workflows", "w"))
    assert fault.hint == "move it to 'workflows' of the file"


def test_what_was_not_compiled_can_not_be_stored() -> None:
    assert [fault.code for fault in load_value({"name": "p", "steps": STEPS}).check(NOTHING)] == ["phase_form"]


def test_a_graph_takes_the_place_of_its_phase_form() -> None:
    loaded = load_value({"name": "p", "steps": STEPS, "mcp_servers": {"s": SERVER}}).compiled({(): graph()}, [])
    assert loaded.check(NOTHING) == []
    assert loaded.reading.bundle.main == "p"
    assert list(loaded.reading.bundle.phases) == ["p"]


def test_a_fault_of_the_graph_is_told_at_the_step_that_it_comes_from() -> None:
    text = '{"name": "p",\n "steps": [\n  [{"name": "a", "sleep": {"ms": 1}}],\n  [{"name": "b", "sleep": {"ms": 1}}]]}'
    broken = noop(input_mapping="$[")
    nodes = {"a": noop(), "b.each": broken, "b": noop()}
    lines = [{"from": "a", "to": "b.each"}, {"from": "b.each", "to": "b"}]
    loaded = load_text(text, "p.json").compiled({(): graph(nodes=nodes, transitions=lines)}, [])
    (fault,) = loaded.check(NOTHING)
    assert fault.place
    assert (fault.path, fault.place.line) == (("steps", 1, 0), 4)


def test_what_names_a_phase_form_with_errors_is_no_fault_of_its_own() -> None:
    call = {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "p"}}}
    main = {"name": "m", "initial_node": "a", "nodes": {"a": call}}
    loaded = load_value({"workflow": main, "workflows": {"p": {"steps": STEPS}}})
    assert loaded.compiled({}, []).check(NOTHING) == []
    assert [fault.code for fault in loaded.compiled({}, []).reading.faults] == []
