"""What belongs to a project under a name and has no versions: models, MCP servers, vector indexes, workflows …"""

from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from wonder.definitions.records.resources import McpServer, ModelProfile, VectorIndex
from wonder.definitions.records.schedules import Schedule
from wonder.definitions.records.workflows import Workflow
from wonder.storage.definitions import Owner, lock_owners
from wonder.storage.pages import LAST, LIMIT, Order, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader, Transaction
from wonder.storage.tables import changed, table_of

NamedResource: TypeAlias = ModelProfile | McpServer | VectorIndex | Workflow | Schedule
N = TypeVar("N", bound=NamedResource)


class Put(Struct, Generic[N], frozen=True):
    """A named resource as it is stored now, and whether this call changed anything."""

    record: N
    is_new: bool
    is_changed: bool


async def put_resource(transaction: Transaction, record: N) -> Put[N]:
    """Store a resource under its name: one that is there keeps its id and birth; the same again writes nothing."""
    existing = await _lock_and_find(transaction, record)
    if existing is not None:
        record = changed(record, id=existing.id, created_at=existing.created_at)
        if changed(record, updated_at=existing.updated_at) == existing:
            return Put(existing, is_new=False, is_changed=False)
    await _write(transaction, record)
    return Put(record, is_new=existing is None, is_changed=True)


async def ensure_resource(transaction: Transaction, record: N) -> Put[N]:
    """Store a resource only if its name is new: deploying leaves what a person has set alone (FIL-6)."""
    existing = await _lock_and_find(transaction, record)
    if existing is not None:
        return Put(existing, is_new=False, is_changed=False)
    await _write(transaction, record)
    return Put(record, is_new=True, is_changed=True)


async def load_resource(reader: Reader, kind: type[N], id: str) -> N:
    """Load a resource by its id, archived or not; raises NotFound."""
    table = table_of(kind)
    rows = await reader.fetch_named(f"resource({table.name})", id)
    if not rows:
        raise NotFound(table.noun, id)
    return table.load(rows[0])


async def find_resource(reader: Reader, kind: type[N], project_id: str, name: str) -> N | None:
    """Find a project's live resource by its name."""
    table = table_of(kind)
    rows = await reader.fetch_named(f"resource_by_name({table.name})", project_id, name)
    return table.load(rows[0]) if rows else None


async def list_resources(
    reader: Reader,
    kind: type[N],
    project_id: str,
    *,
    order: Order = "name",
    limit: int = LIMIT,
    cursor: str | None = None,
) -> Page[N]:
    """List a project's live resources, by name or the youngest first."""
    table = table_of(kind)
    check_limit(limit)
    label = f"{table.name} by {order}"
    (after,) = read_cursor(cursor, label, "" if order == "name" else LAST)
    query = "resources_by_name" if order == "name" else "resources_newest"
    rows = await reader.fetch_named(f"{query}({table.name})", project_id, after, limit + 1)
    page, more = cut([table.load(row) for row in rows], limit)
    key = (page[-1].name if order == "name" else page[-1].id) if more else ""
    return Page(page, write_cursor(label, key) if more else None)


async def _lock_and_find(transaction: Transaction, record: N) -> N | None:
    await lock_owners(transaction, [Owner("project", record.project_id)])
    return await find_resource(transaction, type(record), record.project_id, record.name)


async def _write(transaction: Transaction, record: NamedResource) -> None:
    table = table_of(type(record))
    if isinstance(record, Workflow) and not await transaction.fetch("versions(workflow_defs)", record.workflow_def_id):
        raise NotFound("workflow", record.workflow_def_id)
    written = await transaction.execute(f"put_{table.name}", *table.row(record.model_dump(by_alias=True)))
    assert written == 1, f"the id {record.id} belongs to another {table.noun}"
