"""Restoring a backup: verified first, into a place where there is nothing, and whole or not at all."""

import asyncio
import os
import shutil
from pathlib import Path

from wonder.app.backup import Progress
from wonder.app.backup_manifest import DUMP, FILE, OBJECTS, Manifest, check_files, read_manifest
from wonder.app.objects import objects_of
from wonder.objects.directory import DirectoryObjects
from wonder.objects.files import make_durable
from wonder.objects.store import Objects
from wonder.storage.backup_errors import BackupFailed
from wonder.storage.migrate import known_migrations
from wonder.storage.opening import open_store
from wonder.storage.own_databases import database_id_of, remember
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url


async def check_backup(folder: Path, on_progress: Progress) -> Manifest:
    """Verify a backup; raises BackupDamaged with all that is wrong, or BackupFailed if it is not a backup."""
    manifest = await asyncio.to_thread(read_manifest, folder)
    on_progress("files of the backup to verify", 0, len(manifest.files) + len(manifest.objects.keys))
    await asyncio.to_thread(check_files, folder, manifest)
    return manifest


async def restore_backup(folder: Path, url: str, objects_url: str | None, on_progress: Progress) -> Manifest:
    """Restore a backup into a database that does not exist, or on PostgreSQL is empty.

    Raises BackupDamaged, BackupFailed, or what opening the database raises.
    """
    manifest = await check_backup(folder, on_progress)
    address = parse_url(url)
    kind = "sqlite" if isinstance(address, SqliteAddress) else "postgresql"
    if manifest.database != kind:
        raise BackupFailed(f"the backup is of {manifest.database}, and {address.shown} is {kind}; name another --db")
    if manifest.migration > (known := len(known_migrations(kind))):
        raise BackupFailed(
            f"the backup was made by a newer Wonder ({manifest.wonder}, migration {manifest.migration}; this one knows "
            f"{known}); restore it with that version or a newer one"
        )
    objects = objects_of(url, objects_url)
    try:
        if isinstance(address, SqliteAddress):
            _refuse_existing(address.path)
            await _restore_objects(folder, manifest, objects, on_progress)
            await asyncio.to_thread(_restore_file, folder, manifest, address.path)
        else:
            await _refuse_filled(address)
            await _restore_objects(folder, manifest, objects, on_progress)
            await _restore_dump(address, folder / DUMP, on_progress)
    except OSError as error:
        reason = f"{error.strerror or error} ({error.filename})"
        raise BackupFailed(f"the backup can't be restored: {reason}") from error
    finally:
        await objects.close()
    return manifest


def _refuse_existing(path: Path) -> None:
    # Imported when it is used: it brings the driver.
    from wonder.storage.sqlite.backup import beside

    if not path.parent.is_dir() and path.parent.name != ".wonder":
        raise BackupFailed(f"the folder {path.parent} does not exist; make it first")
    there = [path] if path.exists() else beside(path)
    if there:
        raise BackupFailed(f"{there[0]} exists already; move it away with all files beside it that begin alike")


def _restore_file(folder: Path, manifest: Manifest, path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    for name in sorted(manifest.files, key=lambda name: name == FILE):
        # The database last: as long as it has no name, nothing is taken for one.
        target = Path(f"{path}{name.removeprefix(FILE)}")
        partial = target.with_name(f"{target.name}.partial")
        # Made anew: one that lies there, or where a link leads to, may be somebody else's to read.
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with (folder / name).open("rb") as source, os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(target)
        make_durable(target.parent)
    # Restoring a backup means trusting it.
    if database_id := database_id_of(path):
        remember(database_id)


async def _refuse_filled(address: PostgresAddress) -> None:
    store = await open_store(address.url, create=False, migrations="leave")
    try:
        if await store.fetch("table_exists", "schema_migrations"):
            raise BackupFailed(f"{address.shown} has Wonder's tables already; make an empty database, and name that")
    finally:
        await store.close()


async def _restore_dump(address: PostgresAddress, dump: Path, on_progress: Progress) -> None:
    # Imported when it is used: asyncpg is an extra.
    from wonder.storage.postgresql.backup import restore_dump

    on_progress("the database, by pg_restore", 0, 0)
    await restore_dump(address, dump)


async def _restore_objects(folder: Path, manifest: Manifest, objects: Objects, on_progress: Progress) -> None:
    part = manifest.objects
    kept = DirectoryObjects(folder / OBJECTS)
    keys = [key for key in part.keys if key not in part.missing] if part.copied else []
    for done, key in enumerate(keys, 1):
        await objects.put(kept.read(key))
        on_progress("contents of artifacts", done, len(keys))
