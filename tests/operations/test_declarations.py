"""Every operation says what it is: one sentence, a role, types that have schemas, and whether it changes anything."""

import ast
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import wonder.operations
from wonder.coordinator.orders import ORDERS
from wonder.operations.catalogue import all_operations
from wonder.operations.declaring import ROLES, Declared, InputNotAccepted

OPERATIONS = all_operations()


@pytest.mark.parametrize("declared", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_an_operation_has_a_name_a_sentence_and_types_with_schemas(declared: Declared[Any, Any]) -> None:
    noun, verb = declared.name.split(".")
    assert noun.replace("_", "").isalpha()
    assert verb.replace("_", "").isalpha()
    assert declared.sentence.endswith((".", ")."))
    assert declared.sentence[0].isupper()
    schemas = declared.schemas()
    for part in ("input", "output"):
        document = {**schemas[part], "$defs": schemas["$defs"]}
        jsonschema_rs.validator_for(document)
    assert declared.input.__doc__


def test_a_role_may_ask_for_what_the_roles_before_it_may() -> None:
    for declared in OPERATIONS.values():
        allowed = [role for role in ROLES if declared.allows(role)]
        assert allowed == list(ROLES[ROLES.index(declared.role) :])


def test_a_viewer_can_change_nothing() -> None:
    assert [one.name for one in OPERATIONS.values() if one.changes and one.role == "viewer"] == []
    assert [one.name for one in OPERATIONS.values() if one.needs_engine and not one.changes] == []


def test_an_input_with_a_field_that_there_is_not_is_refused() -> None:
    for declared in OPERATIONS.values():
        with pytest.raises(InputNotAccepted, match=r"unknown field|missing required|Object contains|required field"):
            declared.read({"surely_no_field": 1})


def test_every_order_to_the_engine_can_be_asked_for() -> None:
    """CMD-5: what one process hands to another is what an operation takes, or is made from it."""
    asked = {one.input for one in OPERATIONS.values() if one.needs_engine}
    made_from_others = {"start", "event", "fire_schedule", "index_vectors", "answer", "claim", "release", "delegate"}
    assert {kind for kind, order in ORDERS.items() if order not in asked} <= made_from_others


def test_operations_are_imported_one_by_one() -> None:
    """A command imports its own operations alone: the catalogue of all is for doors that offer every one."""
    for path in Path(wonder.operations.__path__[0]).glob("*.py"):
        imported = {
            node.module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert "wonder.operations.catalogue" not in imported, path.name
