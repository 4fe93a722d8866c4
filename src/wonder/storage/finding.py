"""Finds what a reference means in a project: a definition of its own or of a library, or a resource (RES-4, RES-7)."""

import re

from wonder.definitions.catalog import Found, Stored
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.references import Reference, ResourceKind
from wonder.storage.archived_libraries import is_library_archived
from wonder.storage.definitions import Definition, Owner, load_definition, owner_of
from wonder.storage.listing import list_versions
from wonder.storage.named_resources import find_resource
from wonder.storage.names import find_definition
from wonder.storage.own_resources import find_live_resource, load_seen_definition
from wonder.storage.resource_errors import AmbiguousName, NotFound
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_library

_DEFINITIONS: dict[ResourceKind, type[WorkflowDef | TaskDef | ActionDef | PromptSpec | ArtifactType]] = {
    "workflow": WorkflowDef,
    "task": TaskDef,
    "action": ActionDef,
    "prompt": PromptSpec,
    "artifact_type": ArtifactType,
}
_RESOURCES: dict[ResourceKind, type[ModelProfile | McpServer | VectorIndex]] = {
    "model": ModelProfile,
    "mcp_server": McpServer,
    "vector_index": VectorIndex,
}
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


async def find_stored(reader: Reader, project_id: str, reference: Reference) -> list[Found]:
    """Find what a reference means in a project: nothing, one record, or several of which none comes first."""
    if reference.kind in _RESOURCES:
        return await _find_resource(reader, project_id, reference)
    kind, home = _DEFINITIONS[reference.kind], Owner("project", project_id)
    if reference.kind == "workflow" and (bound := await _find_bound(reader, project_id, reference)):
        return [bound]
    try:
        named = await find_definition(reader, kind, home, reference.name, reference.version, reference.library)
    except AmbiguousName as several:
        return [
            Found(candidate.record, text.split("@")[0])
            for text in several.candidates
            for candidate in await find_stored(reader, project_id, _in_library(reference, text.split("/")[0]))
        ]
    record: Stored | None = None
    if named:
        record = await load_definition(reader, kind, named.id, named.version)
    elif reference.library is None and _ULID.fullmatch(reference.name):
        record = await _by_id(reader, project_id, kind, reference)
    return [Found(record, await _owner_name(reader, record))] if record else []


async def _find_bound(reader: Reader, project_id: str, reference: Reference) -> Found | None:
    """Find the definition that a workflow of the project binds, if that has not the workflow's name itself (RES-1)."""
    if reference.library is not None:
        return None
    workflow = await find_resource(reader, Workflow, project_id, reference.name)
    if workflow is None:
        return None
    try:
        record = await load_seen_definition(
            reader, WorkflowDef, project_id, workflow.workflow_def_id, reference.version
        )
    except NotFound:
        return None
    is_own = record.project_id == project_id and record.name == reference.name
    if is_own or await _is_of_archived_library(reader, record):
        return None
    return Found(record, f"{await _owner_name(reader, record)}, as workflow {reference.name!r}", is_bound=True)


def _in_library(reference: Reference, library: str) -> Reference:
    return Reference(reference.kind, reference.name, library, reference.version, reference.path)


async def _by_id(
    reader: Reader,
    project_id: str,
    kind: type[WorkflowDef | TaskDef | ActionDef | PromptSpec | ArtifactType],
    reference: Reference,
) -> Stored | None:
    """Find a live definition by its id, if the project may see it (INV-7)."""
    try:
        record = await load_seen_definition(reader, kind, project_id, reference.name, reference.version)
        versions = await list_versions(reader, kind, record.id)
    except NotFound:
        return None
    is_live = any(one.version == record.version and one.archived_at is None for one in versions)
    return record if is_live and not await _is_of_archived_library(reader, record) else None


async def _is_of_archived_library(reader: Reader, record: Definition) -> bool:
    return record.library_id is not None and await is_library_archived(reader, record.library_id)


async def _find_resource(reader: Reader, project_id: str, reference: Reference) -> list[Found]:
    kind = _RESOURCES[reference.kind]
    if reference.library is not None or reference.version is not None:
        return []  # these belong to a project and have no versions
    record = await find_live_resource(reader, kind, project_id, reference.name)
    return [Found(record, "the project")] if record else []


async def _owner_name(reader: Reader, record: Stored) -> str:
    if isinstance(record, ModelProfile | McpServer | VectorIndex):
        return "the project"
    owner = owner_of(record)
    return "the project" if owner.kind == "project" else f"library '{(await load_library(reader, owner.id)).name}'"
