"""Checks every JSON Schema of a set of definitions first, so that the other checks only meet sound ones."""

from typing import Any, TypeVar

from msgspec.structs import replace

from wonder.definitions.drafts import Definitions
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import Record
from wonder.language.schemas import schema_faults
from wonder.language.values import JsonValue

_Body = TypeVar("_Body", bound=Record)
_OPEN: dict[str, Any] = {}


def check_schemas(definitions: Definitions, section: Path, findings: Findings) -> None:
    """Note every fault of every schema; one that has any is taken as open by all later checks."""
    for name, action in definitions.actions.items():
        body = _sound(action.body, ("requires", "produces"), action.path, findings)
        implementation, kind = action.implementation, KINDS.find(action.body.kind)
        if kind and implementation is not None:
            implementation = _sound(implementation, kind.schema_fields, (*action.path, "implementation"), findings)
        definitions.actions[name] = replace(action, body=body, implementation=implementation)
    for name, task in definitions.tasks.items():
        body_of_task = _sound(task.body, ("input_schema", "output_schema"), task.path, findings)
        definitions.tasks[name] = replace(task, body=body_of_task)
    for name, workflow in definitions.workflows.items():
        names = ("input_schema", "output_schema", "context_schema")
        definitions.workflows[name] = replace(workflow, body=_sound(workflow.body, names, workflow.path, findings))
    for name, prompt in definitions.prompts.items():
        path = (*section, "prompts", name)
        definitions.prompts[name] = _sound(prompt, ("requires", "produces"), path, findings)
    for name, artifact_type in definitions.artifact_types.items():
        path = (*section, "artifact_types", name)
        definitions.artifact_types[name] = _sound(artifact_type, ("schema",), path, findings)


def _sound(body: _Body, names: tuple[str, ...], path: Path, findings: Findings) -> _Body:
    opened: dict[str, JsonValue] = {}
    for name in names:
        field = "schema_" if name == "schema" else name
        schema = getattr(body, field)
        not_given = schema is None and type(body).model_fields[field].default is None
        if not_given or schema == _OPEN:
            continue
        for fault in schema_faults(schema):
            findings.error(fault.code.lower(), (*path, name, *fault.path), fault.message, fault.hint)
            opened[field] = _OPEN
    return body.model_copy(update=opened) if opened else body
