"""What an action, a task or a workflow takes and gives, as far as schemas say (ACT-10)."""

from collections.abc import Callable
from typing import Any

from wonder.definitions.checks.lookup import ActionView, Lookup, TaskView
from wonder.definitions.records.implementations import HttpRequest, HumanInput, WorkflowCall
from wonder.language.schemas import Schema

ANYTHING: Schema = {}
_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer"}
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def _object(**properties: Schema) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_OUTPUTS: dict[str, Schema] = {
    "write_artifact": _object(artifact_id=_TEXT, content_type=_TEXT, size_bytes=_WHOLE),
    "vector_search": _object(
        matches={
            "type": "array",
            "items": _object(artifact_id=_TEXT, score={"type": "number"}, schema_data=ANYTHING),
        }
    ),
    "shell_command": _object(
        exit_code=_WHOLE, stdout=_TEXT, stderr=_TEXT, stdout_artifact_id=_TEXT, stderr_artifact_id=_TEXT
    ),
    "sleep": _NOTHING,
    "assert": _NOTHING,
    "update_context": _NOTHING,
    "emit_metric": _NOTHING,
    "read_file": _object(content=_TEXT, size_bytes=_WHOLE),
    "write_file": _object(path=_TEXT, size_bytes=_WHOLE),
}


def action_takes(action: ActionView, lookup: Lookup) -> Schema:
    """Say what an action takes as its input."""
    if action.body.requires is not None:
        return action.body.requires  # type: ignore[no-any-return]  # records hold schemas as they were written
    if action.body.kind == "llm_call" and (prompt := lookup.prompt(action.references.get("prompt"))):
        return prompt.requires  # type: ignore[no-any-return]
    if action.body.kind == "workflow_call" and (child := lookup.workflow(action.references.get("workflow"))):
        return child.input_schema  # type: ignore[no-any-return]
    return ANYTHING


def action_gives(action: ActionView, lookup: Lookup) -> Schema:
    """Say what an action gives as its output."""
    if action.body.produces is not None:
        return action.body.produces  # type: ignore[no-any-return]
    special = _SPECIAL_OUTPUTS.get(action.body.kind)
    return special(action, lookup) if special else _OUTPUTS.get(action.body.kind, ANYTHING)


def task_takes(task: TaskView, lookup: Lookup) -> Schema:
    """Say what a task takes; one that passes its input on whole takes what its first action takes."""
    if not _is_open(task.body.input_schema):
        return task.body.input_schema  # type: ignore[no-any-return]
    first = task.steps[0] if task.steps else None
    if first and first.action and first.body.input_mapping == "$.input" and first.body.condition is None:
        return action_takes(first.action, lookup)
    return ANYTHING


def task_gives(task: TaskView, lookup: Lookup) -> Schema:
    """Say what a task gives; one that passes an output on whole gives what that action gives."""
    if not _is_open(task.body.output_schema):
        return task.body.output_schema  # type: ignore[no-any-return]
    if len(task.steps) == 1 and task.sole_action and task.steps[0].body.output_mapping == {"output": "$"}:
        return action_gives(task.sole_action, lookup)
    return ANYTHING


def _is_open(schema: object) -> bool:
    return schema is True or schema == {}


def _http_gives(action: ActionView, lookup: Lookup) -> Schema:
    body: Schema = ANYTHING
    if isinstance(action.implementation, HttpRequest) and action.implementation.response == "text":
        body = _TEXT
    return _object(status=_WHOLE, headers={"type": "object", "additionalProperties": _TEXT}, body=body)


def _human_gives(action: ActionView, lookup: Lookup) -> Schema:
    return action.implementation.schema_ if isinstance(action.implementation, HumanInput) else ANYTHING


def _prompt_gives(action: ActionView, lookup: Lookup) -> Schema:
    prompt = lookup.prompt(action.references.get("prompt"))
    if prompt is None:
        return ANYTHING
    return _TEXT if _is_open(prompt.produces) else prompt.produces


def _child_gives(action: ActionView, lookup: Lookup) -> Schema:
    child = lookup.workflow(action.references.get("workflow"))
    catches = isinstance(action.implementation, WorkflowCall) and action.implementation.on_failure == "catch"
    return ANYTHING if child is None or catches else child.output_schema


_SPECIAL_OUTPUTS: dict[str, Callable[[ActionView, Lookup], Schema]] = {
    "http_request": _http_gives,
    "human_input": _human_gives,
    "llm_call": _prompt_gives,
    "workflow_call": _child_gives,
}
