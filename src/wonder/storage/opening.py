"""Opening the database that an address names, with its tables brought up to date."""

from typing import Literal, TypeAlias

from wonder.storage.clock import utc_now
from wonder.storage.errors import DatabaseNotMigrated, DatabaseUnreachable, DriverMissing
from wonder.storage.migrate import migrate, pending_migrations
from wonder.storage.sqlite import SqliteStore
from wonder.storage.store import Clock, Store
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url

BUSY_SECONDS = 30.0
CONNECTIONS = 10
HOME = ".wonder"

Migrations: TypeAlias = Literal["apply", "require", "leave"]


async def open_store(
    url: str,
    *,
    create: bool = True,
    migrations: Migrations = "apply",
    clock: Clock = utc_now,
    busy_seconds: float = BUSY_SECONDS,
    connections: int = CONNECTIONS,
) -> Store:
    """Open the database at an address such as sqlite:///wonder.db or postgresql://host/name.

    A missing SQLite file is made unless `create` is false; of missing folders only `.wonder` is. Missing migrations are
    applied, make it be refused, or are left for the caller to look at. `busy_seconds` bounds every wait for a lock or
    a connection.
    """
    address = parse_url(url)
    store: Store
    if isinstance(address, SqliteAddress):
        _prepare_file(address, create)
        store = await SqliteStore.open(address, busy_seconds=busy_seconds)
    else:
        store = await _open_postgres(address, busy_seconds, connections)
    try:
        if migrations == "apply":
            await migrate(store, clock=clock)
        elif migrations == "require":
            await _refuse_old(store)
    except BaseException:
        await store.close()
        raise
    return store


async def _refuse_old(store: Store) -> None:
    if missing := await pending_migrations(store):
        raise DatabaseNotMigrated(store.address, len(missing))


def _prepare_file(address: SqliteAddress, create: bool) -> None:
    folder = address.path.parent
    try:
        exists = address.path.exists()
        if create and folder.name == HOME and folder.parent.is_dir():
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DatabaseUnreachable(address.shown, str(error.strerror or error)) from error
    if not create and not exists:
        raise DatabaseUnreachable(address.shown, "there is no such file; deploy or migrate first, or name another")


async def _open_postgres(address: PostgresAddress, busy_seconds: float, connections: int) -> Store:
    # Imported when it is used: asyncpg is an extra that most users of SQLite don't have.
    try:
        from wonder.storage.postgres import PostgresStore
    except ModuleNotFoundError as error:
        raise DriverMissing(str(error.name), "postgres") from error
    return await PostgresStore.open(address, busy_seconds=busy_seconds, connections=connections)
