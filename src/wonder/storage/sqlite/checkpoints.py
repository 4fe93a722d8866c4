"""Checkpoints: what was committed to the write-ahead log is written back to the database file by a thread of its own.

SQLite itself does so inside the commit that makes the log long, before that is over: a third of the time of a large
one. Here it is one call that holds no lock of the interpreter's, and the committing caller goes on meanwhile.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

import apsw

# As many pages as SQLite waits for by itself.
DUE_PAGES = 1_000
# The second time it is what was committed during the first, which is less.
_TIMES = 2

log = logging.getLogger("wonder.storage")


class Checkpoints:
    """Writes the log of one database back while others go on."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._thread: threading.Thread | None = None
        # True for each time that it is due, and False for the end.
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._pages, self._due = 0, DUE_PAGES
        self._is_begun = self._closed = False
        self.is_under_way = False

    def watch(self, connection: apsw.Connection) -> apsw.Connection:
        """Take on the log of a connection that writes, which no longer cares for it itself."""
        connection.set_wal_hook(self._committed)
        return connection

    def ask(self) -> None:
        """Have the log written back after the commit that is under way, however short it is."""
        self._due = 0

    async def close(self) -> None:
        """Let what is under way end; who commits later begins nothing."""
        self._closed = True
        if self._thread is not None:
            self._wanted.put(False)
            await asyncio.to_thread(self._thread.join)

    def _committed(self, connection: apsw.Connection, _database: str, pages: int) -> int:
        """Hear, in the thread that commits, how many pages the log has. Raises nothing: the commit is durable."""
        if pages < self._pages:
            # All was written back, and so it has begun anew.
            self._due, self._is_begun = DUE_PAGES, False
        self._pages = pages
        if self.is_under_way or self._closed:
            return apsw.SQLITE_OK
        if self._is_begun:
            # Commits came meanwhile. The few pages of theirs are written back here, or it would become longer for ever.
            self._due, self._is_begun = pages + DUE_PAGES, False
            write_back(connection)
        elif pages >= self._due:
            self._is_begun = True
            self._begin(connection)
        return apsw.SQLITE_OK

    def _begin(self, connection: apsw.Connection) -> None:
        if self._thread is None:
            # A daemon, because a program that forgot to close its store must still be able to end.
            thread = threading.Thread(target=self._serve, name="wonder-checkpointer", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                _note(error)
                write_back(connection)
                return
            self._thread = thread
        self.is_under_way = True
        self._wanted.put(True)

    def _serve(self) -> None:
        connection: apsw.Connection | None = None
        while self._wanted.get():
            try:
                connection = connection or self._connect()
                for _ in range(_TIMES):
                    write_back(connection)
            except Exception as error:
                _note(error)
            finally:
                self.is_under_way = False
        if connection is not None:
            connection.close()


def write_back(connection: apsw.Connection) -> None:
    """Write back what no reader needs in the log."""
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error as error:
        _note(error)


def _note(error: Exception) -> None:
    # All of it is durable in the log, and the next commit tries it again.
    log.debug("the write-ahead log can't be written back now: %s", error)
