"""Loads the catalog: what is stored of the things that a bundle names (RES-4, RES-7)."""

import re
from collections.abc import Iterable

from wonder.definitions.catalog import Allowed, Catalog, Found, Stored
from wonder.definitions.drafts import Bundle
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.references import Reference, ResourceKind
from wonder.definitions.secret_scopes import SecretScope
from wonder.storage.definitions import Owner, load_definition, load_triggers, owner_of
from wonder.storage.names import find_definition
from wonder.storage.own_resources import find_own_resource, load_seen_definition
from wonder.storage.resource_errors import AmbiguousName, NotFound
from wonder.storage.secrets import list_secrets
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_library, load_project, load_workspace
from wonder.storage.tool_schemas import load_tool_schemas

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


async def load_catalog(reader: Reader, project_id: str, references: Iterable[Reference]) -> Catalog:
    """Load what each reference may mean when it is written in a file of the project."""
    found: dict[tuple[ResourceKind, str], list[Found]] = {}
    actions: dict[tuple[str, int], ActionDef] = {}
    for reference in references:
        if reference.key in found:
            continue
        candidates = found[reference.key] = await find_stored(reader, project_id, reference)
        for task in (candidate.record for candidate in candidates):
            if isinstance(task, TaskDef):
                for step in task.steps:
                    key = (step.action_id, step.action_version)
                    if key not in actions:
                        actions[key] = await load_definition(reader, ActionDef, *key)
    workflows = [one.record for candidates in found.values() for one in candidates]
    named = [record for record in workflows if isinstance(record, WorkflowDef) and record.project_id is not None]
    return Catalog(found, actions, await _triggered(reader, project_id, named))


async def load_allowed(reader: Reader, project_id: str) -> Allowed:
    """Load what the operator allows a project."""
    project = await load_project(reader, project_id)
    workspace = await load_workspace(reader, project.workspace_id)
    secrets: dict[str, SecretScope | None] = {}
    for secret in await list_secrets(reader, project_id):
        # The project's own comes first, and counts.
        secrets.setdefault(secret.name, secret.scope)
    return Allowed(workspace.settings, project.settings, project_id, secrets)


async def load_tools_only_as_tasks(
    reader: Reader, project_id: str, bundle: Bundle, catalog: Catalog
) -> dict[str, frozenset[str]]:
    """Load which tools of the servers that actions name can't be called, as far as servers were asked before."""
    actions = [*bundle.definitions.actions.values()]
    actions += [action for library in bundle.libraries.values() for action in library.definitions.actions.values()]
    named = {one for action in actions for one in action.references if one.kind == "mcp_server"}
    found: dict[str, frozenset[str]] = {}
    for reference in named:
        stored = [one.record.connection for one in catalog.find(reference) if isinstance(one.record, McpServer)]
        connection = bundle.mcp_servers.get(reference.name) or next(iter(stored), None)
        tools = await load_tool_schemas(reader, project_id, connection) if connection else None
        found[reference.name] = frozenset(name for name, tool in (tools or {}).items() if tool.get("only_as_task"))
    return found


async def _triggered(reader: Reader, project_id: str, workflows: Iterable[WorkflowDef]) -> dict[str, list[str]]:
    """Load what workflows of the project trigger, and those in turn, to see where that comes back to itself."""
    triggered: dict[str, list[str]] = {}
    ahead = [(record.name, record.id, record.version) for record in workflows]
    while ahead:
        name, id, version = ahead.pop()
        if name in triggered:
            continue
        triggered[name] = [trigger.workflow_id for trigger in await load_triggers(reader, id, version)]
        for other in triggered[name]:
            found = await find_definition(reader, WorkflowDef, Owner("project", project_id), other)
            if found is not None:
                ahead.append((found.name, found.id, found.version))
    return triggered


async def find_stored(reader: Reader, project_id: str, reference: Reference) -> list[Found]:
    """Find what a reference means in a project: nothing, one record, or several of which none comes first."""
    if reference.kind in _RESOURCES:
        return await _find_resource(reader, project_id, reference)
    kind, home = _DEFINITIONS[reference.kind], Owner("project", project_id)
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


def _in_library(reference: Reference, library: str) -> Reference:
    return Reference(reference.kind, reference.name, library, reference.version, reference.path)


async def _by_id(
    reader: Reader,
    project_id: str,
    kind: type[WorkflowDef | TaskDef | ActionDef | PromptSpec | ArtifactType],
    reference: Reference,
) -> Stored | None:
    """Find a definition by its id, if the project may see it (INV-7)."""
    try:
        return await load_seen_definition(reader, kind, project_id, reference.name, reference.version)
    except NotFound:
        return None


async def _find_resource(reader: Reader, project_id: str, reference: Reference) -> list[Found]:
    kind = _RESOURCES[reference.kind]
    if reference.library is not None or reference.version is not None:
        return []  # these belong to a project and have no versions
    record = await find_own_resource(reader, kind, project_id, reference.name)
    return [Found(record, "the project")] if record else []


async def _owner_name(reader: Reader, record: Stored) -> str:
    if isinstance(record, ModelProfile | McpServer | VectorIndex):
        return "the project"
    owner = owner_of(record)
    return "the project" if owner.kind == "project" else f"library '{(await load_library(reader, owner.id)).name}'"
