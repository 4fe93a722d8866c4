"""The Store on SQLite: WAL with full durability, one writer thread, readers that never wait for it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from wonder.errors import WonderError
from wonder.storage.errors import DatabaseBusy, StoreClosed
from wonder.storage.queries import load_queries
from wonder.storage.sqlite import jobs
from wonder.storage.sqlite.checkpoints import Checkpoints
from wonder.storage.sqlite.commits import FEW_ROWS, Commits
from wonder.storage.sqlite.connection import connect
from wonder.storage.sqlite.damage import Left
from wonder.storage.sqlite.errors import translated
from wonder.storage.sqlite.journal import JournalFile, settle_old_entries
from wonder.storage.sqlite.reading import SqliteReader
from wonder.storage.sqlite.threads import ConnectionThreads
from wonder.storage.sqlite.transaction import SqliteTransaction
from wonder.storage.store import Dialect, Entry, Fence, Row, Settle, Transaction, Value
from wonder.storage.url import SqliteAddress

READERS = 2
# How often who wants to be alone has the tables settled, when entries come between.
_SETTLING_TRIES = 3

Result = TypeVar("Result")
log = logging.getLogger("wonder.storage")


class SqliteStore(SqliteReader):
    """A database file that is open."""

    dialect: Dialect = "sqlite"

    def __init__(self, address: SqliteAddress, *, busy_seconds: float) -> None:
        reading = partial(connect, address, busy_seconds=busy_seconds, only_reads=True)
        super().__init__(load_queries("sqlite"), address.shown, ConnectionThreads("reader", reading, READERS))
        self._busy_ms = int(busy_seconds * 1000)
        writing = partial(connect, address, busy_seconds=busy_seconds)
        self._writer = ConnectionThreads("writer", lambda: self._checkpoints.watch(writing()), 1)
        # Held by an open transaction, so that no other job comes between its statements.
        self._writing = asyncio.Lock()
        self._closed = False
        self._set_up_commits(address.path)

    def _set_up_commits(self, path: Path) -> None:
        self._journal = JournalFile(self._queries, path)
        self._commits = Commits(self._journal, self._queries, self.address, self._busy_ms)
        self._checkpoints = Checkpoints(partial(connect, SqliteAddress(path), busy_seconds=0))
        self._journal.on_first_settling = self._checkpoints.ask
        self._settle: Settle | None = None
        self.unsettled = SqliteReader(self._queries, self.address, self._readers)

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
    def journal(self) -> "SqliteStore":
        """Give itself: the store is the FactJournal; the file that it writes to is `_journal`."""
        return self

    @property
    def in_place(self) -> "SqliteStore":
        """Give itself: an SQLite database is read in the caller's thread where nobody has to be waited for."""
        return self

    async def settle_old_entries(self) -> None:
        """Write to the tables what an older Wonder left in its journal; for a file that is of our version."""
        settle = partial(settle_old_entries, self._queries)
        try:
            await self._writer.submit(lambda connection: jobs.commit((), None, self.address, connection, settle))
        except WonderError as error:
            log.warning("the last commits of %s are not in its tables yet: %s", self.address, error)

    async def inherit(self) -> list[bytes]:
        """Give what was logged and is not settled, by the owner of the lease before."""
        async with self._writing:
            return await self._writer.submit(self._inherit)

    def settle_by(self, settle: Settle) -> None:
        """Have the tables settled by this before anything else reads or changes them."""
        self._settle = settle

    @property
    def commits_at_once(self) -> bool:
        """Say whether a small commit that is asked for now would be made without waiting for anybody."""
        return self._commits.is_fast and not self._writing.locked()

    def look_up(self, name: str, *parameters: Value) -> list[Row] | None:
        """Run a named query that finds a row or two by their key, without changing threads."""
        connection = self._writer.lend() if self.commits_at_once and not self._journal.is_ahead else None
        if connection is None:
            return None
        job = partial(jobs.rows, self._queries[name], name, self.address, parameters)
        try:
            return self._commits.without_waiting(job, connection)
        except DatabaseBusy:
            return None

    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        if self._journal.is_ahead:
            await self._settled()
        return await super()._read(work)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""
        async with self._alone():
            if self._closed:
                raise StoreClosed
            transaction = SqliteTransaction(self._writer, self._queries, self.address)
            try:
                await self._writer.submit(self._commits.begin)
                yield transaction
                transaction.assert_usable()
                await self._writer.submit(self._commits.end)
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
        settles: bool | None = None,
    ) -> None:
        """Write a whole batch in one transaction, in order; durable when this returns."""
        if settles is None and self._journal.is_ahead:
            await self._settled()
        wanted = self._commits.wanted(batch, fence, bool(settles))
        # Without the lock: nobody can come between where nothing is waited for.
        connection = self._writer.lend() if wanted.rows_count <= FEW_ROWS and self.commits_at_once else None
        if connection is None or not self._commits.here(wanted, connection):
            async with self._writing:
                await self._writer.submit(self._commits.job(wanted))

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Make a few bytes durable here and now, if that is sooner than a commit would be."""
        # Not while a commit waits in the line whose rows don't know of it.
        connection = self._writer.lend() if self.commits_at_once else None
        return connection is not None and self._commits.log(entry, fence, connection)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Let nobody else write, on tables that are settled, if they can be."""
        for left in reversed(range(_SETTLING_TRIES)):
            if self._journal.is_ahead:
                await self._settled()
            async with self._writing:
                if left and self._journal.is_ahead and self._settle:
                    continue
                yield
                return

    async def _settled(self) -> None:
        if self._settle is not None:
            await self._settle()

    async def journal_left(self) -> Left:
        """Say what is in the journal that the tables lack, and what of it is damaged, while no engine runs."""
        async with self._writing:
            return await self._writer.submit(self._look_at_journal)

    async def journal_faults(self) -> list[str]:
        """Say why results that were logged and acknowledged are lost; for when nobody has the lease."""
        return (await self.journal_left()).reasons

    async def accept_loss(self, highest: int) -> None:
        """Let the next engine begin although entries of the journal are missing, up to this number."""
        async with self.transaction() as transaction:
            await transaction.execute("accept_journal_loss", highest)

    def _look_at_journal(self, connection: apsw.Connection) -> Left:
        with translated("journal_state", self.address):
            return self._journal.look(connection.cursor())

    async def _end_journal(self) -> None:
        if self._journal.may_end:
            try:
                await self._writer.submit(self._commits.end_journal)
            except (WonderError, OSError) as error:
                # All is in the tables, and the next engine finds the files where they say that they are.
                log.warning("the journal of %s stays in use: %s", self.address, error)
        self._journal.abandon()

    def _inherit(self, connection: apsw.Connection) -> list[bytes]:
        with translated("journal_state", self.address):
            return self._journal.inherit(connection.cursor())

    async def close(self) -> None:
        """Let go of the file; a transaction under way ends first, a read under way is broken off."""
        if self._closed:
            return
        self._closed = True
        async with self._writing:
            await self._end_journal()
            await self._readers.break_off()
            await self._checkpoints.close()
            # Last, because the last connection to go moves the log into the file, and a reader may not write.
            await self._writer.close()
