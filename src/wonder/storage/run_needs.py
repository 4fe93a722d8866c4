"""Which live runs need a stored resource: all that their workflow names, and all that is named by what it calls."""

from collections.abc import Iterable

from wonder.storage.naming import fields_that_name
from wonder.storage.resource_errors import LiveRuns
from wonder.storage.store import Row, Transaction, Value

_SHOWN = 3
_Version = tuple[str, int]
"""A workflow definition's id, and one of its versions."""


async def runs_needing_definition(
    transaction: Transaction, table: str, id: str, version: int | None, *, is_last: bool
) -> LiveRuns:
    """Count the live runs that need a version of a definition, or any; `is_last` says that no other would be left."""
    found = LiveRuns()
    if table == "task_defs":
        versions = await transaction.fetch("versions_with_task", id, version)
    elif table == "action_defs":
        versions = await transaction.fetch("versions_with_action", id, version)
    elif table == "workflow_defs":
        found = read_live_runs(await transaction.fetch_named("live_runs_of_version", id, version, _SHOWN))
        versions = await transaction.fetch("versions_that_call", id, version, int(is_last))
    elif table == "artifact_types" and not is_last:
        versions = []
    else:
        # A run keeps the version of a prompt that it found at its start (RES-4), so any may be needed.
        versions = await _versions_naming(transaction, table, id)
    counted = None if table != "workflow_defs" else (id, version)
    return found + await _runs_of(transaction, _versions(versions), counted)


async def runs_needing_resource(transaction: Transaction, table: str, id: str) -> LiveRuns:
    """Count the live runs that need a model profile, MCP server, vector index or workflow."""
    if table != "workflows":
        versions = await _versions_naming(transaction, table, id)
        return await _runs_of(transaction, _versions(versions))
    own = read_live_runs(await transaction.fetch_named("live_runs_of_workflow", id, _SHOWN))
    # A run that has both would be counted twice; whether there is any is what matters then.
    return own or await _runs_of(transaction, _versions(await transaction.fetch("versions_that_trigger", id)))


async def _versions_naming(transaction: Transaction, table: str, id: str) -> list[Row]:
    """Give the workflow versions with an action, of whatever kind, that names a resource."""
    found: list[Row] = []
    for kind, field in fields_that_name(table):
        found += await transaction.fetch("versions_with_action_that_names", id, kind, field)
    return found


async def _runs_of(
    transaction: Transaction, versions: Iterable[_Version], counted: tuple[str, int | None] | None = None
) -> LiveRuns:
    """Count the live runs of these workflow versions and of all that call them, without those counted already."""
    found, seen, ahead = LiveRuns(), set[_Version](), list(versions)
    while ahead:
        id, version = one = ahead.pop()
        if one in seen:
            continue
        seen.add(one)
        if counted not in ((id, version), (id, None)):
            found += read_live_runs(await transaction.fetch_named("live_runs_of_version", id, version, _SHOWN))
        newest = await transaction.fetch("newest_live_version(workflow_defs)", id)
        is_newest = not newest or newest[0][0] == version
        ahead += _versions(await transaction.fetch("versions_that_call", id, version, int(is_newest)))
    return found


def _versions(rows: Iterable[Row]) -> list[_Version]:
    versions = []
    for id, version in rows:
        assert isinstance(version, int)
        versions.append((str(id), version))
    return versions


def read_live_runs(rows: list[dict[str, Value]]) -> LiveRuns:
    """Read how many live runs a query has found, and some of them."""
    if not rows:
        return LiveRuns()
    count = rows[0]["found"]
    assert isinstance(count, int)
    return LiveRuns(count, tuple(str(row["id"]) for row in rows))
