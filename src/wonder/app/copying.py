"""Copies a database from SQLite to PostgreSQL, as a whole or not at all (CMD-12)."""

from wonder.app.ids import new_ulid
from wonder.app.opening import open_wonder
from wonder.storage.copying import CopyFailed, Progress, copy_rows
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Store
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url


async def copy_database(source_url: str, target_url: str, on_progress: Progress) -> dict[str, int]:
    """Copy all rows; give how many by table. Raises CopyFailed, or what opening a database raises."""
    if not isinstance(parse_url(source_url), SqliteAddress) or not isinstance(parse_url(target_url), PostgresAddress):
        raise CopyFailed(
            "a database is copied from SQLite (sqlite:///file.db) to PostgreSQL (postgresql://host/name); "
            "`wonder backup` and `wonder restore` copy one to another of its kind"
        )
    await _refuse_filled(target_url)
    await _settle(source_url)
    source = await open_store(source_url, create=False)
    try:
        target = await open_store(target_url)
        try:
            return await _copy(source, target, on_progress)
        finally:
            await target.close()
    finally:
        await source.close()


async def _refuse_filled(url: str) -> None:
    store = await open_store(url, create=False, migrations="leave")
    try:
        if await store.fetch("table_exists", "workspaces") and await store.fetch("any_workspace"):
            raise CopyFailed(f"{store.address} has data of Wonder already; make an empty database, and name that")
    finally:
        await store.close()


async def _settle(url: str) -> None:
    """Begin the engine and end it: what was logged is in the tables then, of whatever process it was."""
    # Opening makes a database where there is none.
    await (await open_store(url, create=False)).close()
    async with open_wonder(url, runs="none") as wonder:
        if wonder.engine is None:
            raise _in_use(wonder.store)


async def _copy(source: Store, target: Store, on_progress: Progress) -> dict[str, int]:
    """Copy while both leases are ours, so that no engine begins on either."""
    ours = await _lease(source)
    try:
        theirs = await _lease(target)
        try:
            if source.journal is not None and await source.journal.inherit():
                raise CopyFailed(f"{source.address} has results in its journal that are in no table yet; copy it again")
            return await copy_rows(source, target, on_progress)
        finally:
            await theirs.release()
    finally:
        await ours.release()


async def _lease(store: Store) -> Lease:
    lease = await claim_lease(store, new_ulid())
    if lease is None:
        raise _in_use(store)
    return lease


def _in_use(store: Store) -> CopyFailed:
    return CopyFailed(f"a process runs the engine of {store.address}; stop it first, so that nothing changes meanwhile")
