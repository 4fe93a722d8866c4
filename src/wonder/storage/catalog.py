"""Loads the catalog: what is stored of the things that a bundle names (RES-4, RES-7)."""

from collections.abc import Iterable

from wonder.definitions.catalog import Allowed, Catalog, Found
from wonder.definitions.drafts import Bundle
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import McpServer
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.references import Reference, ResourceKind
from wonder.definitions.secret_scopes import SecretScope
from wonder.storage.archived_names import restoring_command
from wonder.storage.definitions import Owner, load_definition, load_triggers
from wonder.storage.finding import find_stored
from wonder.storage.names import find_definition
from wonder.storage.secrets import list_secrets
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_project, load_workspace
from wonder.storage.tool_schemas import load_tool_schemas


async def load_catalog(reader: Reader, project_id: str, references: Iterable[Reference]) -> Catalog:
    """Load what each reference may mean when it is written in a file of the project."""
    found: dict[tuple[ResourceKind, str], list[Found]] = {}
    actions: dict[tuple[str, int], ActionDef] = {}
    archived: dict[tuple[ResourceKind, str], str] = {}
    for reference in references:
        if reference.key in found:
            continue
        candidates = found[reference.key] = await find_stored(reader, project_id, reference)
        if not candidates and (command := await restoring_command(reader, project_id, reference)):
            archived[reference.key] = command
        for task in (candidate.record for candidate in candidates):
            if isinstance(task, TaskDef):
                for step in task.steps:
                    key = (step.action_id, step.action_version)
                    if key not in actions:
                        actions[key] = await load_definition(reader, ActionDef, *key)
    workflows = [one.record for candidates in found.values() for one in candidates]
    named = [record for record in workflows if isinstance(record, WorkflowDef) and record.project_id is not None]
    return Catalog(found, actions, await _triggered(reader, project_id, named), archived=archived)


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
