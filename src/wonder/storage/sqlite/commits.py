"""How a store of SQLite commits: by the writer's thread, or here and now, where the disk is fast."""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import apsw

from wonder.errors import WonderError
from wonder.storage.errors import DatabaseBusy
from wonder.storage.queries import Queries
from wonder.storage.sqlite import jobs
from wonder.storage.sqlite.entries import SLOT_BYTES
from wonder.storage.sqlite.jobs import Asked, Job, Statement
from wonder.storage.sqlite.journal import JournalFile
from wonder.storage.store import Entry, Fence

# On a disk where commits take less than this, one of few rows is made without changing threads: the loop waits for it
# no longer than for a busy callback.
FAST_SECONDS = 0.001
FEW_ROWS = 128
# After so long a disk that was slow is looked at again.
LOOK_SECONDS = 1.0
# So long who closes waits for another process that writes.
_ENDING_MS = 1_000
# What follows upon a commit within this time may be an entry of the journal.
QUICK_SECONDS = 0.005

Result = TypeVar("Result")
log = logging.getLogger("wonder.storage")


class Wanted:
    """A batch that is to be committed; `settles` is the entry of the journal up to which the tables have all then."""

    __slots__ = ("asked", "rows_count", "settles", "statements")

    def __init__(self, statements: list[Statement], rows_count: int, asked: Asked | None, settles: int | None) -> None:
        self.statements, self.rows_count, self.asked, self.settles = statements, rows_count, asked, settles


class Commits:
    """Commits of one store, one after the other."""

    def __init__(self, journal: JournalFile, queries: Queries, database: str, busy_ms: int) -> None:
        self._journal, self._queries = journal, queries
        self._database, self._busy_ms = database, busy_ms
        # How long commits of few rows take, as it was with the last ones; before the first, the disk is taken for slow.
        self._seconds: float | None = None
        self._last = self._looked = 0.0
        self._changes = 0

    @property
    def is_fast(self) -> bool:
        """Whether a small commit takes so little time that the loop can wait for it."""
        return self._seconds is not None and self._seconds < FAST_SECONDS

    def wanted(self, batch: Iterable[Entry], fence: Fence | None, settles: bool) -> Wanted:
        """Look at a batch."""
        resolve, rows_count = self._queries.resolve, 0
        statements: list[Statement] = []
        for query, rows in batch:
            statements.append((query, resolve(query), rows))
            rows_count += len(rows)
        asked = None if fence is None else (self._queries[fence.query], fence.parameters)
        return Wanted(statements, rows_count, asked, self._journal.newest if settles else None)

    def job(self, wanted: Wanted) -> Job:
        """Say how a batch is committed in the writer's thread."""
        return partial(self._commit, wanted)

    def here(self, wanted: Wanted, connection: apsw.Connection) -> bool:
        """Commit without changing threads, which takes as long as a fast commit; False if it would have to wait."""
        try:
            self.without_waiting(partial(self._commit, wanted), connection)
        except DatabaseBusy:
            # Another process writes. The loop must not wait for it.
            return False
        return True

    def without_waiting(self, job: Callable[[apsw.Connection], Result], connection: apsw.Connection) -> Result:
        """Do something on a connection; raises DatabaseBusy where another process would have to be waited for."""
        connection.set_busy_timeout(0)
        try:
            return job(connection)
        finally:
            connection.set_busy_timeout(self._busy_ms)

    def log(self, entry: bytes, fence: Fence, connection: apsw.Connection) -> bool:
        """Make a few bytes durable here and now; False if a commit would be as soon."""
        epoch = fence.parameters[-1]
        assert isinstance(epoch, int), "the fence of a lease has its epoch"
        # What is longer is more than one fact, and would be many rows.
        is_small = len(entry) <= SLOT_BYTES
        if is_small and time.monotonic() - self._last >= QUICK_SECONDS:
            return False
        try:
            if not self._journal.is_open_for(epoch, len(entry), lambda first: self._tell(first, fence, connection)):
                return False
        except DatabaseBusy:
            return False  # Another process writes; a commit waits for it in the writer's thread.
        began = time.monotonic()
        self._journal.write(entry)
        if is_small:
            self.took(began)
        return True

    def _tell(self, first: Callable[[apsw.Cursor], None], fence: Fence, connection: apsw.Connection) -> None:
        asked = (self._queries[fence.query], fence.parameters)
        self.without_waiting(partial(jobs.commit, (), asked, self._database, first=first), connection)

    def end_journal(self, connection: apsw.Connection) -> None:
        """Say that the files of the journal are not needed any more, and remove them, if the tables have all."""
        journal = self._journal
        if journal.may_end:
            connection.set_busy_timeout(_ENDING_MS)
            jobs.commit((), None, self._database, connection, journal.end_in)
            journal.end()

    def begin(self, connection: apsw.Connection) -> None:
        """Begin a transaction."""
        # What it writes has no number in the journal.
        self._journal.loosen()
        jobs.script("BEGIN IMMEDIATE", "begin", self._database, connection)
        self._changes = connection.total_changes()

    def end(self, connection: apsw.Connection) -> None:
        """Commit the transaction that is open."""
        began = time.monotonic()
        jobs.script("COMMIT", "commit", self._database, connection)
        if connection.total_changes() != self._changes:
            self.took(began)

    def took(self, began: float) -> None:
        """Note how long a small commit took, that began then."""
        self._last = time.monotonic()
        seconds, known = self._last - began, self._seconds
        # Down at once and up slowly: what takes long may have more to write, what is quick shows what the disk can do.
        self._seconds = seconds if known is None or seconds < known else known + (seconds - known) / 8

    def _commit(self, wanted: Wanted, connection: apsw.Connection) -> None:
        # The way to another thread is not counted: on a busy machine it takes longer than the disk, and would be taken
        # for it, for ever.
        began, journal = time.monotonic(), self._journal
        # What does not settle changes tables in a way that no number of the journal tells.
        journal.loosen()
        settles = wanted.settles == journal.newest  # and no entry came since it was asked for
        jobs.commit(wanted.statements, wanted.asked, self._database, connection, journal.settle_in if settles else None)
        if settles:
            journal.settle()
        if wanted.rows_count <= FEW_ROWS:
            self.took(began)
        elif settles and not self.is_fast and began - max(self._last, self._looked) >= LOOK_SECONDS:
            self._look(wanted.asked, connection)

    def _look(self, asked: Asked | None, connection: apsw.Connection) -> None:
        """Make a small commit to see how long it takes.

        Where all are large nobody knows how fast the disk is, and one that was slow for a moment would be taken for
        slow as long as the load lasts.
        """
        journal = self._journal
        journal.loosen()
        began = self._looked = time.monotonic()
        try:
            # Without waiting for another process: who waits for what is committed already would wait too.
            self.without_waiting(partial(jobs.commit, (), asked, self._database, first=journal.settle_in), connection)
        except WonderError as error:
            # The commit itself is done. The next commit reports the error if it lasts.
            log.debug("how fast commits to %s are can't be seen: %s", self._database, error)
        else:
            journal.settle()
            self.took(began)
