"""Backups: one folder with the database, its journal and the content of artifacts, all of one moment, and a manifest.

The database comes first. What an artifact or an archive of logs names is durable in the object store before its row
is, and is never changed, so everything that the copied rows name can be copied after them.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from wonder.app.backup_manifest import DUMP, FILE, OBJECTS, FileEntry, Manifest, ObjectsPart, file_entry
from wonder.app.given_files import is_there
from wonder.app.objects import objects_of
from wonder.objects.directory import DirectoryObjects
from wonder.objects.errors import ObjectDamaged, ObjectMissing
from wonder.objects.store import Objects
from wonder.storage.backup_errors import BackupFailed
from wonder.storage.clock import utc_now
from wonder.storage.logs import content_queries
from wonder.storage.migrate import applied_migrations
from wonder.storage.opening import open_store
from wonder.storage.store import Store
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url

_KEYS_AT_ONCE: Final = 1_000

Progress = Callable[[str, int, int], None]
"""Is told what is being copied, how many parts are done, and of how many; 0 where that is not known."""


async def make_backup(url: str, objects_url: str | None, folder: Path, on_progress: Progress) -> Manifest:
    """Make a backup in a new folder, verified; raises BackupFailed, or what opening the database raises.

    The folder gets its name when everything is in it and durable, so that one with this name is always whole.
    """
    partial = _new_folder(folder)
    objects = objects_of(url, objects_url)
    try:
        manifest = await _fill(partial, url, objects, on_progress)
        await asyncio.to_thread(manifest.write, partial)
        partial.rename(folder)
    except OSError as error:
        raise BackupFailed(f"the backup can't be written: {error.strerror or error} ({error.filename})") from error
    finally:
        await objects.close()
        await asyncio.to_thread(shutil.rmtree, partial, ignore_errors=True)
    return manifest


def _new_folder(folder: Path) -> Path:
    if is_there(folder):
        raise BackupFailed(f"{folder} exists already; name a folder that does not exist")
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(mode=0o700)
    except OSError as error:
        raise BackupFailed(f"the folder {partial} can't be made: {error.strerror or error}") from error
    return partial


async def _fill(folder: Path, url: str, objects: Objects, on_progress: Progress) -> Manifest:
    address = parse_url(url)
    made_at = utc_now()
    # Opened first: what is missing, or no database, is refused with its own message.
    store = await open_store(url, create=False, migrations="leave")
    migration, queries = len(await applied_migrations(store)), await content_queries(store)
    await store.close()
    if isinstance(address, SqliteAddress):
        contents = await _copy_sqlite(address, folder, objects, on_progress)
    else:
        contents = await _copy_postgres(address, folder, objects, queries, on_progress)
    files = await asyncio.to_thread(_entries, folder)
    return Manifest(version("wonder-workflows"), made_at, store.dialect, migration, files, contents)


def _entries(folder: Path) -> dict[str, FileEntry]:
    entries = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        path.chmod(0o600)
        entries[path.name] = file_entry(path)
    return entries


async def _copy_sqlite(address: SqliteAddress, folder: Path, objects: Objects, on_progress: Progress) -> ObjectsPart:
    # Imported when it is used, as the other one is.
    from wonder.storage.sqlite.backup import copy_database

    def told(done: int, of: int) -> None:
        on_progress("pages of the database", done, of)

    await asyncio.to_thread(copy_database, address.path, folder / FILE, told)
    copy = await open_store(f"sqlite:///{folder / FILE}", create=False, migrations="leave")
    try:
        return await _copy_objects(_contents(copy), objects, folder, on_progress)
    finally:
        await copy.close()


async def _copy_postgres(
    address: PostgresAddress, folder: Path, objects: Objects, queries: list[str], on_progress: Progress
) -> ObjectsPart:
    # Imported when it is used: asyncpg is an extra.
    from wonder.storage.postgresql.backup import snapshot_of

    async with snapshot_of(address) as snapshot:
        on_progress("the database, by pg_dump", 0, 0)
        await snapshot.dump(folder / DUMP)
        return await _copy_objects(snapshot.contents(queries), objects, folder, on_progress)


async def _contents(store: Store) -> AsyncIterator[tuple[str, int]]:
    for query in await content_queries(store):
        after = ""
        while rows := await store.fetch(query, after, _KEYS_AT_ONCE):
            for key, size in rows:
                yield str(key), int(str(size))
            after = str(rows[-1][0])


async def _copy_objects(
    contents: AsyncIterator[tuple[str, int]], objects: Objects, folder: Path, on_progress: Progress
) -> ObjectsPart:
    """Copy the content of artifacts out of a folder; of S3, which keeps it by itself, only look whether it is there."""
    is_copied = isinstance(objects, DirectoryObjects)
    target = DirectoryObjects(folder / OBJECTS)
    part = ObjectsPart(objects.address, is_copied)
    async for key, size in contents:
        part.keys[key] = size
        if is_copied:
            try:
                await target.put(objects.read(key))
            except (ObjectMissing, ObjectDamaged) as error:
                part.missing[key] = error.code
        elif not await objects.has(key):
            part.missing[key] = ObjectMissing.code
        on_progress("contents of artifacts", len(part.keys), 0)
    return part
