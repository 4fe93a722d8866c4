"""Stored resources, loaded for one project by an id that somebody gave: its own, and what it sees of libraries (INV-7).

An id of another project gets the same answer as an id that does not exist, as with runs (`runs/own_runs.py`).
"""

from wonder.storage.definitions import D, Definition, load_definition
from wonder.storage.named_resources import N, find_resource, load_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.schedules import StoredSchedule, load_schedule
from wonder.storage.store import Reader
from wonder.storage.tables import table_of
from wonder.storage.tenancy import load_library, load_project


async def load_own_resource(reader: Reader, kind: type[N], project_id: str, id: str) -> N:
    """Load a workflow, model profile, MCP server … of a project by its id, archived or not; raises NotFound."""
    resource = await load_resource(reader, kind, id)
    if resource.project_id != project_id:
        raise NotFound(table_of(kind).noun, id)
    return resource


async def find_own_resource(reader: Reader, kind: type[N], project_id: str, wanted: str) -> N | None:
    """Find a resource of a project by its name or id (RES-7); one that is archived by its id only."""
    if found := await find_resource(reader, kind, project_id, wanted):
        return found
    try:
        return await load_own_resource(reader, kind, project_id, wanted)
    except NotFound:
        return None


async def find_live_resource(reader: Reader, kind: type[N], project_id: str, wanted: str) -> N | None:
    """Find a resource of a project that is not archived, by its name or id (RES-7)."""
    found = await find_own_resource(reader, kind, project_id, wanted)
    if found is None or found.name == wanted:
        return found
    # By its name as well: one that is archived has lost it.
    live = await find_resource(reader, kind, project_id, found.name)
    return live if live is not None and live.id == found.id else None


async def load_own_schedule(reader: Reader, project_id: str, id: str) -> StoredSchedule:
    """Load a schedule of a project that is not archived by its id; raises NotFound."""
    stored = await load_schedule(reader, id)
    if stored is None or stored.schedule.project_id != project_id:
        raise NotFound("schedule", id)
    return stored


async def load_seen_definition(
    reader: Reader, kind: type[D], project_id: str, id: str, version: int | None = None
) -> D:
    """Load a definition that a project sees by its id: its own, or one of a library; raises NotFound."""
    definition = await load_definition(reader, kind, id, version)
    if not await sees(reader, project_id, definition):
        raise NotFound(table_of(kind).noun, id if version is None else f"{id}@{version}")
    return definition


async def sees(reader: Reader, project_id: str, definition: Definition) -> bool:
    """Say whether a project sees a definition: its own, one of its workspace's libraries, or a public one."""
    if definition.library_id is None:
        return definition.project_id == project_id
    library, project = await load_library(reader, definition.library_id), await load_project(reader, project_id)
    return library.workspace_id in (None, project.workspace_id)
