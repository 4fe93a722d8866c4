"""Archiving instead of deleting, refused while a live thing or a live run needs what would go (RES-5)."""

from typing import Any

from wonder.storage.definitions import D, Owner, lock_owners
from wonder.storage.named_resources import N, load_resource
from wonder.storage.naming import fields_that_name
from wonder.storage.resource_errors import InUse, NotFound, User
from wonder.storage.run_needs import runs_needing_definition, runs_needing_resource
from wonder.storage.store import Reader, Row, Transaction, Value
from wonder.storage.tables import Table, table_of

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
    users = await _users(transaction, table, id, version, is_last=not left)
    runs = await runs_needing_definition(transaction, table.name, id, version, is_last=not left)
    if users or runs:
        raise InUse(table.noun, str(live[0]["name"]), users, runs)
    return await transaction.execute(f"archive_definition({table.name})", id, version, at)


async def archive_resource(transaction: Transaction, kind: type[N], id: str, *, at: str) -> None:
    """Archive a model profile, MCP server, vector index or workflow; its name is free again."""
    table = table_of(kind)
    resource = await load_resource(transaction, kind, id)
    await lock_owners(transaction, [Owner("project", resource.project_id)])
    users = await _users_of_resource(transaction, table, id)
    runs = await runs_needing_resource(transaction, table.name, id)
    if users or runs:
        raise InUse(table.noun, resource.name, users, runs)
    if not await transaction.execute(f"archive_resource({table.name})", id, at):
        raise NotFound(f"live {table.noun}", id)


async def find_users(reader: Reader, table: Table[Any], id: str) -> list[User]:
    """Find the live things that name this one, whichever of its versions."""
    if table.name in _PINNED or table.name in _FLOATING:
        return await _users(reader, table, id, None, is_last=True)
    return await _users_of_resource(reader, table, id)


async def _users_of_resource(reader: Reader, table: Table[Any], id: str) -> list[User]:
    rows = await _actions_that_name(reader, table, id)
    if table.name in _WITH_OTHER_USERS:
        rows += await reader.fetch(f"users({table.name})", id)
    return [_user(row) for row in rows]


async def _users(reader: Reader, table: Table[Any], id: str, version: int | None, *, is_last: bool) -> list[User]:
    rows: list[Row] = []
    if table.name in _PINNED:
        rows += await reader.fetch(f"pinned_users({table.name})", id, version)
    if table.name in _FLOATING and is_last:
        rows += await _actions_that_name(reader, table, id)
        if table.name == "workflow_defs":
            rows += await reader.fetch("floating_users(workflow_defs)", id)
        elif table.name == "artifact_types":
            rows += await reader.fetch("indexes_of_artifact_type", id)
    return [_user(row) for row in rows]


async def _actions_that_name(reader: Reader, table: Table[Any], id: str) -> list[Row]:
    rows: list[Row] = []
    for kind, field in fields_that_name(table.name):
        rows += await reader.fetch("actions_that_name", id, kind, field)
    return rows


def _owner(row: dict[str, Value]) -> Owner:
    project_id = row["project_id"]
    return Owner("library", str(row["library_id"])) if project_id is None else Owner("project", str(project_id))


def _user(row: Row) -> User:
    kind, name, version = row
    assert version is None or isinstance(version, int)
    return User(str(kind), str(name), version)
