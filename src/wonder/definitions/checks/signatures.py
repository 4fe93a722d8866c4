"""What an action, a task or a workflow takes and gives, as far as schemas say (ACT-10)."""

from wonder.definitions.checks.lookup import ActionView, Lookup, TaskView
from wonder.definitions.kinds import ANYTHING, Named
from wonder.language.schemas import Schema


def action_takes(action: ActionView, lookup: Lookup) -> Schema:
    """Say what an action takes as its input."""
    if action.body.requires is not None:
        return action.body.requires  # type: ignore[no-any-return]  # records hold schemas as they were written
    kind = action.kind
    return kind.input_schema(action.implementation, _named(action, lookup)) if kind else ANYTHING


def action_gives(action: ActionView, lookup: Lookup) -> Schema:
    """Say what an action gives as its output."""
    if action.body.produces is not None:
        return action.body.produces  # type: ignore[no-any-return]
    kind = action.kind
    return kind.output_schema(action.implementation, _named(action, lookup)) if kind else ANYTHING


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


def _named(action: ActionView, lookup: Lookup) -> Named:
    return lambda kind: lookup.named(action.references.get(kind))
