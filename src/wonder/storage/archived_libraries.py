"""Libraries, archived as a whole while nothing outside of them needs what they hold, and restored (RES-5)."""

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, PromptSpec
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.tenancy import Library
from wonder.storage.archive import counted_users, user_rows
from wonder.storage.definitions import Owner, lock_owners
from wonder.storage.needed_versions import NeededVersions
from wonder.storage.resource_errors import InUse, LiveRuns, NotFound, User
from wonder.storage.run_needs import runs_needing_definition
from wonder.storage.store import Reader, Row, Transaction
from wonder.storage.tables import LIBRARIES, table_of
from wonder.storage.tenants import restore_tenant

_HELD = (WorkflowDef, TaskDef, ActionDef, PromptSpec, ArtifactType)


async def archive_library(transaction: Transaction, library: Library, *, at: str) -> None:
    """Archive a library with all that it holds, which stays as it is; raises InUse."""
    await lock_owners(transaction, [Owner("library", library.id)])
    rows = await transaction.fetch("triggers_into_library", library.name, library.workspace_id)
    runs = LiveRuns()
    for kind in _HELD:
        table = table_of(kind)
        for (id,) in await transaction.fetch(f"live_ids_of_library({table.name})", library.id):
            rows += await user_rows(transaction, table, str(id))
            needing = await runs_needing_definition(transaction, table.name, str(id), None, is_last=True)
            # A run may need several of its definitions, so the counts can't be added up.
            runs = max(runs, needing, key=lambda one: one.count)
    users = await _outside(transaction, library, rows)
    if users or runs:
        raise InUse("library", library.name, users, runs)
    await transaction.execute("archive_tenant(libraries)", library.id, at)


async def restore_library(transaction: Transaction, workspace_id: str | None, wanted: str, *, at: str) -> Library:
    """Make an archived library of a workspace, or a public one, live again; raises NotFound or NameTaken."""
    rows = await transaction.fetch_named("archived_library", workspace_id, wanted)
    if not rows:
        raise NotFound("archived library", wanted)
    library = LIBRARIES.load(rows[0])
    await restore_tenant(transaction, library, at=at)
    return library


async def is_library_archived(reader: Reader, library_id: str) -> bool:
    """Say whether a library is archived."""
    rows = await reader.fetch_named("tenant_by_id(libraries)", library_id)
    return bool(rows) and rows[0]["archived_at"] is not None


async def _outside(transaction: Transaction, library: Library, rows: list[Row]) -> list[User]:
    """Give the users that belong to others than the library itself, each once, if something starts them."""
    others = {row for row in rows if not _is_of(row, library)}
    counted = await counted_users(transaction, None, sorted(others, key=str), NeededVersions(transaction))
    return list(dict.fromkeys(counted))


def _is_of(row: Row, library: Library) -> bool:
    *_, library_id = row
    return library_id == library.id
