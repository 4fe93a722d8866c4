"""The Store on SQLite: WAL with full durability, one writer thread, readers that never wait for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import apsw

from wonder.storage.errors import DatabaseBusy, LeaseLost, StoreClosed
from wonder.storage.queries import Queries, load_queries
from wonder.storage.sqlite_connection import connect
from wonder.storage.sqlite_errors import translated
from wonder.storage.sqlite_thread import ConnectionThreads
from wonder.storage.store import Dialect, Entry, Fence, Row, Transaction, Value
from wonder.storage.url import SqliteAddress

READERS = 2
# On a disk where commits take less than this, one of few rows is made without changing threads: the loop waits for it
# no longer than for a busy callback.
FAST_SECONDS = 0.001
FEW_ROWS = 32
Result = TypeVar("Result")
# (name or text of a query, its SQL, its rows of parameters)
Statement: TypeAlias = tuple[str, str, Sequence[Sequence[Value]]]


class SqliteStore:
    """A database file that is open."""

    dialect: Dialect = "sqlite"

    def __init__(self, address: SqliteAddress, *, busy_seconds: float) -> None:
        self.address = address.shown
        self._busy_ms = int(busy_seconds * 1000)
        self._queries = load_queries("sqlite")
        self._writer = ConnectionThreads("writer", partial(connect, address, busy_seconds=busy_seconds), 1)
        reading = partial(connect, address, busy_seconds=busy_seconds, only_reads=True)
        self._readers = ConnectionThreads("reader", reading, READERS)
        # Held by an open transaction, so that no other job comes between its statements.
        self._writing = asyncio.Lock()
        self._closed = False
        # How long commits of few rows take, as it was with the last ones; the disk is taken for slow at first.
        self._commit_seconds = 0.005

    @classmethod
    async def open(cls, address: SqliteAddress, *, busy_seconds: float) -> "SqliteStore":
        """Open the file, making it if it is missing; raises when it can't be written durably."""
        store = cls(address, busy_seconds=busy_seconds)
        try:
            await store._writer.submit(lambda _connection: None)
        except BaseException:
            await store.close()
            raise
        return store

    @property
    def commits_at_once(self) -> bool:
        """Say whether a small commit that is asked for now would be made without waiting for anybody."""
        return self._commit_seconds < FAST_SECONDS and not self._writing.locked()

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query that only reads and return its rows."""
        return await self._readers.submit(partial(_rows, self._queries[name], name, self.address, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query that only reads and return its rows as dicts by column name."""
        return await self._readers.submit(partial(_named_rows, self._queries[name], name, self.address, parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that only reads and return its rows."""
        return await self._readers.submit(partial(_rows, self._queries.resolve(sql), sql, self.address, parameters))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""
        async with self._writing:
            if self._closed:
                raise StoreClosed
            transaction = SqliteTransaction(self._writer, self._queries, self.address)
            try:
                await self._writer.submit(partial(_script, "BEGIN IMMEDIATE", "begin", self.address))
                yield transaction
                transaction.assert_usable()
                await self._writer.submit(partial(_script, "COMMIT", "commit", self.address))
            except BaseException:
                # Its place in the writer's line is what counts: it comes before whatever is submitted next.
                rolled_back = self._writer.submit(partial(_roll_back, self.address))
                await asyncio.shield(rolled_back)
                raise
            finally:
                transaction.ended = True

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, independent: bool = False) -> None:
        """Write a whole batch in one transaction, in order; durable when this returns."""
        resolve = self._queries.resolve
        statements = [(query, resolve(query), rows) for query, rows in batch]
        rows_count = sum(len(rows) for _, _, rows in statements)
        asked = None if fence is None else (self._queries[fence.query], fence.parameters)
        job = partial(_commit, statements, asked, self.address)
        if rows_count > FEW_ROWS:
            async with self._writing:
                await self._writer.submit(job)
            return
        began = time.monotonic()
        # Without the lock: nobody can come between where nothing is waited for.
        if not (self.commits_at_once and self._commit_here(job)):
            async with self._writing:
                began = time.monotonic()
                await self._writer.submit(job)
        self._commit_seconds += (time.monotonic() - began - self._commit_seconds) / 8

    def _commit_here(self, job: Callable[[apsw.Connection], None]) -> bool:
        """Commit without changing threads, which takes as long as a fast commit; False if it would have to wait."""
        connection = self._writer.lend()
        if connection is None:
            return False
        connection.set_busy_timeout(0)
        try:
            job(connection)
        except DatabaseBusy:
            # Another process writes. The loop must not wait for it.
            return False
        finally:
            connection.set_busy_timeout(self._busy_ms)
        return True

    async def close(self) -> None:
        """Let go of the file; a transaction under way ends first, a read under way is broken off."""
        if self._closed:
            return
        self._closed = True
        async with self._writing:
            await self._readers.break_off()
            # Last, because the last connection to go moves the log into the file, and a reader may not write.
            await self._writer.close()


class SqliteTransaction:
    """One open write transaction; its statements run on the writer thread, one job each."""

    def __init__(self, writer: ConnectionThreads, queries: Queries, database: str) -> None:
        self._writer, self._queries, self._database = writer, queries, database
        self._failed = False
        self.ended = False

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query and return its rows."""
        return await self._do(partial(_rows, self._queries[name], name, self._database, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query and return its rows as dicts by column name."""
        return await self._do(partial(_named_rows, self._queries[name], name, self._database, parameters))

    async def execute(self, name: str, *parameters: Value) -> int:
        """Run a named statement and return how many rows it changed."""
        return await self._do(partial(_changes, self._queries[name], name, self._database, parameters))

    async def execute_many(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run a named statement once per row of parameters."""
        await self._do(partial(_many, self._queries[name], name, self._database, rows))

    async def run(self, sql: str, rows: Sequence[Sequence[Value]] | None = None) -> None:
        """Run generated SQL once per row; without rows it may be several statements that take no parameters."""
        if rows is None:
            await self._do(partial(_script, sql, sql, self._database))
        else:
            await self._do(partial(_many, self._queries.resolve(sql), sql, self._database, rows))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL and return its rows."""
        return await self._do(partial(_rows, self._queries.resolve(sql), sql, self._database, parameters))

    def assert_usable(self) -> None:
        """Fail when an error was swallowed: PostgreSQL would have dropped the whole transaction."""
        assert not self._failed, "a transaction went on after one of its statements had failed"
        assert not self.ended, "a transaction was used after it had ended"

    async def _do(self, work: Callable[[apsw.Connection], Result]) -> Result:
        self.assert_usable()
        try:
            return await self._writer.submit(work)
        except BaseException:
            self._failed = True
            raise


def _rows(sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection) -> list[Row]:
    with translated(query, database):
        return connection.execute(sql, parameters).fetchall()


def _named_rows(
    sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection
) -> list[dict[str, Value]]:
    with translated(query, database):
        cursor = connection.execute(sql, parameters)
        try:
            names = [column[0] for column in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            # A query without rows is over before it can be asked for its columns.
            return []
        return [dict(zip(names, row, strict=True)) for row in cursor]


def _changes(sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection) -> int:
    with translated(query, database):
        before = connection.total_changes()
        _exhaust(connection.execute(sql, parameters))
        return connection.changes() if connection.total_changes() != before else 0


def _many(sql: str, query: str, database: str, rows: Sequence[Sequence[Value]], connection: apsw.Connection) -> None:
    with translated(query, database):
        _exhaust(connection.executemany(sql, rows))


def _script(sql: str, query: str, database: str, connection: apsw.Connection) -> None:
    with translated(query, database):
        _exhaust(connection.execute(sql))


def _roll_back(database: str, connection: apsw.Connection) -> None:
    # Some faults, a full disk among them, have rolled the transaction back already.
    if connection.in_transaction:
        _script("ROLLBACK", "rollback", database, connection)


def _commit(
    statements: Sequence[Statement],
    fence: tuple[str, Sequence[Value]] | None,
    database: str,
    connection: apsw.Connection,
) -> None:
    query = "begin"
    try:
        # One cursor for all: making one takes as long as running a statement.
        cursor = connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        _check_fence(fence, cursor)
        for query, sql, rows in statements:  # noqa: B007 - the name is for the error below
            _exhaust(cursor.executemany(sql, rows))
        query = "commit"
        cursor.execute("COMMIT")
    except BaseException:
        _roll_back(database, connection)
        with translated(query, database):
            raise


def _check_fence(fence: tuple[str, Sequence[Value]] | None, cursor: apsw.Cursor) -> None:
    if fence is not None and not cursor.execute(*fence).fetchall():
        raise LeaseLost


def _exhaust(cursor: Any) -> None:
    # apsw runs a statement only as far as its rows are read.
    for _ in cursor:
        pass
