"""The JSON Schema of the file form (FIL-7): an editor takes what the program takes, and shows faults of shape."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from support.definitions import BEYOND_SCHEMAS, GREET_EVERYONE, SAMPLES, VALID, noop, workflow
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.definitions.file_form.reading import read_bundle
from wonder.definitions.source import SourceFaults, read_source
from wonder.language.values import JsonValue

GALLERY = Path(__file__).with_name("gallery")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return file_form_schema()


@pytest.fixture(scope="module")
def editor(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema)


def value_of(text: str | bytes) -> JsonValue:
    return read_source(text, "test.yaml").value


def shape_codes(file: Path) -> set[str]:
    """Give the codes of a file's faults of shape; none if it can't even be read as YAML or JSON."""
    try:
        document = read_source(file.read_bytes(), file.name)
    except SourceFaults:
        return set()
    return {fault.code for fault in read_bundle(document.value).faults}


WRONG_IN_SHAPE = [
    file
    for file in sorted(GALLERY.iterdir())
    if file.suffix in (".yaml", ".json") and shape_codes(file) - BEYOND_SCHEMAS
]


def test_fil_7_the_schema_is_a_schema_of_draft_2020_12(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("text", [GREET_EVERYONE, *VALID.values(), *SAMPLES.values()], ids=["spec", *VALID, *SAMPLES])
def test_fil_7_a_valid_definition_fits_the_schema(text: str, editor: jsonschema_rs.Draft202012Validator) -> None:
    assert [f"{error.instance_path} {error.message}" for error in editor.iter_errors(value_of(text))] == []


@pytest.mark.parametrize("file", WRONG_IN_SHAPE, ids=lambda file: file.stem)
def test_fil_7_a_fault_of_shape_is_shown_by_an_editor(file: Path, editor: jsonschema_rs.Draft202012Validator) -> None:
    assert not editor.is_valid(value_of(file.read_bytes()))


def test_there_are_enough_faults_of_shape() -> None:
    assert len(WRONG_IN_SHAPE) >= 25


@pytest.mark.parametrize(
    "change",
    [
        {"initial_node_id": "a", "initial_node": None},
        {"transitions": [{"from_node_id": "a", "to_node_id": "b"}]},
        {"nodes": {"a": {"task_id": "t"}, "b": noop()}},
        {"nodes": {"a": {"task": "t", "task_version": 2}, "b": noop()}},
        {"nodes": {"a": {"task": None, "action": "x"}, "b": noop(output_mapping=None, name=None)}},
        {"timeout_ms": None, "tags": ["a"], "on_timeout": "human_gate"},
        {"input_schema": True, "context_schema": {}},
        {"transitions": [{"from": "a", "to": "b", "condition": None, "foreach": None, "synchronization": None}]},
        {"transitions": [{"from": "a", "to": "b", "condition": "1", "priority": -5, "loop_config": {"timeout_ms": 1}}]},
        {"transitions": [{"from": "a", "to": "b", "spawn_count": 2, "foreach": None}]},
    ],
)
def test_fil_6_the_schema_takes_every_spelling_that_the_program_takes(
    change: dict[str, Any], editor: jsonschema_rs.Draft202012Validator
) -> None:
    definition = workflow({"a": noop(), "b": noop()}, [{"from": "a", "to": "b"}])
    changed = {
        name: value for name, value in (definition["workflow"] | change).items() if name != "initial_node" or value
    }
    definition["workflow"] = changed
    assert read_bundle(definition).faults == []
    assert [error.message for error in editor.iter_errors(definition)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"initial_node_id": "a"},
        {"nodes": {}},
        {"nodes": {"a": {"task": "t", "action": "x"}}},
        {"nodes": {"a": {"task": None, "action": None}}},
        {"nodes": {"a": {"task": "t", "task_id": "t"}}},
        {"transitions": [{"from": "a", "from_node_id": "a", "to": "a"}]},
        {"transitions": [{"from": "a", "to": "a", "loop_config": {}}]},
        {"transitions": [{"from": "a", "to": "a", "loop_config": {"max_iterations": None}}]},
        {"transitions": [{"from": "a", "to": "a", "foreach": {"collection": "x"}, "spawn_count": 1}]},
        {"transitions": [{"from": "a", "to": "a", "condition": 3}]},
        {"timeout_ms": 1.5},
        {"timeout_ms": "1"},
    ],
)
def test_fil_7_the_schema_refuses_what_the_program_refuses(
    change: dict[str, Any], editor: jsonschema_rs.Draft202012Validator
) -> None:
    definition = workflow({"a": noop()})
    definition["workflow"] |= change
    assert read_bundle(definition).faults != []
    assert not editor.is_valid(definition)
