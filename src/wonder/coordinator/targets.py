"""Targets: the workflow that a trigger names, looked up when it fires (PHS-6)."""

from typing import Final, NamedTuple

from wonder.coordinator.errors import WorkflowDisabled
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.workflows import LibraryWorkflow, Workflow
from wonder.definitions.references import Reference, parse_reference
from wonder.storage.definitions import Owner
from wonder.storage.finding import find_stored
from wonder.storage.names import find_definition
from wonder.storage.own_resources import find_live_resource, load_seen_definition
from wonder.storage.resource_errors import AmbiguousName, NotFound
from wonder.storage.store import Reader

TARGET_ERRORS: Final = (NotFound, AmbiguousName, WorkflowDisabled)
"""What can be wrong with a target, as opposed to the database in which it is looked for."""


class FoundTarget(NamedTuple):
    """A definition to start, in its newest version if None; `workflow_id` is None for one of a library."""

    name: str
    workflow_id: str | None
    workflow_def_id: str
    version: int | None
    enabled: bool = True


async def find_library_workflow(reader: Reader, project_id: str, name: str) -> LibraryWorkflow:
    """Find what `library/name` means in a project; raises NotFound."""
    reference = parse_reference("workflow", name, ())
    if reference is None or reference.library is None:
        raise NotFound("workflow", name)
    found = await _in_library(reader, project_id, reference)
    return LibraryWorkflow(project_id, name, found.workflow_def_id)


async def load_library_workflow(reader: Reader, project_id: str, workflow_def_id: str, name: str) -> LibraryWorkflow:
    """Give a library's workflow definition by its id, if the project sees it; raises NotFound (INV-7)."""
    definition = await load_seen_definition(reader, WorkflowDef, project_id, workflow_def_id)
    if definition.library_id is None:
        raise NotFound("workflow", workflow_def_id)
    return LibraryWorkflow(project_id, name, definition.id)


async def find_target(reader: Reader, project_id: str, wanted: str) -> FoundTarget:
    """Find what `workflowId` means in a project: a workflow's name or id, `name@version` or `library/name`.

    Raises NotFound or AmbiguousName.
    """
    reference = parse_reference("workflow", wanted, ())
    if reference is None:
        raise NotFound("workflow", wanted)
    if reference.library is not None:
        return await _in_library(reader, project_id, reference)
    workflow = await find_live_resource(reader, Workflow, project_id, reference.name)
    if workflow is None:
        raise NotFound("workflow", reference.name)
    version = reference.version or workflow.pinned_version
    return FoundTarget(workflow.name, workflow.id, workflow.workflow_def_id, version, workflow.enabled)


async def find_called(reader: Reader, project_id: str, wanted: str, version: int | None) -> WorkflowDef:
    """Find the definition that a call means by what its context says: `name`, `name@3`, `library/name` or an id.

    Raises NotFound or AmbiguousName; what the project can't see is not there (INV-7).
    """
    reference = parse_reference("workflow", wanted, (), version)
    if reference is None:
        raise NotFound("workflow", wanted if version is None else f"{wanted} in version {version}")
    found = await find_stored(reader, project_id, reference)
    if len(found) > 1:
        raise AmbiguousName("workflow", reference.name, [one.owner for one in found])
    if not found:
        raise NotFound("workflow", str(reference))
    record = found[0].record
    assert isinstance(record, WorkflowDef)
    return record


async def _in_library(reader: Reader, project_id: str, reference: Reference) -> FoundTarget:
    home = Owner("project", project_id)
    found = await find_definition(reader, WorkflowDef, home, reference.name, reference.version, reference.library)
    if found is None:
        raise NotFound("workflow", str(reference))
    return FoundTarget(str(reference), None, found.id, reference.version or found.version)
