"""SQL of a person's own, which can only read, and what it can use."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from wonder.operations.declaring import Input, NoInput, Place, database_operation
from wonder.operations.outputs import Output
from wonder.storage.querying.answers import RESULT_BYTES_MAX as RESULT_BYTES_MAX
from wonder.storage.querying.answers import ROWS_MAX as ROWS_MAX
from wonder.storage.querying.answers import SECONDS as SECONDS
from wonder.storage.querying.answers import too_slow as too_slow
from wonder.storage.reading import Answer, read_only_query, readable_functions, readable_tables
from wonder.storage.reading import Limits as Limits
from wonder.storage.reading import QueryRefused as QueryRefused


class Query(Input, frozen=True):
    """One SELECT, and how much it may take."""

    sql: str
    seconds: float = SECONDS
    limit: int = ROWS_MAX
    """At most so many rows."""


class QueryAnswer(Output, frozen=True):
    """The columns and rows that a query returned."""

    columns: list[str]
    """Of several with the same name, each but the first has a number added: id, id_2."""
    rows: list[dict[str, Any]]
    cut: bool
    """Whether a limit left further rows out."""
    cut_by: Literal["rows", "bytes"] | None


@database_operation("query.run", role="operator")
async def run_query(place: Place, given: Query) -> QueryAnswer:
    """Run one SQL query that reads, over runs, events and contexts."""
    return answer_record(await read_query(place, given))


async def read_query(place: Place, given: Query) -> Answer:
    """Run a query, and give its rows as they are: several columns may have the same name."""
    answer = await read_only_query(place.url, given.sql, Limits(seconds=given.seconds, rows_max=given.limit))
    rows: list[Sequence[Any]] = [
        [_time(cell) if isinstance(cell, datetime) else cell for cell in row] for row in answer.rows
    ]
    return answer._replace(rows=rows)


def answer_record(answer: Answer) -> QueryAnswer:
    """Give what a query returned, as programs get it."""
    columns = _told_apart(answer.columns)
    rows = [dict(zip(columns, map(_shown, row), strict=True)) for row in answer.rows]
    return QueryAnswer(columns=columns, rows=rows, cut=answer.cut is not None, cut_by=answer.cut)


class TableRecord(Output, frozen=True):
    """A table or view that a query can read."""

    name: str
    columns: list[str]


@database_operation("query.tables", role="operator")
async def list_tables(place: Place, given: NoInput) -> list[TableRecord]:
    """List the tables and views that a query can read."""
    return [TableRecord(name=name, columns=columns.split(", ")) for name, columns in await readable_tables(place.url)]


@database_operation("query.functions", role="operator")
async def list_functions(place: Place, given: NoInput) -> list[str]:
    """List the functions that a query can call."""
    return readable_functions(place.url)


def _time(at: datetime) -> str:
    """Write a time of PostgreSQL as SQLite has it in the same views: 2026-05-06T07:08:09.123Z."""
    if at.tzinfo is None:
        return str(at)
    return at.astimezone(UTC).isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds")[:-6] + "Z"


def _shown(cell: object) -> object:
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)


def _told_apart(columns: Sequence[str]) -> list[str]:
    """Give each column a name of its own: a row is an object, in which a second `id` would replace the first."""
    taken, seen, names = set(columns), Counter[str](), list[str]()
    for column in columns:
        seen[column] += 1
        name = column
        while name != column or seen[column] > 1:
            name = f"{column}_{seen[column]}"
            if name not in taken:
                taken.add(name)
                break
            seen[column] += 1
        names.append(name)
    return names
