"""Checking a database file that nobody writes to: is it whole, and is all there that clients were told?"""

from pathlib import Path
from typing import Any

import apsw

from proof.sqlite_load import Line, with_tokens
from wonder.actions.functions.functions import FunctionRegistry
from wonder.app.engine import Engine
from wonder.app.ids import new_ulid
from wonder.checker.checking import Count, check_runs
from wonder.checker.outside import check_log
from wonder.storage.check import check_database
from wonder.storage.opening import open_store
from wonder.storage.queries import load_queries
from wonder.storage.runs.leases import claim_lease
from wonder.storage.sqlite.connection import connect
from wonder.storage.sqlite.entries import files_of
from wonder.storage.store import Row, Store, Value
from wonder.storage.url import SqliteAddress, parse_url


class StillReader:
    """Reads a file in the caller's own thread, and each thing once: what is asked for stays as it is."""

    def __init__(self, address: SqliteAddress) -> None:
        self._connection = connect(address, busy_seconds=1, only_reads=True)
        self._queries = load_queries("sqlite")
        self._read: dict[tuple[Any, ...], tuple[list[str], list[Row]]] = {}

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query and return its rows."""
        return self._rows(self._queries[name], parameters)[1]

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query and return its rows as dicts by column name."""
        names, rows = self._rows(self._queries[name], parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL and return its rows."""
        return self._rows(self._queries.resolve(sql), parameters)[1]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _rows(self, sql: str, parameters: tuple[Value, ...]) -> tuple[list[str], list[Row]]:
        key = (sql, *parameters)
        if key not in self._read:
            cursor = self._connection.execute(sql, parameters)
            try:
                names = [column[0] for column in cursor.get_description()]
            except apsw.ExecutionCompleteError:
                names = []
            self._read[key] = names, cursor.fetchall()
        return self._read[key]


async def check_file(database: Path, log: list[Line]) -> list[str]:
    """Open a database as the engine does, and tell all that is wrong with it; raises where it can't be opened."""
    url = f"sqlite:///{database}"
    store = await open_store(url)
    try:
        await _take_what_was_logged(store)
        faults = [finding for finding in await check_database(store) if finding.severity == "error"]
    finally:
        await store.close()
    address = parse_url(url)
    assert isinstance(address, SqliteAddress)
    reader = StillReader(address)
    try:
        found = [f"{fault.code}: {fault.message}" for fault in faults]
        found += [str(violation) async for violation in check_runs(reader, Count())]
        found += [str(violation) async for violation in check_log(reader, await with_tokens(reader, log))]
        return found
    finally:
        reader.close()


async def _take_what_was_logged(store: Store) -> None:
    """Have in the tables what counts and is only logged, as the next engine would, and begin nothing with it."""
    if not files_of(Path(store.address)):
        return
    lease = await claim_lease(store, "who looks")
    assert lease is not None, "nobody else has the file"
    engine = Engine(store, lease, FunctionRegistry(), new_ulid, runs="none")
    engine.coordinator.tasks.mine = set()
    await engine.collaborators.recovery.take_untaken()
    await engine.close()
    await lease.release()
