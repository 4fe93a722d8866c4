"""Errors of PostgreSQL and of its connections, said in Wonder's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from wonder.errors import WonderError
from wonder.storage.errors import (
    ConnectionLost,
    ConstraintViolated,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    DiskFull,
    StoreClosed,
    ValueRefused,
    WriteRefused,
)

# The last is what asyncpg says of a connection that broke while it waited for an answer, if it is used once more before
# asyncpg has heard of that.
BROKEN = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncpg.InternalClientError)


@contextmanager
def translated(query: str) -> Iterator[None]:
    """Turn what asyncpg raises into errors that a user can act on; faults in our own SQL stay as they are."""
    try:
        yield
    except (*BROKEN, UnicodeEncodeError) as error:
        translation = _translation(error, query)
        if translation is None:
            raise
        raise translation from error


@contextmanager
def translated_opening(database: str) -> Iterator[None]:
    """Turn what can go wrong before the first query into one error that says why."""
    try:
        yield
    except (*BROKEN, ValueError) as error:
        reason = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
        raise DatabaseUnreachable(database, f"{reason}; check the address and whether the server runs") from error


def _translation(error: Exception, query: str) -> WonderError | None:
    reason = str(error) or type(error).__name__
    match error:
        case asyncpg.IntegrityConstraintViolationError():
            return ConstraintViolated(query, reason)
        case asyncpg.LockNotAvailableError() | asyncpg.TransactionRollbackError() | asyncpg.TooManyConnectionsError():
            return DatabaseBusy(reason)
        case asyncpg.QueryCanceledError() | TimeoutError():
            return DatabaseBusy(f"no answer in time from {query!r}")
        case asyncpg.DiskFullError():
            return DiskFull(reason)
        case asyncpg.ReadOnlySQLTransactionError() | asyncpg.InsufficientPrivilegeError():
            return WriteRefused(reason)
        case asyncpg.PostgresConnectionError() | asyncpg.OperatorInterventionError() | ConnectionError():
            return ConnectionLost(reason)
        case asyncpg.InternalClientError():
            return ConnectionLost(reason)
        case asyncpg.DataError() | asyncpg.ProgramLimitExceededError() | UnicodeEncodeError():
            return ValueRefused(query, reason)
        case asyncpg.InterfaceError() if "pool is clos" in reason:
            return StoreClosed()
        case asyncpg.InterfaceError() if "connection is closed" in reason or "connection was closed" in reason:
            return ConnectionLost(reason)
        case asyncpg.InsufficientResourcesError() | asyncpg.PostgresIOError() | asyncpg.InternalServerError():
            return DatabaseFailed(reason)
        case OSError():
            return ConnectionLost(reason)
        case _:
            return None
