"""Loads a workflow with all that it is made of, as a person would write it."""

from dataclasses import dataclass
from typing import Any

from wonder.definitions.drafts import PhaseDraft
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.written import written_workflow
from wonder.storage.definitions import Owner, load_definition, load_triggers
from wonder.storage.names import find_definition
from wonder.storage.own_resources import find_own_resource, load_seen_definition
from wonder.storage.phase_forms import load_phase_form
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader


@dataclass(frozen=True)
class Written:
    """A workflow's record, the tasks and actions under it, and all of it in the file form."""

    definition: WorkflowDef
    tasks: dict[tuple[str, int], TaskDef]
    actions: dict[tuple[str, int], ActionDef]
    form: dict[str, Any]
    phases: PhaseDraft | None = None
    """The phase form that it was compiled from, if it was written in that."""
    workflow: Workflow | None = None
    """The workflow of the project that was asked for, if it was that and not a definition."""


async def load_written(reader: Reader, project_id: str, name: str, version: int | None = None) -> Written:
    """Load a version of a workflow by name, `library/name` or id (RES-7), the newest if none is given.

    Raises NotFound.
    """
    workflow = None if "/" in name else await find_own_resource(reader, Workflow, project_id, name)
    definition = await _definition(reader, project_id, name, version, workflow)
    tasks: dict[tuple[str, int], TaskDef] = {}
    actions: dict[tuple[str, int], ActionDef] = {}
    for node in definition.nodes:
        key = (node.task_id, node.task_version)
        if key in tasks:
            continue
        tasks[key] = await load_definition(reader, TaskDef, *key)
        for step in tasks[key].steps:
            of = (step.action_id, step.action_version)
            if of not in actions:
                actions[of] = await load_definition(reader, ActionDef, *of)
    triggers = await load_triggers(reader, definition.id, definition.version)
    form = written_workflow(definition, tasks, actions, triggers)
    phases = await load_phase_form(reader, definition.id, definition.version)
    return Written(definition, tasks, actions, form, phases, workflow)


async def _definition(
    reader: Reader, project_id: str, name: str, version: int | None, workflow: Workflow | None
) -> WorkflowDef:
    """Load what a name means: a workflow of the project comes first, whatever definition it binds."""
    wanted = workflow.workflow_def_id if workflow else name
    if workflow is None:
        library, _, own_name = name.rpartition("/")
        owner = Owner("project", project_id)
        found = await find_definition(reader, WorkflowDef, owner, own_name, version, library or None)
        if found:
            return await load_definition(reader, WorkflowDef, found.id, found.version)
    try:
        return await load_seen_definition(reader, WorkflowDef, project_id, wanted, version)
    except NotFound:
        raise NotFound("workflow", name if version is None else f"{name}@{version}") from None
