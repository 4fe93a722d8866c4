"""The Store on PostgreSQL: a pool of connections, each query prepared once per connection."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from wonder.storage.errors import DatabaseUnsuitable, LeaseLost
from wonder.storage.postgresql.commits import (
    COPIED_ROWS_MIN,
    FEW_ROWS_MAX,
    SHAPES_KEPT,
    Combined,
    Resolved,
    insertion,
    unnested,
)
from wonder.storage.postgresql.errors import BROKEN, translated, translated_opening
from wonder.storage.queries import Queries, load_queries
from wonder.storage.store import Dialect, Entry, Fence, Reader, Row, Transaction, Value
from wonder.storage.url import PostgresAddress

OLDEST_VERSION = 14
STATEMENTS_KEPT = 1024
CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 120.0
IDLE_SECONDS = 15.0

Connection: TypeAlias = Any
Pool: TypeAlias = Any


class PostgresStore:
    """A database on a PostgreSQL server that is open."""

    dialect: Dialect = "postgresql"
    journal = None
    in_place = None

    def __init__(self, address: PostgresAddress, pool: Pool, *, busy_seconds: float) -> None:
        self.address = address.shown
        self._pool, self._busy_seconds = pool, busy_seconds
        self._queries = load_queries("postgresql")
        self._combined = Combined(self._queries)
        self._unnested: dict[str, str | None] = {}

    @classmethod
    async def open(cls, address: PostgresAddress, *, busy_seconds: float, connections: int) -> "PostgresStore":
        """Connect and check the server; raises when it is unreachable or can't serve."""
        with translated_opening(address.shown):
            pool = await asyncpg.create_pool(
                address.url,
                min_size=1,
                max_size=connections,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                statement_cache_size=STATEMENTS_KEPT,
                max_cached_statement_lifetime=0,
                max_cacheable_statement_size=0,
                server_settings={
                    "application_name": "wonder",
                    # A process that was stopped inside a transaction would hold its locks for ever.
                    "idle_in_transaction_session_timeout": str(int(IDLE_SECONDS * 1_000)),
                },
                init=_set_up,
                reset=_keep,
            )
        store = cls(address, pool, busy_seconds=busy_seconds)
        try:
            await store._check_server()
        except BaseException:
            await store.close()
            raise
        return store

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query that only reads and return its rows."""
        return await self._read(name, self._queries[name], parameters)

    @property
    def unsettled(self) -> Reader:
        """Read as always: nothing is logged here."""
        return self

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query that only reads and return its rows as dicts by column name."""
        async with self._connection(name) as connection:
            return [dict(record) for record in await connection.fetch(self._queries[name], *parameters)]

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that only reads and return its rows."""
        return await self._read(sql, self._queries.resolve(sql), parameters)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""
        with translated("begin"):
            connection = await self._pool.acquire(timeout=self._busy_seconds)
        # What the caller's own code raises in between is not ours to translate.
        try:
            opened = connection.transaction(isolation="read_committed")
            with translated("begin"):
                await opened.start()
            transaction = PostgresTransaction(connection, self._queries)
            try:
                yield transaction
                transaction.assert_usable()
            except BaseException:
                # A broken connection has no transaction any more; the first error is the one to tell.
                with suppress(*BROKEN):
                    await opened.rollback()
                raise
            finally:
                transaction.ended = True
            with translated("commit"):
                await opened.commit()
        finally:
            await self._pool.release(connection)

    async def commit(
        self,
        batch: Iterable[Entry],
        *,
        fence: Fence | None = None,
        independent: bool = False,
    ) -> None:
        """Write a whole batch in one transaction, in order; durable when this returns."""
        entries = [(query, self._queries.resolve(query), rows) for query, rows in batch]
        combined = self._combined.statement(entries, fence) if independent else None
        async with self._connection("commit") as connection:
            if combined is not None:
                with translated("commit"), _fenced():
                    await connection.fetch(combined[0], *combined[1])
                return
            async with connection.transaction(isolation="read_committed"):
                for query, sql, rows in await self._begun(connection, entries, fence, independent):
                    with translated(query):
                        if not (independent and await self._update_many(connection, sql, rows)):
                            await _write(connection, sql, rows)

    async def _begun(
        self, connection: Connection, entries: list[Resolved], fence: Fence | None, independent: bool
    ) -> list[Resolved]:
        """Ask the fence, along with writing what has few rows in a long batch; give what is left to be written."""
        is_long = any(len(rows) >= COPIED_ROWS_MIN for _, _, rows in entries)
        few = [entry for entry in entries if len(entry[2]) <= FEW_ROWS_MAX] if independent and is_long else []
        combined = self._combined.statement(few, fence)
        if combined is None:
            if fence is not None and not await connection.fetch(self._queries[fence.query], *fence.parameters):
                raise LeaseLost
            return entries
        with translated("commit"), _fenced():
            await connection.fetch(combined[0], *combined[1])
        return [entry for entry in entries if len(entry[2]) > FEW_ROWS_MAX]

    async def _update_many(self, connection: Connection, sql: str, rows: Sequence[Sequence[Value]]) -> bool:
        """Update many rows with one statement; False if they are few, or it is no update."""
        if len(rows) < COPIED_ROWS_MIN or not sql.startswith("UPDATE "):
            return False
        if sql not in self._unnested:
            if len(self._unnested) >= SHAPES_KEPT:
                self._unnested.clear()
            types = [parameter.name for parameter in (await connection.prepare(sql)).get_parameters()]
            self._unnested[sql] = unnested(sql, types)
        many = self._unnested[sql]
        if many is None:
            return False
        await connection.execute(many, *zip(*rows, strict=True))
        return True

    async def close(self) -> None:
        """Let go of the server; what is under way ends first."""
        await self._pool.close()

    async def _read(self, query: str, sql: str, parameters: Sequence[Value]) -> list[Row]:
        async with self._connection(query) as connection:
            return [tuple(record) for record in await connection.fetch(sql, *parameters)]

    @asynccontextmanager
    async def _connection(self, query: str) -> AsyncIterator[Connection]:
        with translated(query):
            async with self._pool.acquire(timeout=self._busy_seconds) as connection:
                yield connection

    async def _check_server(self) -> None:
        async with self._connection("check server") as connection:
            version = connection.get_server_version()
            encoding = connection.get_settings().server_encoding
        if version.major < OLDEST_VERSION:
            needed = f"PostgreSQL {OLDEST_VERSION} or newer"
            raise DatabaseUnsuitable(self.address, f"PostgreSQL {version.major}", needed)
        if encoding != "UTF8":
            raise DatabaseUnsuitable(self.address, f"the encoding {encoding}", "a database with the encoding UTF8")


class PostgresTransaction:
    """One open write transaction on a connection of its own."""

    def __init__(self, connection: Connection, queries: Queries) -> None:
        self._connection, self._queries = connection, queries
        self._failed = False
        self.ended = False

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query and return its rows."""
        async with self._statement(name):
            return [tuple(record) for record in await self._connection.fetch(self._queries[name], *parameters)]

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query and return its rows as dicts by column name."""
        async with self._statement(name):
            return [dict(record) for record in await self._connection.fetch(self._queries[name], *parameters)]

    async def execute(self, name: str, *parameters: Value) -> int:
        """Run a named statement and return how many rows it changed."""
        async with self._statement(name):
            status = await self._connection.execute(self._queries[name], *parameters)
            count = status.rpartition(" ")[2]
            return int(count) if count.isdigit() else 0

    async def execute_many(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run a named statement once per row of parameters."""
        async with self._statement(name):
            await self._connection.executemany(self._queries[name], rows)

    async def run(self, sql: str, rows: Sequence[Sequence[Value]] | None = None) -> None:
        """Run generated SQL once per row; without rows it may be several statements that take no parameters."""
        async with self._statement(sql):
            if rows is None:
                await self._connection.execute(sql)
            else:
                await self._connection.executemany(self._queries.resolve(sql), rows)

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL and return its rows."""
        async with self._statement(sql):
            return [tuple(record) for record in await self._connection.fetch(self._queries.resolve(sql), *parameters)]

    def assert_usable(self) -> None:
        """Fail when an error was swallowed: the server has dropped the transaction, and COMMIT would not say so."""
        assert not self._failed, "a transaction went on after one of its statements had failed"
        assert not self.ended, "a transaction was used after it had ended"

    @asynccontextmanager
    async def _statement(self, query: str) -> AsyncIterator[None]:
        self.assert_usable()
        try:
            with translated(query):
                yield
        except BaseException:
            self._failed = True
            raise


async def _write(connection: Connection, sql: str, rows: Sequence[Sequence[Value]]) -> None:
    copied = insertion(sql) if len(rows) >= COPIED_ROWS_MIN else None
    if copied is None:
        await connection.executemany(sql, rows)
        return
    try:
        await connection.copy_records_to_table(copied.table, columns=copied.columns, records=rows)
    except (OverflowError, TypeError, ValueError) as error:
        # What executemany wraps, COPY lets through as it is.
        raise asyncpg.DataError(str(error)) from error


@contextmanager
def _fenced() -> Iterator[None]:
    """Report a lost lease: the combined statement divides by the number of the fence's rows, which is 0 then."""
    try:
        yield
    except asyncpg.DivisionByZeroError as error:
        raise LeaseLost from error


async def _set_up(connection: Connection) -> None:
    await connection.execute(load_queries("postgresql")["require_durable_commits"])


async def _keep(_connection: Connection) -> None:
    """Spare the round trip that asyncpg makes when a connection goes back: we leave no session state behind."""
