"""Errors of SQLite, said in Wonder's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from wonder.errors import WonderError
from wonder.storage.errors import (
    ConstraintViolated,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    DiskFull,
    NotADatabase,
    StoreClosed,
    ValueRefused,
    WriteRefused,
)

# SQLite says "full" only where a disk refuses a write; a quota and a limit of file sizes look like a broken disk.
_CAN_T_GROW = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE)


@contextmanager
def translated(query: str, database: str) -> Iterator[None]:
    """Turn what apsw raises into errors that a user can act on; faults in our own SQL stay as they are."""
    try:
        yield
    except (apsw.Error, OverflowError, UnicodeEncodeError, TypeError) as error:
        translation = _translation(error, query, database)
        if translation is None:
            raise
        raise translation from error


def _translation(error: Exception, query: str, database: str) -> WonderError | None:
    reason = str(error)
    match error:
        case apsw.InterruptError():
            return StoreClosed()
        case apsw.ConstraintError():
            return ConstraintViolated(query, reason)
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseBusy(reason)
        case apsw.FullError():
            return DiskFull(reason)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return WriteRefused(reason)
        case apsw.CantOpenError():
            return DatabaseUnreachable(database, f"{reason}; check the folder's and the file's rights")
        case apsw.NotADBError():
            return NotADatabase(database, reason)
        case apsw.IOError() if getattr(error, "extendedresult", 0) in _CAN_T_GROW:
            return DatabaseFailed(
                f"{reason}; a file can't grow, so look at the disk's room, at quotas and at ulimit -f"
            )
        case apsw.CorruptError() | apsw.IOError():
            return DatabaseFailed(reason)
        case OverflowError():
            return ValueRefused(query, "an integer is beyond 64 bits")
        case apsw.TooBigError() | apsw.MismatchError() | UnicodeEncodeError():
            return ValueRefused(query, reason)
        case TypeError() if "binding" in reason:
            return ValueRefused(query, reason)
        case _:
            return None
