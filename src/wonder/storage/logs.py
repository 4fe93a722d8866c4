"""Log records: written in batches, read newest first, and found again in their archives (EVT-4a)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from wonder.storage.runs.cells import from_json, number, text, text_or_none, to_json
from wonder.storage.store import Reader, Store, Transaction, Value

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
LEVELS: Final[dict[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_NAMES: Final[dict[int, Level]] = {number: name for name, number in LEVELS.items()}


class LogRecord(Struct, frozen=True, kw_only=True):
    """One message that somebody logged; `project_id` is None for what is about the process and not about a run."""

    id: str
    at_ms: int
    level: Level
    service: str
    trace_id: str
    project_id: str | None
    run_id: str | None
    node: str | None
    token_id: str | None
    message: str
    metadata: Any  # JSON
    error_stack: str | None


class Wanted(Struct, frozen=True):
    """Which records are wanted: of a project, or of one of its runs."""

    project_id: str
    run_id: str | None
    node: str | None
    level: Level
    from_id: str
    """The first id that is wanted."""

    def includes(self, record: LogRecord, before: str) -> bool:
        """Say whether a record is wanted, as the queries do."""
        return (
            self.from_id <= record.id < before
            and LEVELS[record.level] >= LEVELS[self.level]
            and (self.run_id is None or record.run_id == self.run_id)
            and (self.node is None or record.node == self.node)
        )


class LogArchive(Struct, frozen=True):
    """An object with older records, and what is known of them without reading it."""

    storage_key: str
    first_id: str
    last_id: str
    run_ids: list[str] | None
    """None where they are too many."""


async def write_records(store: Store, records: Sequence[LogRecord]) -> None:
    """Write records; durable when this returns. One that was written before is left as it is."""
    rows = [_row(record) for record in records]
    journal = store.journal
    if journal is not None:
        # Logs have nothing to do with the facts of runs: these need not reach the tables first.
        await journal.commit([("put_log_record", rows)], settles=False)
    else:
        await store.commit([("put_log_record", rows)])


async def records_before(reader: Reader, wanted: Wanted, before: str, limit: int) -> list[LogRecord]:
    """Give the newest records before an id, newest first."""
    given = (wanted.project_id, before, wanted.from_id, LEVELS[wanted.level], wanted.node, limit)
    if wanted.run_id is None:
        rows = await reader.fetch_named("log_records_before", *given)
    else:
        rows = await reader.fetch_named("log_records_of_run_before", *given, wanted.run_id)
    return [_record(row) for row in rows]


async def archives_between(reader: Reader, wanted: Wanted, before: str) -> list[LogArchive]:
    """List the archives that can have wanted records before an id, newest first."""
    rows = await reader.fetch_named(
        "log_archives_between", wanted.project_id, before, wanted.from_id, LEVELS[wanted.level]
    )
    found = [_archive(row) for row in rows]
    return [one for one in found if wanted.run_id is None or one.run_ids is None or wanted.run_id in one.run_ids]


async def oldest_records(reader: Reader, project_id: str | None, before: str, limit: int) -> list[LogRecord]:
    """Give the oldest records of a project, or of no project, before an id."""
    if project_id is None:
        rows = await reader.fetch_named("oldest_log_records_of_none", before, limit)
    else:
        rows = await reader.fetch_named("oldest_log_records", project_id, before, limit)
    return [_record(row) for row in rows]


async def put_archive(
    transaction: Transaction, archive: LogArchive, size_bytes: int, records: Sequence[LogRecord]
) -> None:
    """Write down where records are from now on, and delete their rows."""
    highest = max(LEVELS[record.level] for record in records)
    row = (
        archive.storage_key,
        records[0].project_id,
        archive.first_id,
        archive.last_id,
        len(records),
        size_bytes,
        highest,
        None if archive.run_ids is None else to_json(list(archive.run_ids)),
    )
    await transaction.execute("put_log_archive", *row)
    await transaction.execute_many("delete_log_record", [(record.id,) for record in records])


async def content_queries(reader: Reader) -> list[str]:
    """Name the queries that list what rows name in the object store; a database of an older version has no logs."""
    has_archives = await reader.fetch("table_exists", "log_archives")
    return ["artifact_contents", *(["log_archive_contents"] if has_archives else [])]


def _row(record: LogRecord) -> tuple[Value, ...]:
    return (
        record.id,
        record.at_ms,
        LEVELS[record.level],
        record.service,
        record.trace_id,
        record.project_id,
        record.run_id,
        record.node,
        record.token_id,
        record.message,
        None if record.metadata is None else to_json(record.metadata),
        record.error_stack,
    )


def _record(row: Mapping[str, Value]) -> LogRecord:
    return LogRecord(
        id=text(row["id"]),
        at_ms=number(row["at_ms"]),
        level=_NAMES[number(row["level"])],
        service=text(row["service"]),
        trace_id=text(row["trace_id"]),
        project_id=text_or_none(row["project_id"]),
        run_id=text_or_none(row["run_id"]),
        node=text_or_none(row["node"]),
        token_id=text_or_none(row["token_id"]),
        message=text(row["message"]),
        metadata=from_json(row["metadata"]),
        error_stack=text_or_none(row["error_stack"]),
    )


def _archive(row: Mapping[str, Value]) -> LogArchive:
    listed = from_json(row["run_ids"])
    run_ids = [str(id) for id in listed] if isinstance(listed, list) else None
    return LogArchive(text(row["storage_key"]), text(row["first_id"]), text(row["last_id"]), run_ids)
