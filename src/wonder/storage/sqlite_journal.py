"""The journal: a file beside the database in which a few bytes are durable sooner than rows are in the tables.

A commit to the tables changes half a dozen pages for one more step of a run. An entry is one write, past the page cache
(durable_file.py), of what its writer needs to come to the same rows again. The rows follow with a later commit, which
says up to which number the tables have all: it settles the entries up to there. What a process left when it ended is
given to the next one that takes the lease (`inherit`), which does not begin before it has settled it.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw

from wonder.storage.durable_file import DurableFile
from wonder.storage.errors import DatabaseFailed, LeaseLost
from wonder.storage.queries import Queries
from wonder.storage.sqlite_entries import (
    SLOT_BYTES,
    SLOTS,
    files_of,
    following,
    page_of,
    path_for,
    read_entries,
    shut_files,
    slots_for,
)

# So many numbers a new owner leaves out: what the one before still writes, not knowing, has one of them.
_LEFT_OUT: Final = 1 << 20

log = logging.getLogger("wonder.storage")


class Journal:
    """What a store knows of the journal: its own file, where it ends, and how far the tables have it."""

    def __init__(self, queries: Queries, database: Path) -> None:
        self._queries, self._database = queries, database
        self._file: DurableFile | None = None
        self._epoch = 0
        self._has_no_file = False
        # Numbers of entries: the last one, the last one that is settled, and the last one with a commit under way.
        self._newest = self._settled = self._settling = 0
        # The number that the tables had when we last wrote to them; None if they have changed since.
        self._anchor: int | None = None
        self._is_new = True
        # The first slot that has no entry which is not settled.
        self._free = 0

    @property
    def newest(self) -> int:
        """The number of the last entry."""
        return self._newest

    @property
    def is_ahead(self) -> bool:
        """Whether it has entries that are not settled."""
        return self._newest > self._settled

    def is_open_for(self, epoch: int, length: int, is_ours: Callable[[], bool]) -> bool:
        """Say whether the owner with this epoch can write an entry now; the file is made with the first one.

        It can't where there is no place, or where the tables have changed in a way that no number tells. `is_ours` is
        asked whether the lease is, once there is a file: who takes it over from then on finds that. Raises LeaseLost.
        """
        if self._anchor is None or self._has_no_file or self._free + slots_for(length) > SLOTS:
            return False
        if self._file is not None and self._epoch == epoch:
            return True
        if not self._open(epoch):
            return False
        if not is_ours():
            self.close()
            raise LeaseLost
        return True

    def write(self, body: bytes, meanwhile: Callable[[], None]) -> None:
        """Write the next entry, and do something else while it is on its way; raises LeaseLost if it may not."""
        file, anchor = self._file, self._anchor
        assert file is not None, "is_open_for was asked"
        assert anchor is not None, "is_open_for was asked"
        # Counted before it is written: a number that is left out does no harm, one that is given twice loses an entry.
        number = self._newest = self._newest + 1
        place = self._free
        self._free += slots_for(len(body))
        try:
            file.begin(place, page_of(number, anchor, body))
            try:
                meanwhile()
            finally:
                file.finish()
        except OSError as error:
            # Not once more: whatever keeps it from being written, the tables may take.
            self.loosen()
            self._has_no_file = True
            raise DatabaseFailed(f"the journal {file.path} can't be written: {error}") from error
        except BaseException:
            self.loosen()
            raise
        # Looked at when it is written: who takes the lease over shuts the file first, and then reads what is in it. So
        # either we find here that the lease is lost, or the new owner finds this entry (INV-5).
        if file.is_shut:
            self.loosen()
            raise LeaseLost

    def inherit(self, cursor: apsw.Cursor) -> list[bytes]:
        """Give what was written and not settled, whoever had the lease; for who has just claimed it."""
        try:
            shut_files(self._database)
            rows: list[Any] = cursor.execute(self._queries["journal_end"]).fetchall()
            end: int = rows[0][0]
            left = following(read_entries(self._database), end)
            # What the owner before writes from here on is for nobody, should this process end before it has settled.
            shut_files(self._database, left[-1][0] if left else end)
        except OSError as error:
            raise DatabaseFailed(f"the journal beside {self._database} can't be read: {error}") from error
        self.close()
        self._settled = end
        self._newest = self._settling = left[-1][0] if left else end
        self._anchor, self._is_new = None, True
        return [body for _, body in left]

    def settle_in(self, cursor: apsw.Cursor) -> None:
        """Say in the transaction that is open that the tables have all; `settle` takes that as done."""
        # Upwards, also when the last one has failed: then nobody knows which number the tables have.
        self._settling = max(self._newest, self._settling) + (_LEFT_OUT if self._is_new else 1)
        cursor.execute(self._queries["put_journal_end"], (self._settling,))

    def settle(self) -> None:
        """Take the entries as settled: the transaction that said so is durable."""
        self._newest = self._settled = self._anchor = self._settling
        self._free = 0
        if self._is_new:
            self._is_new = False
            self._remove_others()

    def loosen(self) -> None:
        """Write no entry before the next one that settles: the tables have changed in a way that no number tells."""
        self._anchor = None

    def close(self) -> None:
        """Let go of the file; it stays if there is anything in it that is not settled."""
        if self.is_ahead:
            self.abandon()
        elif self._file is not None:
            self._file.remove()
            self._file = None

    def abandon(self) -> None:
        """Let go of the file as it is, as the death of the process would."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, epoch: int) -> bool:
        if self._has_no_file:
            return False
        try:
            self._make_file(epoch)
        except OSError as error:
            # Nothing is lost but speed.
            log.warning("there is no journal beside %s, all commits go to the tables: %s", self._database, error)
            self._has_no_file = True
        return not self._has_no_file

    def _make_file(self, epoch: int) -> None:
        assert not self.is_ahead, "entries follow upon tables that have all"
        self.close()
        of_database = self._database.stat()
        path = path_for(self._database, epoch)
        self._file = DurableFile(path, SLOTS, SLOT_BYTES, mode=of_database.st_mode & 0o666)
        self._epoch = epoch
        if os.geteuid() == 0:
            # As SQLite does with its own files: whoever owns the database can go on with it.
            os.chown(path, of_database.st_uid, of_database.st_gid)

    def _remove_others(self) -> None:
        own = self._file.path if self._file else None
        try:
            others = [path for path in files_of(self._database) if path != own]
        except OSError as error:
            log.warning("files beside %s that are of no use any more can't be listed: %s", self._database, error)
            return
        for path in others:
            remove_file(path)


def remove_file(path: Path) -> None:
    """Remove a file that is of no use any more."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        # It says nothing that the tables don't have, and never will.
        log.warning("%s is of no use any more, and can't be removed: %s", path, error)


def settle_old_entries(queries: Queries, cursor: apsw.Cursor) -> None:
    """Write to the tables, in the transaction that is open, what a Wonder left that kept its entries in a table.

    Those are rows, as SQL with its parameters.
    """
    old: list[Any] = cursor.execute(queries["old_journal_entries"]).fetchall()
    if old:
        import msgspec  # not at the top: most databases have none

        for _, body in old:
            for sql, rows in msgspec.msgpack.decode(body):
                for _ in cursor.executemany(sql, rows):
                    pass
        cursor.execute(queries["put_journal_end"], (old[-1][0],))
