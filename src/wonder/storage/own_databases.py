"""Own databases: which SQLite databases this user has made or trusts, remembered outside of the folders they are in.

A folder from somebody else may bring a `.wonder/wonder.db` with settings and approvals that its receiver never gave. A
database is known by the id of its default workspace, which is made with it. The list is a file of this user's, with one
id a line.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from wonder.storage.errors import NotADatabase
from wonder.storage.file_modes import FILE_MODE, FOLDER_MODE
from wonder.storage.queries import load_queries

VARIABLE: Final = "XDG_STATE_HOME"
_ID_MAX: Final = 100
# Beyond so many bytes, 40,000 databases, the older half is forgotten.
_LIST_MAX: Final = 1_100_000
# What reading one id may take: a file of somebody else may be made to take for ever.
_STEPS_MAX: Final = 100_000


def list_of_databases() -> Path | None:
    """Say where the list is; None if this user has no home."""
    given = os.environ.get(VARIABLE)
    try:
        state = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return state / "wonder" / "databases"


def remember(database_id: str) -> bool:
    """Add a database to those of this user; False if that can't be, as without a home that can be written."""
    place = list_of_databases()
    if place is None:
        return False
    try:
        place.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(place, flags, FILE_MODE), "ab+", buffering=0) as file:
            # As root with the home of somebody else: what root would leave there, they could not use any more.
            if not _is_mine(os.fstat(file.fileno())) or place.parent.stat().st_uid != os.geteuid():
                return False
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{database_id}\n".encode())
            if os.fstat(file.fileno()).st_size > _LIST_MAX:
                file.seek(0)
                known = list(dict.fromkeys(file.read().splitlines()))
                file.truncate(0)
                file.write(b"".join(line + b"\n" for line in known[len(known) // 2 :]))
    except OSError:
        return False
    return True


def is_remembered(database_id: str) -> bool:
    """Say whether this user has made a database, or trusts it."""
    return database_id.encode() in _remembered()


def database_id_of(path: Path) -> str | None:
    """Read the id of an SQLite database, whoever made it; None if it has none, as one that was never used."""
    try:
        return _read_id(path)
    except apsw.Error:
        return None


def check_readable(path: Path) -> None:
    """Raise what is wrong with a file that SQLite can't read: damaged, or no database at all."""
    try:
        _read_id(path)
    except (apsw.NotADBError, apsw.CorruptError, apsw.IOError) as error:
        raise NotADatabase(str(path), str(error)) from error
    except apsw.Error:
        return


def _read_id(path: Path) -> str | None:
    steps = 0

    def is_too_long() -> bool:
        nonlocal steps
        steps += 1
        return steps > 1

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with suppress(apsw.Error):
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    try:
        connection.set_busy_timeout(5_000)
        connection.set_progress_handler(is_too_long, _STEPS_MAX)
        rows = list(connection.execute(load_queries("sqlite")["default_workspace_id"]))
    finally:
        connection.close()
    found = rows[0][0] if rows else None
    return found if isinstance(found, str) and found.isalnum() and len(found) <= _ID_MAX else None


def _remembered() -> set[bytes]:
    place = list_of_databases()
    if place is None:
        return set()
    try:
        with place.open("rb") as file:
            if not _is_mine(os.fstat(file.fileno())):
                return set()  # A list that others can write, or have written, says nothing of what this user trusts.
            fcntl.flock(file, fcntl.LOCK_SH)
            return set(file.read(_LIST_MAX * 2).splitlines())
    except OSError:
        return set()


def _is_mine(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
