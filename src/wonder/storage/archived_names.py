"""What a reference that finds nothing would mean if it were not archived; for the error that says so (RES-5)."""

import shlex
from typing import Any, Final

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.references import Reference, ResourceKind
from wonder.storage.store import Reader
from wonder.storage.tables import table_of
from wonder.storage.tenancy import find_library, load_project

_KINDS: Final[dict[ResourceKind, tuple[str, type[Any]]]] = {
    "workflow": ("workflows", WorkflowDef),
    "task": ("tasks", TaskDef),
    "action": ("actions", ActionDef),
    "prompt": ("prompts", PromptSpec),
    "artifact_type": ("artifact-types", ArtifactType),
    "model": ("models", ModelProfile),
    "vector_index": ("vectors", VectorIndex),
    "mcp_server": ("mcp", McpServer),
}


async def restoring_command(reader: Reader, project_id: str, reference: Reference) -> str | None:
    """Give the command that would restore what a reference names; None if nothing of the name is archived."""
    if reference.kind not in _KINDS:
        return None
    command, kind = _KINDS[reference.kind]
    owner_id = project_id
    if reference.library is not None:
        workspace_id = (await load_project(reader, project_id)).workspace_id
        library = await find_library(reader, workspace_id, reference.library)
        if library is None:
            return await _restoring_library(reader, workspace_id, reference.library)
        owner_id = library.id
    name = f"{reference.library}/{reference.name}" if reference.library else reference.name
    found = await _archived(reader, kind, owner_id, reference.name)
    if not found and kind is WorkflowDef:
        found = await _archived(reader, Workflow, owner_id, reference.name)
    return f"wonder {command} restore {shlex.quote(name)}" if found else None


async def _archived(reader: Reader, kind: type[Any], owner_id: str, name: str) -> bool:
    what = "archived_definition" if "version" in kind.model_fields else "archived_resource"
    return bool(await reader.fetch(f"{what}({table_of(kind).name})", owner_id, name))


async def _restoring_library(reader: Reader, workspace_id: str, name: str) -> str | None:
    for owner, option in ((workspace_id, ""), (None, " --public")):
        if await reader.fetch("archived_library", owner, name):
            return f"wonder libraries restore {shlex.quote(name)}{option}"
    return None
