"""Rows of long ago in any table, and how many rows a table has."""

from typing import Any

from wonder.app.application import Application
from wonder.storage.store import Store, Transaction
from wonder.storage.ulids import ulid_of

OLD_MS = 1_600_000_000_000


async def tables_of(store: Store) -> set[str]:
    sqlite = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    postgres = (
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
    )
    return {str(name) for (name,) in await store.query(sqlite if store.dialect == "sqlite" else postgres)}


async def count(store: Store, table: str) -> int:
    ((rows,),) = await store.query(f'SELECT count(*) FROM "{table}"')
    return int(str(rows))


async def put_old_row(transaction: Transaction, wonder: Application, table: str, run_id: str) -> None:
    """Put a row of long ago into a table: of the run, where it has a column for that, and of the project."""
    if wonder.store.dialect == "sqlite":
        columns = await transaction.query(f"SELECT name, type FROM pragma_table_info('{table}')")
    else:
        columns = await transaction.query(
            "SELECT column_name, data_type FROM information_schema.columns "
            f"WHERE table_schema = current_schema() AND table_name = '{table}'"
        )
    known = {
        "run_id": run_id,
        "project_id": wonder.home.project_id,
        "scope_id": wonder.home.project_id,
        "month": "2020-01",
        "id": ulid_of(OLD_MS, 7),
        "level": 20,
        "trigger_id": "t",
        "status": "ended",
        "storage_key": f"sha256/ab/ab{'0' * 62}",
    }
    row = {str(name): known.get(str(name), value_of(str(name), str(kind))) for name, kind in columns}
    names = ", ".join(f'"{name}"' for name in row)
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await transaction.run(f'INSERT INTO "{table}" ({names}) VALUES ({places})', [tuple(row.values())])


def value_of(name: str, kind: str) -> Any:
    if name.endswith("_ms"):
        return OLD_MS
    if kind.lower() in ("integer", "bigint", "smallint"):
        return 0
    if kind.lower() == "boolean":
        return False
    if kind.lower() in ("real", "double precision"):
        return 0.0
    return "[]" if kind.lower() in ("json", "jsonb") or name in ("events", "input", "metadata") else "x"
