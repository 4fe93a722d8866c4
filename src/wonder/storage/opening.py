"""Opening the database that an address names, with its tables brought up to date."""

from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeAlias

from wonder.storage.clock import utc_now
from wonder.storage.errors import DatabaseNotMigrated, DatabaseUnreachable, DriverMissing
from wonder.storage.file_modes import FOLDER_MODE, files_of_database, make_file, narrow
from wonder.storage.migrate import migrate, pending_migrations
from wonder.storage.store import Store, UtcNow
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
    clock: UtcNow = utc_now,
    busy_seconds: float = BUSY_SECONDS,
    connections: int = CONNECTIONS,
    on_migration: Callable[[], None] = lambda: None,
) -> Store:
    """Open the database at an address such as sqlite:///wonder.db or postgresql://host/name.

    A missing SQLite file is made unless `create` is false; of missing folders only `.wonder` is. Missing migrations are
    applied, make it be refused, or are left for the caller to look at. `busy_seconds` bounds every wait for a lock or
    a connection. `on_migration` is called when a server begins to make or change tables: that takes it some time, and
    this process could do something else meanwhile.
    """
    address = parse_url(url)
    store: Store
    opened = None
    if isinstance(address, SqliteAddress):
        _prepare_file(address, create)
        # A process needs one of the two stores.
        from wonder.storage.sqlite.store import SqliteStore

        store = opened = await SqliteStore.open(address, busy_seconds=busy_seconds)
    else:
        store = await _open_postgres(address, busy_seconds, connections)
    try:
        if migrations == "apply":
            # SQLite does its work in this process, where it would only be in the way of something else.
            begun = {"on_begin": on_migration} if store.dialect == "postgresql" else {}
            await migrate(store, clock=clock, **begun)
        elif migrations == "require":
            await _refuse_old(store)
        if opened is not None and migrations != "leave":
            await opened.settle_old_entries()
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
            folder.mkdir(FOLDER_MODE, exist_ok=True)
        if create and not exists and folder.is_dir():
            # SQLite would make it readable for all whom the umask lets, and its log and shared memory like it.
            make_file(address.path)
    except OSError as error:
        raise DatabaseUnreachable(address.shown, str(error.strerror or error)) from error
    if not create and not exists:
        raise DatabaseUnreachable(address.shown, "there is no such file; deploy or migrate first, or name another")
    # One that can't be narrowed can still be used; `wonder doctor` reports it.
    with suppress(OSError):
        for place in (*([folder] if folder.name == HOME else []), *files_of_database(address.path)):
            narrow(place)


async def _open_postgres(address: PostgresAddress, busy_seconds: float, connections: int) -> Store:
    try:
        # asyncpg is an extra that most users of SQLite don't have.
        from wonder.storage.postgresql.store import PostgresStore
    except ModuleNotFoundError as error:
        raise DriverMissing(str(error.name), "postgres") from error
    return await PostgresStore.open(address, busy_seconds=busy_seconds, connections=connections)
