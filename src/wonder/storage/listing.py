"""Lists of definitions and of their versions, page by page."""

from dataclasses import dataclass

from wonder.storage.definitions import D, Owner
from wonder.storage.pages import LAST, LIMIT, Order, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader, Row
from wonder.storage.tables import table_of


@dataclass(frozen=True)
class DefinitionSummary:
    """One version of a definition, without its content."""

    id: str
    version: int
    name: str
    description: str
    owner: Owner
    content_hash: str
    created_at: str
    archived_at: str | None


async def list_definitions(
    reader: Reader, kind: type[D], owner: Owner, *, order: Order = "name", limit: int = LIMIT, cursor: str | None = None
) -> Page[DefinitionSummary]:
    """List an owner's definitions, each at its newest version, by name or the youngest name first."""
    table = table_of(kind)
    check_limit(limit)
    label = f"{table.name} by {order}"
    (after,) = read_cursor(cursor, label, "" if order == "name" else LAST)
    query = "list_by_name" if order == "name" else "list_newest"
    rows = await reader.fetch(f"{query}({table.name})", *owner.keys, after, limit + 1)
    page, more = cut([_summary(row) for row in rows], limit)
    key = (page[-1].name if order == "name" else page[-1].id) if more else ""
    return Page(page, write_cursor(label, key) if more else None)


async def list_versions(reader: Reader, kind: type[D], id: str) -> list[DefinitionSummary]:
    """List all versions of one definition, newest first, archived ones too; raises NotFound."""
    table = table_of(kind)
    rows = await reader.fetch(f"versions({table.name})", id)
    if not rows:
        raise NotFound(table.noun, id)
    return [_summary(row) for row in rows]


def _summary(row: Row) -> DefinitionSummary:
    id, version, name, description, project_id, library_id, content_hash, created_at, archived_at = row
    assert isinstance(version, int)
    owner = Owner("library", str(library_id)) if project_id is None else Owner("project", str(project_id))
    archived = None if archived_at is None else str(archived_at)
    return DefinitionSummary(
        str(id), version, str(name), str(description), owner, str(content_hash), str(created_at), archived
    )
