"""The Store on SQLite: WAL with full durability, one writer thread, readers that never wait for it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias, TypeVar

import apsw

from wonder.errors import WonderError
from wonder.storage import sqlite_jobs as jobs
from wonder.storage.errors import DatabaseBusy, DatabaseFailed, StoreClosed
from wonder.storage.queries import load_queries
from wonder.storage.sqlite_catching_up import CatchingUp
from wonder.storage.sqlite_connection import connect
from wonder.storage.sqlite_errors import translated
from wonder.storage.sqlite_jobs import Asked, Statement
from wonder.storage.sqlite_journal import Journal
from wonder.storage.sqlite_thread import ConnectionThreads
from wonder.storage.sqlite_transaction import SqliteTransaction
from wonder.storage.store import Dialect, Entry, Fence, Row, Transaction, Value
from wonder.storage.url import SqliteAddress

READERS = 2
# On a disk where commits take less than this, one of few rows is made without changing threads: the loop waits for it
# no longer than for a busy callback.
FAST_SECONDS = 0.001
FEW_ROWS = 32
# A commit that follows upon another within this time may be an entry of the journal, if its rows are as few as this;
# the tables have it after some more milliseconds at the latest.
QUICK_SECONDS = 0.005
ENTRY_ROWS = 8
APPLY_SECONDS = 0.02
APPLY_AGAIN_SECONDS = 1.0

Result = TypeVar("Result")
Job: TypeAlias = Callable[[apsw.Connection], None]
log = logging.getLogger("wonder.storage")


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
        self._set_up_journal()

    def _set_up_journal(self) -> None:
        self._journal = Journal(self._queries)
        self._catching_up = CatchingUp(self._journal, self._catch_up)
        self._last_commit = 0.0
        self._refused: WonderError | None = None

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

    async def open_journal(self) -> None:
        """Write to the tables what a process left in the journal when it ended; for a file that is of our version."""
        try:
            await self._writer.submit(self._apply_left)
        except WonderError as error:
            # What is read is a little older then. A transaction finds it again, and no run goes on without one.
            log.warning("the last commits of %s are not in its tables yet: %s", self.address, error)

    @property
    def commits_at_once(self) -> bool:
        """Say whether a small commit that is asked for now would be made without waiting for anybody."""
        return self._commit_seconds < FAST_SECONDS and not self._writing.locked()

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query that only reads and return its rows."""
        return await self._read(partial(jobs.rows, self._queries[name], name, self.address, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query that only reads and return its rows as dicts by column name."""
        return await self._read(partial(jobs.named_rows, self._queries[name], name, self.address, parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that only reads and return its rows."""
        return await self._read(partial(jobs.rows, self._queries.resolve(sql), sql, self.address, parameters))

    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        if self._journal.is_ahead and not (self.commits_at_once and self._commit_here(self._apply_own)):
            await self._catching_up.now()
        return await self._readers.submit(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""
        async with self._writing:
            if self._closed:
                raise StoreClosed
            transaction = SqliteTransaction(self._writer, self._queries, self.address)
            try:
                await self._writer.submit(self._begin)
                yield transaction
                transaction.assert_usable()
                await self._writer.submit(partial(jobs.script, "COMMIT", "commit", self.address))
            except BaseException:
                # Its place in the writer's line is what counts: it comes before whatever is submitted next.
                rolled_back = self._writer.submit(partial(jobs.roll_back, self.address))
                await asyncio.shield(rolled_back)
                raise
            finally:
                transaction.ended = True

    async def commit(
        self,
        batch: Iterable[Entry],
        *,
        fence: Fence | None = None,
        independent: bool = False,
        deferrable: bool = False,
    ) -> None:
        """Write a whole batch in one transaction, in order; durable when this returns."""
        if fence is not None and self._refused is not None:
            refused, self._refused = self._refused, None
            raise refused
        resolve = self._queries.resolve
        statements = [(query, resolve(query), rows) for query, rows in batch]
        rows_count = sum(len(rows) for _, _, rows in statements)
        asked = None if fence is None else (self._queries[fence.query], fence.parameters)
        lease = fence.parameters if fence is not None and deferrable and rows_count <= ENTRY_ROWS else None
        job = self._job_of(statements, asked, lease)
        if rows_count > FEW_ROWS:
            async with self._writing:
                await self._writer.submit(job)
            return
        job = partial(self._timed, job)
        try:
            # Without the lock: nobody can come between where nothing is waited for.
            if not (self.commits_at_once and self._commit_here(job)):
                async with self._writing:
                    await self._writer.submit(job)
        except asyncio.CancelledError:
            # It may be in the line, and is carried out then.
            self._catching_up.within(APPLY_SECONDS, APPLY_AGAIN_SECONDS)
            raise
        if self._journal.is_ahead:
            self._catching_up.within(APPLY_SECONDS, APPLY_AGAIN_SECONDS)

    def _timed(self, job: Job, connection: apsw.Connection) -> None:
        # The way to another thread is not counted: on a busy machine it takes longer than the disk, and would be taken
        # for it, for ever.
        began = time.monotonic()
        job(connection)
        self._last_commit = time.monotonic()
        self._commit_seconds += (self._last_commit - began - self._commit_seconds) / 8

    def _job_of(self, statements: Sequence[Statement], asked: Asked | None, lease: Sequence[Value] | None) -> Job:
        """Say how a batch is committed: as an entry of the journal, if it may be one of a lease, or to the tables."""
        if lease is not None and not self._catching_up.is_due and self._follows_quickly():
            body = self._journal.body(statements)
            if body is not None:
                return partial(self._commit_entry, body, lease, statements, asked)
        return partial(self._commit_rows, statements, asked)

    def _follows_quickly(self) -> bool:
        return time.monotonic() - self._last_commit < QUICK_SECONDS

    def _commit_entry(
        self,
        body: bytes,
        lease: Sequence[Value],
        statements: Sequence[Statement],
        asked: Asked | None,
        connection: apsw.Connection,
    ) -> None:
        # Asked now, and not only when the commit was: others may have been in the line before it.
        if self._journal.is_full:
            self._commit_rows(statements, asked, connection)
        else:
            self._journal.write(body, lease, self.address, connection)

    def _commit_rows(self, statements: Sequence[Statement], asked: Asked | None, connection: apsw.Connection) -> None:
        if not self._journal.is_ahead:
            jobs.commit(statements, asked, self.address, connection)
            return
        refused = self._journal.refused
        jobs.commit(statements, asked, self.address, connection, self._journal.apply)
        self._catching_up.settle()
        if self._journal.refused > refused:
            # What is in memory is ahead of the tables for good: whoever has it is told, and reads the tables again.
            self._refused = DatabaseFailed("a commit could not be written to the tables; `wonder db check` names it")

    def _commit_here(self, job: Job) -> bool:
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

    def _begin(self, connection: apsw.Connection) -> None:
        """Begin a transaction when all that is in the journal is in the tables, whoever wrote it."""
        jobs.script("BEGIN IMMEDIATE", "begin", self.address, connection)
        with translated("journal", self.address):
            cursor = connection.cursor()
            while self._journal.left(cursor):
                # In a commit of its own, so that nobody who reads has to wait for this transaction.
                self._journal.apply(cursor)
                cursor.execute("COMMIT")
                self._catching_up.settle()
                cursor.execute("BEGIN IMMEDIATE")
            if self._journal.exists(cursor):
                self._journal.find_end(cursor)
                self._catching_up.settle()

    async def _catch_up(self) -> None:
        """Write to the tables what is in the journal."""
        async with self._writing:
            await self._writer.submit(self._apply_own)

    def _apply_own(self, connection: apsw.Connection) -> None:
        if self._journal.is_ahead:
            self._commit_rows((), None, connection)

    def _apply_left(self, connection: apsw.Connection) -> None:
        with translated("journal", self.address):
            left = self._journal.left(connection.cursor())
        if left:
            jobs.commit((), None, self.address, connection, self._journal.apply)
            self._catching_up.settle()

    async def close(self) -> None:
        """Let go of the file; a transaction under way ends first, a read under way is broken off."""
        if self._closed:
            return
        self._closed = True
        self._catching_up.close()
        async with self._writing:
            if self._journal.is_ahead:
                try:
                    await self._writer.submit(self._apply_own)
                except WonderError as error:
                    log.warning("the last commits of %s are left to who opens it next: %s", self.address, error)
            await self._readers.break_off()
            # Last, because the last connection to go moves the log into the file, and a reader may not write.
            await self._writer.close()
