"""Backups: made while runs go on, verified, and restored into a new database."""

from collections.abc import Callable
from pathlib import Path

from msgspec import field

from wonder.app import backup, restoring
from wonder.app.backup_manifest import Manifest
from wonder.operations.auditing import recording_at
from wonder.operations.declaring import Input, Place, database_operation
from wonder.operations.outputs import Output

Progress = Callable[[str, int, int], None]
"""Is told what is being copied, how many parts are done, and of how many; 0 where that is not known."""


class BackedUpObjects(Output, frozen=True):
    """The content of artifacts: how much, and whether it is in the backup or stays in its bucket."""

    count: int
    bytes: int
    copied: bool
    address: str


class BackupSummary(Output, frozen=True):
    """What a backup holds."""

    database: str
    made_at: str
    wonder: str
    migration: int
    bytes: int
    objects: BackedUpObjects
    missing: dict[str, str] = field(default_factory=dict)
    """Content that was missing or damaged when the backup was made, with what was wrong."""


class BackupFolder(Input, frozen=True):
    """The folder of a backup."""

    folder: str


@database_operation("backups.make", role="admin")
async def make_backup(place: Place, given: BackupFolder) -> BackupSummary:
    """Copy the database, its journal and the content of artifacts while runs go on, verified."""
    return await make_with_progress(place, given, _unheard)


async def make_with_progress(place: Place, given: BackupFolder, on_progress: Progress) -> BackupSummary:
    """Make a backup, and report how far that is."""
    return _summary(await backup.make_backup(place.url, place.objects_url, Path(given.folder), on_progress))


@database_operation("backups.check", role="admin")
async def check_backup(place: Place, given: BackupFolder) -> BackupSummary:
    """Verify a backup, and restore nothing."""
    return await check_with_progress(given, _unheard)


async def check_with_progress(given: BackupFolder, on_progress: Progress) -> BackupSummary:
    """Verify a backup, and report how far that is."""
    return _summary(await restoring.check_backup(Path(given.folder), on_progress))


@database_operation("backups.restore", role="admin", changes=True, notes_itself=True)
async def restore_backup(place: Place, given: BackupFolder) -> BackupSummary:
    """Restore a backup into a database that does not exist yet, or on PostgreSQL is empty."""
    return await restore_with_progress(place, given, _unheard)


async def restore_with_progress(place: Place, given: BackupFolder, on_progress: Progress) -> BackupSummary:
    """Restore a backup, and report how far that is."""
    if place.caller is None:
        return await _restore(place, given, on_progress)
    async with recording_at(place.url, place.caller, restore_backup, given) as call:
        restored = await _restore(place, given, on_progress)
        await call.success(restored)
    return restored


async def _restore(place: Place, given: BackupFolder, on_progress: Progress) -> BackupSummary:
    restored = await restoring.restore_backup(Path(given.folder), place.url, place.objects_url, on_progress)
    return _summary(restored)


def _unheard(what: str, done: int, of: int) -> None:
    """Take progress that nobody waits for."""


def _summary(manifest: Manifest) -> BackupSummary:
    objects = manifest.objects
    return BackupSummary(
        database=manifest.database,
        made_at=manifest.made_at,
        wonder=manifest.wonder,
        migration=manifest.migration,
        bytes=sum(entry.size_bytes for entry in manifest.files.values()),
        objects=BackedUpObjects(
            count=len(objects.keys),
            bytes=sum(objects.keys.values()),
            copied=objects.copied,
            address=objects.address,
        ),
        missing=objects.missing,
    )
