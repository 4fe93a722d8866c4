"""What can go wrong between Wonder and its database, one class per thing that a caller could do about it."""

from collections.abc import Sequence
from typing import Final

from wonder.errors import WonderError


class BadDatabaseUrl(WonderError):
    """The text that should say where the database is can't be read."""

    code = "BAD_DATABASE_URL"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"database address {url!r} {reason}; write sqlite:///file.db (in the working directory), "
            "sqlite:////folder/file.db or postgresql://user@host/database"
        )
        self.url, self.reason = url, reason


class DatabaseUnreachable(WonderError):
    """The database can't be opened: nobody answers, it does not exist, or entry was refused."""

    code = "DATABASE_UNREACHABLE"

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(f"can't open database {database}: {reason}")
        self.database, self.reason = database, reason


class NotADatabase(WonderError):
    """The file is there, but it is not an SQLite database, or it is damaged."""

    code = "NOT_A_DATABASE"

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(f"{database} is not a usable SQLite database: {reason}; name another file or restore a backup")
        self.database, self.reason = database, reason


class DriverMissing(WonderError):
    """The package that speaks to this kind of database is not installed."""

    code = "DRIVER_MISSING"

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"the package {package!r} is not installed; it comes with an extra of Wonder: "
            f"pip install 'wonder-workflows[{extra}]'"
        )
        self.package, self.extra = package, extra


class DatabaseUnsuitable(WonderError):
    """The database can't give what Wonder relies on: version, encoding or durable commits."""

    code = "DATABASE_UNSUITABLE"

    def __init__(self, database: str, found: str, needed: str) -> None:
        super().__init__(f"database {database} has {found}; Wonder needs {needed}")
        self.database, self.found, self.needed = database, found, needed


class DatabaseNewer(WonderError):
    """The database was migrated by a newer Wonder, whose tables this one does not know."""

    code = "DATABASE_NEWER"

    def __init__(self, database: str, found: int, known: int) -> None:
        super().__init__(
            f"database {database} was written by a newer Wonder (migration {found}; this one knows {known}); "
            "upgrade Wonder, or name another database"
        )
        self.database, self.found, self.known = database, found, known


class DatabaseNotMigrated(WonderError):
    """The database lacks migrations, and the caller asked to open it without applying them."""

    code = "DATABASE_NOT_MIGRATED"

    def __init__(self, database: str, missing: int) -> None:
        super().__init__(f"database {database} lacks {missing} migration(s); run: wonder db migrate")
        self.database, self.missing = database, missing


class MigrationChanged(WonderError):
    """A migration that was applied is not the one that this Wonder ships."""

    code = "MIGRATION_CHANGED"

    def __init__(self, database: str, number: int, name: str, reason: str) -> None:
        super().__init__(
            f"migration {number:04} {name!r} of database {database} {reason}; it was made by an unreleased or altered "
            "Wonder: use that one, or restore a backup"
        )
        self.database, self.number, self.name, self.reason = database, number, name, reason


class MigrationFailed(WonderError):
    """A migration could not be applied; the database is as it was before it."""

    code = "MIGRATION_FAILED"

    def __init__(self, database: str, number: int, name: str, reason: str) -> None:
        super().__init__(
            f"migration {number:04} {name!r} failed on database {database}: {reason}; nothing of it was kept. "
            "If the database belongs to another program, name one of Wonder's own"
        )
        self.database, self.number, self.name, self.reason = database, number, name, reason


class DatabaseBusy(WonderError):
    """Another process kept the database locked for longer than we wait; trying again later can work."""

    code = "DATABASE_BUSY"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database is busy ({reason}); try again, or look for a process that holds it")
        self.reason = reason


class ConnectionLost(WonderError):
    """The connection broke; whether a commit under way became durable is unknown."""

    code = "CONNECTION_LOST"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the connection to the database was lost ({reason}); a commit under way may have happened")
        self.reason = reason


class DiskFull(WonderError):
    """The database has no room left; nothing of the transaction was kept."""

    code = "DISK_FULL"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database's disk is full ({reason}); make room, nothing of this transaction was kept")
        self.reason = reason


class WriteRefused(WonderError):
    """The database can be read but not written by us: rights, a read-only file or a standby server."""

    code = "WRITE_REFUSED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database refuses to be written ({reason}); check its rights and whether it is a standby")
        self.reason = reason


class DatabaseFailed(WonderError):
    """The disk or the server reported a fault that retrying won't fix."""

    code = "DATABASE_FAILED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database reported a fault: {reason}; run: wonder db check")
        self.reason = reason


class ConstraintViolated(WonderError):
    """A row was refused because of what is, or is not, in the database already."""

    code = "CONSTRAINT_VIOLATED"

    def __init__(self, query: str, reason: str) -> None:
        super().__init__(f"the database refused a row of {query!r}: {reason}")
        self.query, self.reason = query, reason


class ValueRefused(WonderError):
    """A value does not fit its column: an integer beyond 64 bits, text with U+0000, a wrong type."""

    code = "VALUE_REFUSED"

    def __init__(self, query: str, reason: str) -> None:
        super().__init__(f"a value given to {query!r} can't be stored: {reason}")
        self.query, self.reason = query, reason


class StoreClosed(WonderError):
    """The store was used after it had been closed."""

    code = "STORE_CLOSED"

    def __init__(self) -> None:
        super().__init__("the store is closed; open it again")


class JournalDamaged(WonderError):
    """Results that counted are missing in the journal beside an SQLite database, and the engine does not begin."""

    code = "JOURNAL_DAMAGED"

    def __init__(self, database: str, reasons: Sequence[str]) -> None:
        super().__init__(
            f"results that were acknowledged are missing beside {database}: {'; '.join(reasons)}. Nothing was changed. "
            "Put the missing files back or restore a backup; or see what is lost with: wonder db repair, and go on "
            "without it with: wonder db repair --accept-loss"
        )
        self.database, self.reasons = database, list(reasons)


class LeaseLost(WonderError):
    """Another process is the one that writes now; nothing of the transaction was kept (INV-5)."""

    code = "LEASE_LOST"

    def __init__(self) -> None:
        super().__init__(
            "another process runs the engine of this database now, so nothing was written; "
            "stop this one, or let it claim the lease again"
        )


PASSING: Final = (ConnectionLost, DatabaseBusy, DatabaseUnreachable)
"""What may be over when the same thing is tried again."""
