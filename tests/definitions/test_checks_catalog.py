"""Checks of what a file names that is stored already (RES-1, RES-2, RES-4)."""

from typing import Any

import pytest

from support.definitions import codes_in, faults_in, workflow
from support.stored_records import action, task, workflow_def
from wonder.definitions.catalog import Catalog, Found

ASK = action("ask", "P", kind="human_input", implementation={"prompt": "?", "schema": {"type": "boolean"}})
NOTE = action("note", "P", kind="update_context", implementation={"updates": [], "scope": "workflow"})
SAY = action("say", "P", kind="python", implementation={"function": "m:f"})
ADD = task(
    "add",
    "P",
    [(SAY.id, 1)],
    input_schema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
    output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}},
    timeout_ms=5_000,
)
TWICE = [task("mail", None, [(SAY.id, 1)], library_id=library) for library in ("L1", "L2")]
CHILD = workflow_def("child", "P", [(ADD.id, 1)], input_schema={"type": "object", "required": ["order"]})
STORED = Catalog(
    {
        ("task", "add"): [Found(ADD, "the project")],
        ("task", "add@1"): [Found(ADD, "the project")],
        ("task", "mail"): [Found(TWICE[0], "library 'one'"), Found(TWICE[1], "library 'two'")],
        ("task", "one/mail"): [Found(TWICE[0], "library 'one'")],
        ("task", "noted"): [Found(task("noted", "P", [(NOTE.id, 1)]), "the project")],
        ("action", "ask"): [Found(ASK, "the project")],
        ("action", "say"): [Found(SAY, "the project")],
        ("workflow", "child"): [Found(CHILD, "the project")],
    },
    {(each.id, each.version): each for each in (ASK, NOTE, SAY)},
)


@pytest.mark.parametrize(
    ("node", "codes"),
    [
        ({"task": "add", "input_mapping": {"n": 1}}, []),
        ({"task": "add@1", "input_mapping": {"n": 1}}, []),
        ({"task": "add", "task_version": 1, "input_mapping": {"n": 1}}, []),
        ({"task": "add@2", "input_mapping": {"n": 1}}, ["missing_ref"]),
        ({"task": "mail"}, ["ambiguous_ref"]),
        ({"task": "one/mail"}, []),
        ({"task": "two/mail"}, ["missing_ref"]),
        ({"task": "add"}, ["missing_input"]),
        ({"task": "add", "input_mapping": {"n": "one"}}, ["type_mismatch"]),
        ({"task": "add", "input_mapping": {"n": 1}, "output_mapping": {"state.x": "$.sm"}}, ["unknown_field"]),
        ({"task": "noted", "input_mapping": {"n": 1}}, ["mapping_not_possible"]),
        ({"action": "ask", "output_mapping": {"state.x": "$.yes"}}, ["unknown_field"]),
        ({"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "child"}}}, ["missing_input"]),
    ],
)
def test_res_4_what_is_stored_is_checked_like_what_the_file_holds(node: dict[str, Any], codes: list[str]) -> None:
    assert codes_in(workflow({"a": node}), STORED) == codes


def test_res_4_a_name_in_two_libraries_is_told_with_both() -> None:
    (fault,) = faults_in(workflow({"a": {"task": "mail"}}), STORED)
    assert fault.message == "'mail' is in library 'one' and library 'two'"
    assert fault.hint == "write library/name@version"


def test_lay_3_a_stored_action_that_waits_is_known_to_wait() -> None:
    steps = [{"ref": "ask", "action": "ask"}, {"ref": "say", "action": "say"}]
    assert codes_in({"tasks": {"t": {"steps": steps}}}, STORED) == ["waiting_step"]


def test_ret_3_the_time_out_of_a_stored_task_is_compared_as_well() -> None:
    definition = workflow({"a": {"task": "add", "input_mapping": {"n": 1}}}, timeout_ms=1_000)
    assert codes_in(definition, STORED) == ["timeout_order"]


def test_res_1_a_library_can_not_name_what_a_project_has() -> None:
    library = {"libraries": {"mail": {"tasks": {"send": {"steps": [{"ref": "s", "action": "say"}]}}}}}
    assert codes_in(library, STORED) == ["missing_ref"]


def test_res_4_the_file_comes_before_what_is_stored() -> None:
    own = {"steps": [{"ref": "s", "action": {"kind": "python", "implementation": {"function": "m:f"}}}]}
    assert codes_in({**workflow({"a": {"task": "add"}}), "tasks": {"add": own}}, STORED) == []
