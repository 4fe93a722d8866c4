"""A copy of an SQLite database as it was at one moment, made while an engine goes on writing to it.

For a moment the results that an engine has acknowledged are in its journal alone. Its next commit brings all of them to
the tables, so a copy that is made after that commit holds everything that was acknowledged before the backup began.
Where no engine runs, nobody brings them: then the journal is copied too, and the engine that opens the copy takes them.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from wonder.storage.backup_errors import BackupFailed
from wonder.storage.errors import JournalDamaged
from wonder.storage.queries import Queries, load_queries
from wonder.storage.runs.leases import FileLock
from wonder.storage.sqlite.connection import connect
from wonder.storage.sqlite.damage import Known, Left, known_by, lock_of, look_at
from wonder.storage.sqlite.entries import files_of
from wonder.storage.sqlite.errors import translated
from wonder.storage.url import SqliteAddress

Progress = Callable[[int, int], None]
"""Is told how many parts are done, and of how many."""

_PAGES_AT_ONCE: Final = 4_000
_BUSY_SECONDS: Final = 30.0
# An engine writes its journal to the tables four times a second.
_SETTLE_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.05


def copy_database(source: Path, target: Path, on_progress: Progress) -> None:
    """Copy a database to a file that does not exist yet, with its journal where the copy needs it.

    Raises BackupFailed, or what opening the database raises.
    """
    address = SqliteAddress(source)
    reading = connect(address, busy_seconds=_BUSY_SECONDS, only_reads=True)
    try:
        with translated("backup", address.shown), _settled(reading, source) as is_settled:
            _copy_tables(reading, target, on_progress, is_alone=is_settled)
            if not is_settled:
                _copy_journal(source, target)
    finally:
        reading.close()
    _check(target)


def beside(database: Path) -> list[Path]:
    """List the files that belong to a database and lie beside it: a new one must not find those of another."""
    suffixed = [Path(f"{database}{suffix}") for suffix in ("-wal", "-shm", "-journal")]
    return [path for path in suffixed if path.exists()] + (files_of(database) if database.parent.is_dir() else [])


@contextmanager
def _settled(reading: apsw.Connection, source: Path) -> Iterator[bool]:
    """Wait until the tables have what the journal has now; false where no engine runs that would bring it there.

    Then no engine begins either until the copy is made.
    """
    queries = load_queries("sqlite")
    wanted = _left(reading, source, queries).highest
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        lock = FileLock.take(lock_of(source))
        if lock is not None:
            # Nobody writes to the journal: what is missing now is lost.
            try:
                left = _left(reading, source, queries)
                if left.reasons:
                    raise BackupFailed(str(JournalDamaged(str(source), left.reasons)))
                if left.entries:
                    yield False
                    return
            finally:
                lock.free()
            break
        if _left(reading, source, queries).end >= wanted:
            break
        if time.monotonic() > deadline:
            raise BackupFailed(
                f"the engine of {source} has not written its last results to the tables for {_SETTLE_SECONDS:.0f} s; "
                "look at its log (a full disk?), and run the backup again"
            )
        time.sleep(_PAUSE_SECONDS)
    yield True


def _left(reading: apsw.Connection, source: Path, queries: Queries) -> Left:
    while True:
        known = _known(reading, queries)
        left = look_at(source, known)
        # An engine that closes frees the lock, says in the tables that it needs its file no more, and removes it.
        if not left.reasons or _known(reading, queries) == known:
            return left


def _known(reading: apsw.Connection, queries: Queries) -> Known:
    if not reading.execute(queries["journal_notices_damage"]).fetchall():
        ((end,),) = reading.execute(queries["journal_end"]).fetchall()
        return known_by([(end, 0, 0, None, None, None, None)])
    return known_by(reading.execute(queries["journal_state"]).fetchall())


def _copy_tables(reading: apsw.Connection, target: Path, on_progress: Progress, *, is_alone: bool) -> None:
    # Made by us, so that it is nobody else's to read from its first byte on.
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    copy, queries = apsw.Connection(str(target)), load_queries("sqlite")
    try:
        # A transaction that reads stays at its moment: without it every commit would make the copy begin again.
        reading.execute("BEGIN")
        try:
            reading.execute(queries["begin_snapshot"]).fetchall()
            with copy.backup("main", reading, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES_AT_ONCE)
                    on_progress(backup.page_count - backup.remaining, backup.page_count)
        finally:
            reading.execute("ROLLBACK")
        # One file, whole: without a log beside it.
        copy.pragma("journal_mode", "delete")
        if is_alone and copy.execute(queries["journal_notices_damage"]).fetchall():
            # It needs no companions: it says so, or it would be taken for one that was copied without them.
            copy.execute(queries["forget_journal_files"])
    finally:
        copy.close()
    _make_durable(target)


def _copy_journal(source: Path, target: Path) -> None:
    real = os.path.realpath(source)
    for file in files_of(source):
        copied = Path(f"{target}{str(file).removeprefix(real)}")
        shutil.copyfile(file, copied)
        copied.chmod(0o600)
        _make_durable(copied)


def _check(copy: Path) -> None:
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = [str(fault) for (fault,) in connection.execute(load_queries("sqlite")["copy_faults"])]
    finally:
        connection.close()
    if found:
        raise BackupFailed(f"the copy is damaged ({'; '.join(found)}): check the database with `wonder db check`")


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
