"""The journal: a file beside the database in which a few bytes are durable sooner than rows are in the tables.

A commit to the tables changes half a dozen pages for one more step of a run. An entry is one write
(durable_file.py) of what its writer needs to come to the same rows again. The rows follow with a later commit, which
says up to which number the tables have all: it settles the entries up to there. What a process left when it ended is
given to the next one that takes the lease (`inherit`), which does not begin before it has settled it.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw

from wonder.storage.errors import DatabaseFailed, JournalDamaged, LeaseLost
from wonder.storage.queries import Queries
from wonder.storage.sqlite.damage import Known, Left, is_marked, known_by, lock_of, look_at
from wonder.storage.sqlite.durable_file import DurableFile, write_durably
from wonder.storage.sqlite.entries import (
    SLOT_BYTES,
    SLOTS,
    files_of,
    name_of,
    page_of,
    path_for,
    shut_files,
    slots_for,
)

# So many numbers a new owner leaves out: what the one before still writes, not knowing, has one of them.
_LEFT_OUT: Final = 1 << 20

log = logging.getLogger("wonder.storage")


class JournalFile:
    """What a store knows of the journal: its own file, where it ends, and how far the tables have it."""

    def __init__(self, queries: Queries, database: Path) -> None:
        self._queries, self._database = queries, database
        self.on_first_settling: Callable[[], None] = lambda: None
        """Called in the first transaction that settles: what it says is of use only in the database file itself."""
        self._file: DurableFile | None = None
        self._epoch = self._salt = 0
        self._has_no_file = False
        # Whether the tables know of the file, and which entry was written to it last, and where.
        self._is_known = False
        self._last: tuple[int, int] | None = None
        # Whether the tables say that an engine has them open, and whether that is for this process to take back.
        self._is_in_use = False
        self._unneeded: list[Path] = []
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

    def is_open_for(self, epoch: int, length: int, tell: Callable[[Callable[[apsw.Cursor], None]], None]) -> bool:
        """Say whether the owner with this epoch can write an entry now; the file is made with the first one.

        It can't where there is no place, or where the tables have changed in a way that no number tells. `tell` makes a
        commit if the lease is ours, once there is a file: who takes it over from then on finds that, and the tables
        know that there has to be one. Raises LeaseLost, or DatabaseBusy.
        """
        if self._anchor is None or self._has_no_file or self._free + slots_for(length) > SLOTS:
            return False
        if self._file is not None and self._epoch == epoch and self._is_known:
            return True
        if (self._file is None or self._epoch != epoch) and not self._open(epoch):
            return False
        try:
            tell(self._begin_in)
        except LeaseLost:
            self._discard()
            raise
        self._is_known = self._is_in_use = True
        return True

    def _begin_in(self, cursor: apsw.Cursor) -> None:
        cursor.execute(self._queries["begin_journal_file"], (self._epoch,))

    def write(self, body: bytes) -> None:
        """Write the next entry; raises LeaseLost if it may not."""
        file, anchor = self._file, self._anchor
        assert file is not None, "is_open_for was asked"
        assert anchor is not None, "is_open_for was asked"
        # Counted before it is written: a number that is left out does no harm, one that is given twice loses an entry.
        number = self._newest = self._newest + 1
        place = self._free
        self._free += slots_for(len(body))
        try:
            file.write(place, page_of(number, anchor, body))
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
        self._last = (number, place)

    def inherit(self, cursor: apsw.Cursor) -> list[bytes]:
        """Give what was written and not settled, by any owner of the lease; for the process that has just claimed it.

        Raises JournalDamaged if entries that counted are missing; then nothing has changed.
        """
        try:
            shut_files(self._database)
            known, left = self._look(cursor)
            if left.reasons:
                raise JournalDamaged(str(self._database), left.reasons)
            # What the owner before writes from here on is for nobody, should this process end before it has settled.
            shut_files(self._database, left.highest)
        except OSError as error:
            raise DatabaseFailed(f"the journal beside {self._database} can't be read: {error}") from error
        self.abandon()
        self._settled, self._salt, self._is_in_use = known.end, known.salt, bool(known.in_use)
        self._newest = self._settling = left.highest
        self._anchor, self._is_new = None, True
        return [entry.body for entry in left.entries]

    def look(self, cursor: apsw.Cursor) -> Left:
        """Say what is in the journal that the tables lack, while nobody writes to it."""
        try:
            return self._look(cursor)[1]
        except OSError as error:
            raise DatabaseFailed(f"the journal beside {self._database} can't be read: {error}") from error

    def _look(self, cursor: apsw.Cursor) -> tuple[Known, Left]:
        while True:
            known = self._known(cursor)
            left = look_at(self._database, known)
            # An owner that closes in order says so in the tables, and then removes its file.
            if not left.reasons or self._known(cursor) == known:
                return known, left

    def _known(self, cursor: apsw.Cursor) -> Known:
        rows: list[Any] = cursor.execute(self._queries["journal_state"]).fetchall()
        return known_by(rows)

    def settle_in(self, cursor: apsw.Cursor) -> None:
        """Say in the transaction that is open that the tables have all; `settle` takes that as done."""
        # Upwards, also when the last one has failed: then nobody knows which number the tables have.
        self._settling = max(self._newest, self._settling) + (_LEFT_OUT if self._is_new else 1)
        if self._is_new:
            self._is_in_use = self._mark()
            self.on_first_settling()
        epoch = self._epoch if self._is_known else None
        last, slot = self._last or (None, None)
        cursor.execute(self._queries["settle_journal"], (self._settling, self._is_in_use, epoch, last, slot))

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

    @property
    def may_end(self) -> bool:
        """Whether the tables have all, and say that the files beside them are needed."""
        return self._is_in_use and not self.is_ahead

    def end_in(self, cursor: apsw.Cursor) -> None:
        """Say in the transaction that is open that the files beside the database are not needed any more."""
        is_ours = bool(cursor.execute(self._queries["end_journal"], (self._settled,)).fetchall())
        # Listed here: who takes over makes its file when it has settled, and then this says nothing any more.
        self._unneeded = files_of(self._database) if is_ours else []

    def end(self) -> None:
        """Remove the files: the transaction that said that they are not needed is durable."""
        self._is_in_use = False
        self._discard()
        for path in self._unneeded:
            remove_file(path)

    def abandon(self) -> None:
        """Let go of the file as it is, as the death of the process would."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._is_known, self._last = False, None

    def _discard(self) -> None:
        if self._file is not None:
            self._file.remove()
            self._file = None
        self._is_known, self._last = False, None

    def _mark(self) -> bool:
        """Mark the lock beside the database as its own; without that, a copy without it can't be told from it."""
        try:
            if not is_marked(self._database, self._salt):
                write_durably(lock_of(self._database), name_of(self._salt, 0))
        except OSError as error:
            log.warning("%s can't be marked: %s", lock_of(self._database), error)
            return False
        return True

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
        self._discard()
        of_database = self._database.stat()
        path, name = path_for(self._database, epoch), name_of(self._salt, epoch)
        self._file = DurableFile(path, SLOTS, SLOT_BYTES, name=name, mode=of_database.st_mode & 0o666)
        self._epoch = epoch
        if os.geteuid() == 0:
            # As SQLite does with its own files: the owner of the database can go on with it.
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
