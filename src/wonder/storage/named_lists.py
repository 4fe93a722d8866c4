"""Lists of what a project has under names, filtered by name and tag, page by page; one way for all tables."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from wonder.storage.pages import LIMIT, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.store import Reader, Value
from wonder.storage.tables import Table, decode_json

TAGGED = frozenset({"task_defs", "action_defs", "prompt_specs", "workflows"})
"""The tables whose rows have tags; a workflow has those of its definition."""


class NamedFilter(Struct, frozen=True, kw_only=True):
    """Which rows of a table, and which page of them."""

    name: str | None = None
    """Only names that contain this, in upper or lower case."""
    tag: str | None = None
    archived: bool = False
    """Only what is archived; otherwise only what is not."""
    limit: int = LIMIT
    cursor: str | None = None


class NamedRow(Struct, frozen=True):
    """One row: the fields of its record, without the parts that are in tables of their own."""

    fields: dict[str, Any]
    description: str
    tags: list[str]
    archived_at: str | None


async def list_named(reader: Reader, table: Table[Any], project_id: str, given: NamedFilter) -> Page[NamedRow]:
    """List what a project has in a table, by name; a definition is listed at its newest version."""
    check_limit(given.limit)
    label = f"{table.name} named"
    after = read_cursor(given.cursor, label, "", "")
    pattern = f"%{_escaped(given.name.lower())}%" if given.name else "%"
    keys: list[Value] = [project_id, *after, int(given.archived), pattern, given.limit + 1]
    if table.name in TAGGED:
        keys.append(given.tag)
    assert table.name in TAGGED or given.tag is None, f"{table.name} has no tags"
    rows = await reader.fetch_named(f"named({table.name})", *keys)
    page, more = cut([_named(table, row) for row in rows], given.limit)
    last = page[-1].fields if more else {}
    return Page(page, write_cursor(label, last["name"], last["id"]) if more else None)


def _named(table: Table[Any], row: Mapping[str, Value]) -> NamedRow:
    fields = table.fields(row)
    tags: Any = decode_json(row.get("tags"))
    description = fields.get("description") or row.get("definition_description") or ""
    archived_at = row["archived_at"]
    return NamedRow(fields, str(description), tags or [], None if archived_at is None else str(archived_at))


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
