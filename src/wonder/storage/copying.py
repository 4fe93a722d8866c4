"""Copies all rows of an SQLite database into an empty PostgreSQL database, in one transaction."""

from collections.abc import Callable
from typing import Final

from wonder.context.names import quote, whole_name
from wonder.context.plan import ContextPlan
from wonder.definitions.records.graph import WorkflowDef
from wonder.errors import WonderError
from wonder.storage.check import expected_tables
from wonder.storage.context_tables import load_context_plan, store_view
from wonder.storage.definitions import load_definition
from wonder.storage.postgresql.reader_role import grant_to_readers
from wonder.storage.store import Reader, Store, Transaction, Value

_PAGE: Final = 2_000
# Of each database its own: what was migrated, who runs the engine, what processes ask of each other. `query_views` has
# views that SQLite does not store; PostgreSQL stores all.
_NOT_COPIED: Final = frozenset({"schema_migrations", "leases", "requests", "query_views"})

Progress = Callable[[str, int], None]
"""Is told of each table that was copied, with its rows."""


class CopyFailed(WonderError):
    """A database can't be copied; the target is as it was."""

    code = "COPY_FAILED"


async def copy_rows(source: Store, target: Store, on_progress: Progress) -> dict[str, int]:
    """Copy everything; give the number of rows by table. Nothing is stored if anything goes wrong."""
    copied: dict[str, int] = {}
    async with target.transaction() as transaction:
        for table in expected_tables("postgresql"):
            if table not in _NOT_COPIED:
                copied[table] = await _copy_table(source, transaction, table)
                on_progress(table, copied[table])
        made: set[str] = set()
        for plan, view, of in await _contexts(source):
            if not made.issuperset(table.name for table in plan.tables):
                for statement in plan.ddl("postgresql"):
                    await transaction.run(statement)
            for name in (table.name for table in plan.tables if table.name not in made):
                made.add(name)
                copied[name] = await _copy_table(source, transaction, name)
                on_progress(name, copied[name])
            if view is not None:
                await store_view(transaction, "postgresql", plan, view[0], of, view[1])
        await grant_to_readers(transaction)
        await _compare(transaction, copied)
    return copied


async def _copy_table(source: Reader, transaction: Transaction, table: str) -> int:
    columns = await transaction.fetch("columns_of_table", table)
    if not columns:
        raise CopyFailed(f"the target has no table {table!r}; is it of another version of Wonder?")
    names = ", ".join(quote(str(name)) for name, _ in columns)
    keys = ", ".join(quote(str(name)) for (name,) in await source.fetch("key_of_table", table))
    flags = [number for number, (_, kind) in enumerate(columns) if kind == "boolean"]
    values = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    insert = f"INSERT INTO {quote(table)} ({names}) VALUES ({values})"  # noqa: S608  # names of tables and columns, quoted
    page = f"SELECT {names} FROM {quote(table)} ORDER BY {keys} LIMIT $1 OFFSET $2"  # noqa: S608  # as above
    done = 0
    while rows := await source.query(page, _PAGE, done):
        await transaction.run(insert, [_converted(row, flags) for row in rows])
        done += len(rows)
    return done


def _converted(row: tuple[Value, ...], flags: list[int]) -> tuple[Value, ...]:
    """SQLite has no booleans."""
    if not flags:
        return row
    cells = list(row)
    for number in flags:
        cells[number] = None if cells[number] is None else bool(cells[number])
    return tuple(cells)


async def _contexts(source: Reader) -> list[tuple[ContextPlan, tuple[str, str] | None, tuple[str, int]]]:
    """Give the plan of each definition version, with the name and birth of the view that it has."""
    views = {(id, version): (str(name), str(at)) for name, id, version, at in await source.fetch("all_context_views")}
    found = []
    for id, version in await source.fetch("all_workflow_versions"):
        assert isinstance(version, int)
        of = (str(id), version)
        plan = await load_context_plan(source, await load_definition(source, WorkflowDef, *of))
        view = views.get(of)
        found.append((plan, (whole_name(view[0]), view[1]) if view else None, of))
    return found


async def _compare(transaction: Transaction, copied: dict[str, int]) -> None:
    """Count the rows again, where they have come to: views are registered anew, all else must be the same."""
    for table, rows in copied.items():
        ((there,),) = await transaction.query(f"SELECT count(*) FROM {quote(table)}")  # noqa: S608  # a name, quoted
        if there != rows and table != "context_tables":
            raise CopyFailed(f"the target has {there!r} rows of {table!r} and the source {rows}; nothing was stored")
