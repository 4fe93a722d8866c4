"""A stored definition as a person would write it: names instead of ids, nothing that is only a default."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from wonder.definitions.records.actions import ActionBody, ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.records.graph import NodeBody, TransitionBody, WorkflowBody, WorkflowDef
from wonder.definitions.records.tasks import StepBody, TaskBody, TaskDef
from wonder.definitions.records.workflows import Trigger, TriggerBody

Key = tuple[str, int]


def written_workflow(
    workflow: WorkflowDef,
    tasks: Mapping[Key, TaskDef],
    actions: Mapping[Key, ActionDef],
    triggers: list[Trigger],
) -> dict[str, Any]:
    """Write a workflow in the file form, with the versions of all that it is made of."""
    refs = {node.id: node.ref for node in workflow.nodes}
    nodes: dict[str, Any] = {}
    for node in workflow.nodes:
        task = tasks[node.task_id, node.task_version]
        nodes[node.ref] = {"task": f"{task.name}@{task.version}"} | _said(NodeBody, node)
    transitions = [
        {"from": refs[t.from_node_id], "to": refs[t.to_node_id]} | _said(TransitionBody, t)
        for t in workflow.transitions
    ]
    body = {"name": workflow.name} | _said(WorkflowBody, workflow)
    graph: dict[str, Any] = {"initial_node": refs[workflow.initial_node_id], "nodes": nodes, "transitions": transitions}
    if triggers:
        graph["triggers"] = [_said(TriggerBody, trigger) for trigger in triggers]
    return {
        "workflow": body | graph,
        "tasks": {f"{task.name}@{task.version}": _written_task(task, actions) for task in tasks.values()},
        "actions": {f"{action.name}@{action.version}": _said(ActionBody, action) for action in actions.values()},
    }


def written_part(record: Record, actions: Mapping[Key, ActionDef]) -> dict[str, Any]:
    """Write a task, action, prompt, type of artifacts, model or vector index as it stands under its name in a file."""
    if isinstance(record, TaskDef):
        return _written_task(record, actions)
    body = next(base for base in type(record).__mro__ if base.__name__.endswith("Body"))
    return _said(body, record)


def comparable_forms(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give two written forms with their parts under plain names, so that versions of one part are compared.

    A part of which either form holds two versions keeps its versions: which one belongs to which can't be told.
    """
    for section in ("tasks", "actions"):
        counts = [Counter(map(_plain_name, form[section])) for form in (before, after)]
        several = {name for count in counts for name, number in count.items() if number > 1}
        before, after = (
            form | {section: {_key(key, several): part for key, part in form[section].items()}}
            for form in (before, after)
        )
    return before, after


def _plain_name(key: str) -> str:
    return key.rpartition("@")[0]


def _key(key: str, several: set[str]) -> str:
    return key if _plain_name(key) in several else _plain_name(key)


def _written_task(task: TaskDef, actions: Mapping[Key, ActionDef]) -> dict[str, Any]:
    steps = []
    for step in task.steps:
        action = actions[step.action_id, step.action_version]
        steps.append({"ref": step.ref, "action": f"{action.name}@{action.version}"} | _said(StepBody, step))
    return _said(TaskBody, task) | {"steps": steps}


def _said(model: type[Record], record: Record) -> dict[str, Any]:
    return record.model_dump(by_alias=True, include=set(model.model_fields), exclude_defaults=True)
