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
from wonder.storage.errors import DatabaseBusy, StoreClosed
from wonder.storage.queries import load_queries
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
        self._last_commit = 0.0
        # Whether the next commit has to go to the tables, because they wait for long enough.
        self._apply_due = False
        self._apply_timer: asyncio.TimerHandle | None = None
        self._applying: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: SqliteAddress, *, busy_seconds: float) -> "SqliteStore":
        """Open the file, making it if it is missing; raises when it can't be written durably."""
        store = cls(address, busy_seconds=busy_seconds)
        try:
            await store._writer.submit(store._find_journal)
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
        return await self._read(partial(jobs.rows, self._queries[name], name, self.address, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query that only reads and return its rows as dicts by column name."""
        return await self._read(partial(jobs.named_rows, self._queries[name], name, self.address, parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that only reads and return its rows."""
        return await self._read(partial(jobs.rows, self._queries.resolve(sql), sql, self.address, parameters))

    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        if self._journal.is_ahead:
            await self._catch_up()
        return await self._readers.submit(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""
        async with self._writing:
            if self._closed:
                raise StoreClosed
            transaction = SqliteTransaction(self._writer, self._queries, self.address)
            try:
                has_journal = await self._writer.submit(self._begin)
                yield transaction
                transaction.assert_usable()
                await self._writer.submit(partial(jobs.script, "COMMIT", "commit", self.address))
                if has_journal:
                    self._settle()
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
        resolve = self._queries.resolve
        statements = [(query, resolve(query), rows) for query, rows in batch]
        rows_count = sum(len(rows) for _, _, rows in statements)
        asked = None if fence is None else (self._queries[fence.query], fence.parameters)
        job = self._job_of(statements, asked, deferrable and rows_count <= ENTRY_ROWS)
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
        self._last_commit = time.monotonic()
        self._commit_seconds += (self._last_commit - began - self._commit_seconds) / 8
        if self._journal.is_ahead:
            self._apply_within(APPLY_SECONDS)

    def _job_of(self, statements: Sequence[Statement], asked: Asked | None, deferrable: bool) -> Job:
        """Say how a batch is committed: as an entry of the journal where that will do, or else to the tables."""
        if deferrable and not self._apply_due and self._follows_quickly():
            body = self._journal.body(statements)
            if body is not None:
                return partial(self._commit_entry, body, asked)
        return partial(self._commit_rows, statements, asked)

    def _follows_quickly(self) -> bool:
        return time.monotonic() - self._last_commit < QUICK_SECONDS

    def _commit_entry(self, body: bytes, asked: Asked | None, connection: apsw.Connection) -> None:
        jobs.commit([self._journal.statement(body)], asked, self.address, connection)
        self._journal.wrote()

    def _commit_rows(self, statements: Sequence[Statement], asked: Asked | None, connection: apsw.Connection) -> None:
        if not self._journal.is_ahead:
            jobs.commit(statements, asked, self.address, connection)
            return
        jobs.commit(statements, asked, self.address, connection, self._journal.apply)
        self._settle()

    def _settle(self) -> None:
        self._journal.settle()
        self._apply_due = False

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

    def _begin(self, connection: apsw.Connection) -> bool:
        """Begin a transaction, which sees all that is in the journal, whoever wrote it; says whether there is one."""
        jobs.script("BEGIN IMMEDIATE", "begin", self.address, connection)
        with translated("journal", self.address):
            cursor = connection.cursor()
            has_journal = self._journal.exists(cursor)
            if has_journal:
                self._journal.apply(cursor)
            return has_journal

    def _find_journal(self, connection: apsw.Connection) -> None:
        """Write to the tables what a process left in the journal when it ended."""
        with translated("journal", self.address):
            cursor = connection.cursor()
            if not (self._journal.exists(cursor) and self._journal.left(cursor)):
                return
        try:
            jobs.commit((), None, self.address, connection, self._journal.apply)
        except WonderError as error:
            # What is read is a little older then. A transaction finds it again, and no run goes on without one.
            log.warning("the last commits of %s are not in its tables yet: %s", self.address, error)
        else:
            self._settle()

    async def _catch_up(self) -> None:
        """Write to the tables what is in the journal."""
        async with self._writing:
            if self._journal.is_ahead:
                await self._writer.submit(partial(self._commit_rows, (), None))

    def _apply_within(self, seconds: float) -> None:
        """See to it that other processes don't wait for longer than this to read what was committed."""
        if self._apply_timer is None and self._applying is None:
            self._apply_timer = asyncio.get_running_loop().call_later(seconds, self._begin_applying)

    def _begin_applying(self) -> None:
        self._apply_timer = None
        if self._closed or not self._journal.is_ahead:
            return
        if self._follows_quickly() and not self._apply_due:
            # The next commit is about to come, and takes them along.
            self._apply_due = True
            self._apply_within(min(QUICK_SECONDS, APPLY_SECONDS))
        else:
            self._applying = asyncio.get_running_loop().create_task(self._apply_in_time())

    async def _apply_in_time(self) -> None:
        again_seconds = APPLY_SECONDS
        try:
            await self._catch_up()
        except StoreClosed:
            return
        except WonderError as error:
            log.warning("commits of %s can't be written to its tables yet: %s", self.address, error)
            again_seconds = APPLY_AGAIN_SECONDS
        finally:
            self._applying = None
        if self._journal.is_ahead and not self._closed:
            self._apply_within(again_seconds)

    async def close(self) -> None:
        """Let go of the file; a transaction under way ends first, a read under way is broken off."""
        if self._closed:
            return
        try:
            await self._catch_up()
        except WonderError as error:
            log.warning("the last commits of %s are left to who opens it next: %s", self.address, error)
        self._closed = True
        if self._apply_timer is not None:
            self._apply_timer.cancel()
        async with self._writing:
            await self._readers.break_off()
            # Last, because the last connection to go moves the log into the file, and a reader may not write.
            await self._writer.close()
