"""The audit log as it is stored: records of what callers have changed, appended and read, never changed (KEY-5)."""

from typing import NamedTuple

from wonder.language.values import JsonValue, encode_json
from wonder.storage.pages import LAST, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.runs.cells import from_json, number, text, text_or_none, to_json
from wonder.storage.store import Entry, Reader, Row, Value
from wonder.storage.ulids import ulid_of

_FIRST, _NEWEST, _OLDEST = "", "audit", "audit oldest"


class Change(NamedTuple):
    """A setting as it was, and as it is now."""

    before: JsonValue
    after: JsonValue


class AuditRecord(NamedTuple):
    """What one caller has asked for, and how it ended."""

    id: str
    at_ms: int
    who: str
    who_kind: str
    key_id: str | None
    role: str
    operation: str
    workspace_id: str | None
    project_id: str | None
    input: JsonValue
    ids: list[str]
    change: Change | None = None
    outcome: str = "ok"

    def entry(self) -> Entry:
        """Give the statement that appends it."""
        change = self.change
        row: Row = (
            self.id,
            self.at_ms,
            self.who,
            self.who_kind,
            self.key_id,
            self.role,
            self.operation,
            self.workspace_id,
            self.project_id,
            encode_json(self.input),
            to_json(self.ids),
            None if change is None else encode_json(change.before),
            None if change is None else encode_json(change.after),
            self.outcome,
        )
        return "insert_audit_record", [row]


class WhichRecords(NamedTuple):
    """Which records; what is None does not narrow the list."""

    workspace_id: str | None = None
    project_id: str | None = None
    who: str | None = None
    """A name, or the id of a key."""
    operation: str | None = None
    """One operation, or all of one noun: `runs`."""
    since_ms: int | None = None
    until_ms: int | None = None
    """Before this time, which does not belong to it."""


async def list_records(
    reader: Reader, which: WhichRecords, *, oldest_first: bool, limit: int, cursor: str | None
) -> Page[AuditRecord]:
    """List records by time, page by page; raises BadLimit or BadCursor."""
    order = _OLDEST if oldest_first else _NEWEST
    (at,) = read_cursor(cursor, order, _FIRST if oldest_first else LAST)
    since = _FIRST if which.since_ms is None else ulid_of(which.since_ms)
    until = LAST if which.until_ms is None else ulid_of(which.until_ms)
    wanted = (which.workspace_id, which.project_id, which.who, which.operation, check_limit(limit) + 1)
    if oldest_first:
        rows = await reader.fetch_named("audit_records_after", until, max(at, since), *wanted)
    else:
        rows = await reader.fetch_named("audit_records_before", min(at, until), since, *wanted)
    page, more = cut([_record(row) for row in rows], limit)
    return Page(page, write_cursor(order, page[-1].id) if more else None)


def _record(row: dict[str, Value]) -> AuditRecord:
    ids = from_json(row["ids"])
    assert isinstance(ids, list)
    return AuditRecord(
        id=text(row["id"]),
        at_ms=number(row["at_ms"]),
        who=text(row["who"]),
        who_kind=text(row["who_kind"]),
        key_id=text_or_none(row["key_id"]),
        role=text(row["role"]),
        operation=text(row["operation"]),
        workspace_id=text_or_none(row["workspace_id"]),
        project_id=text_or_none(row["project_id"]),
        input=from_json(row["input"]),
        ids=[str(id) for id in ids],
        change=None if row["before"] is None else Change(from_json(row["before"]), from_json(row["after"])),
        outcome=text(row["outcome"]),
    )
