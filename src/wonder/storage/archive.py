"""Archiving instead of deleting, refused while something that is started or a live run needs it; restoring (RES-5)."""

from collections.abc import Iterable
from typing import Any

from wonder.definitions.records.resources import McpServer
from wonder.definitions.records.workflows import Workflow
from wonder.storage.definitions import D, Owner, lock_owners
from wonder.storage.named_resources import N, find_resource, load_resource
from wonder.storage.naming import fields_that_name
from wonder.storage.needed_versions import NeededVersions
from wonder.storage.resource_errors import InUse, NameTaken, NotFound, User
from wonder.storage.run_needs import runs_needing_definition, runs_needing_resource
from wonder.storage.store import Reader, Row, Transaction, Value
from wonder.storage.tables import Table, changed, table_of
from wonder.storage.tenancy import load_project, load_workspace

# Kinds that others name at a version, and kinds that others name without one, taking the newest.
_PINNED = frozenset({"task_defs", "action_defs", "workflow_defs"})
_FLOATING = frozenset({"workflow_defs", "prompt_specs", "artifact_types"})
_WITH_OTHER_USERS = frozenset({"model_profiles", "workflows", "schedules"})


async def archive_definition(
    transaction: Transaction, kind: type[D], id: str, version: int | None = None, *, at: str
) -> int:
    """Archive one version, or all of a definition, and return how many; raises InUse or NotFound.

    An archived version keeps its number and can still be loaded by it, but no name finds it and no list shows it.
    """
    table = table_of(kind)
    rows = await transaction.fetch_named(f"versions({table.name})", id)
    live = [row for row in rows if row["archived_at"] is None and version in (None, row["version"])]
    if not live:
        raise NotFound(f"live {table.noun}", id if version is None else f"{id}@{version}")
    await lock_owners(transaction, [_owner(live[0])])
    ((left,),) = await transaction.fetch(f"live_versions_besides({table.name})", id, version)
    named_by = await _users(transaction, table, id, version, is_last=not left)
    users = await counted_users(transaction, table, named_by)
    runs = await runs_needing_definition(transaction, table.name, id, version, is_last=not left)
    if users or runs:
        raise InUse(table.noun, str(live[0]["name"]), users, runs)
    return await transaction.execute(f"archive_definition({table.name})", id, version, at)


async def archive_resource(transaction: Transaction, kind: type[N], id: str, *, at: str) -> None:
    """Archive a model profile, MCP server, vector index or workflow; its name is free again."""
    table = table_of(kind)
    resource = await load_resource(transaction, kind, id)
    await lock_owners(transaction, [Owner("project", resource.project_id)])
    users = await counted_users(transaction, table, await _users_of_resource(transaction, table, id))
    if isinstance(resource, McpServer):
        users += await _lists_with(transaction, resource)
    runs = await runs_needing_resource(transaction, table.name, id)
    if users or runs:
        raise InUse(table.noun, resource.name, users, runs)
    if not await transaction.execute(f"archive_resource({table.name})", id, at):
        raise NotFound(f"live {table.noun}", id)


async def restore_definition(transaction: Transaction, kind: type[D], owner: Owner, wanted: str) -> tuple[str, int]:
    """Make the versions of a definition live again that were archived last; gives its name and how many they are.

    `wanted` is a name or an id. Raises NotFound, or NameTaken where newer versions are live by now.
    """
    table = table_of(kind)
    await lock_owners(transaction, [owner])
    rows = await transaction.fetch_named(f"archived_definition({table.name})", owner.id, wanted)
    if not rows:
        raise NotFound(f"archived {table.noun}", wanted)
    id, name = str(rows[0]["id"]), str(rows[0]["name"])
    if await transaction.fetch(f"find_in_{owner.kind}({table.name})", owner.id, name, None):
        raise NameTaken(table.noun, name)
    archived_at = rows[0]["archived_at"]
    return name, await transaction.execute(f"restore_archived_together({table.name})", id, archived_at)


async def restore_resource(transaction: Transaction, kind: type[N], project_id: str, wanted: str, *, at: str) -> N:
    """Make the archived resource of a name or id live again, the last that was; raises NotFound or NameTaken."""
    table = table_of(kind)
    await lock_owners(transaction, [Owner("project", project_id)])
    rows = await transaction.fetch_named(f"archived_resource({table.name})", project_id, wanted)
    if not rows:
        raise NotFound(f"archived {table.noun}", wanted)
    found = table.load(rows[0])
    if await find_resource(transaction, kind, project_id, found.name):
        raise NameTaken(table.noun, found.name)
    await transaction.execute(f"restore_resource({table.name})", found.id, at)
    if isinstance(found, Workflow):
        archived_at = rows[0]["archived_at"]
        await transaction.execute("restore_archived_together(workflow_defs)", found.workflow_def_id, archived_at)
    return changed(found, updated_at=at)


async def find_users(reader: Reader, table: Table[Any], id: str) -> list[User]:
    """Find the live things that name this one, whichever of its versions."""
    return [_user(row) for row in await user_rows(reader, table, id)]


async def user_rows(reader: Reader, table: Table[Any], id: str) -> list[Row]:
    """Find the live things that name this one, as rows of `users.sql`."""
    if table.name in _PINNED or table.name in _FLOATING:
        return await _users(reader, table, id, None, is_last=True)
    return await _users_of_resource(reader, table, id)


async def counted_users(
    reader: Reader, table: Table[Any] | None, rows: Iterable[Row], needed: NeededVersions | None = None
) -> list[User]:
    """Leave out the users that nothing starts any more, which can do with what is archived."""
    # An archived workflow can't be started or called any more, so all that would do so keeps it.
    if table is not None and table.name in ("workflow_defs", "workflows"):
        return [_user(row) for row in rows]
    needed = needed or NeededVersions(reader)
    found: list[User] = []
    for row in rows:
        user, (stored_in, id, _) = _user(row), row[3:]
        is_stored = stored_in is not None and id is not None
        if not is_stored or await needed.is_user(str(stored_in), str(id), user.version):
            found.append(user)
    return found


async def _users_of_resource(reader: Reader, table: Table[Any], id: str) -> list[Row]:
    rows = await _actions_that_name(reader, table, id)
    if table.name in _WITH_OTHER_USERS:
        rows += await reader.fetch(f"users({table.name})", id)
    return rows


async def _users(reader: Reader, table: Table[Any], id: str, version: int | None, *, is_last: bool) -> list[Row]:
    rows: list[Row] = []
    if table.name in _PINNED:
        rows += await reader.fetch(f"pinned_users({table.name})", id, version)
    if table.name in _FLOATING and is_last:
        rows += await _actions_that_name(reader, table, id)
        if table.name == "workflow_defs":
            rows += await reader.fetch("floating_users(workflow_defs)", id)
        elif table.name == "artifact_types":
            rows += await reader.fetch("indexes_of_artifact_type", id)
    return rows


async def _actions_that_name(reader: Reader, table: Table[Any], id: str) -> list[Row]:
    rows: list[Row] = []
    for kind, field in fields_that_name(table.name):
        rows += await reader.fetch("actions_that_name", id, kind, field)
    return rows


async def _lists_with(reader: Reader, server: McpServer) -> list[User]:
    """Give the workspace whose list allows a server by its name, which anybody could give to another server then."""
    project = await load_project(reader, server.project_id)
    workspace = await load_workspace(reader, project.workspace_id)
    listed = server.name in (workspace.settings.allowed_mcp_servers or ())
    return [User("allowed_mcp_servers of workspace", workspace.name, None)] if listed else []


def _owner(row: dict[str, Value]) -> Owner:
    project_id = row["project_id"]
    return Owner("library", str(row["library_id"])) if project_id is None else Owner("project", str(project_id))


def _user(row: Row) -> User:
    kind, name, version = row[:3]
    assert version is None or isinstance(version, int)
    return User(str(kind), str(name), version)
