"""The manifest of a backup: what it holds, with sizes and digests, so that damage is noticed before it is restored."""

import errno
import os
import stat
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue
from wonder.objects.store import check_key
from wonder.storage.backup_errors import BackupDamaged, BackupFailed

FILE: Final = "wonder.db"
DUMP: Final = "wonder.pgdump"
OBJECTS: Final = "objects"
MANIFEST: Final = "manifest.json"
FORMAT: Final = 1


class FileEntry(Struct, frozen=True):
    """A file of the backup."""

    size_bytes: int
    sha256: str


class ObjectsPart(Struct):
    """The content of artifacts: `keys` with sizes, and which of them were missing or damaged when it was made.

    Where it is not `copied`, it is in the object store alone.
    """

    address: str
    copied: bool
    keys: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


class Manifest(Struct, frozen=True):
    """What a backup holds."""

    wonder: str
    made_at: str
    database: str
    migration: int
    files: dict[str, FileEntry]
    objects: ObjectsPart
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write it to the backup's folder, and make all of the folder durable."""
        path = folder / MANIFEST
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(self), indent=2))
            file.flush()
            os.fsync(file.fileno())
        for directory in (folder, folder.parent):
            opened = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup; raises BackupFailed."""
    try:
        with _opened(folder / MANIFEST) as file:
            content = file.read()
    except OSError as error:
        reason = error.strerror or error
        raise BackupFailed(f"{folder} is no backup: {MANIFEST} can't be read: {reason}; name its folder") from None
    return parse_manifest(content, folder)


def parse_manifest(content: bytes, folder: Path) -> Manifest:
    """Read what stands in the manifest of the backup in a folder; raises BackupFailed."""
    try:
        form = read_as(content, _Form)
        if form.format != FORMAT:
            raise BackupFailed(
                f"the backup {folder} has the format {form.format}, and this Wonder reads {FORMAT}; restore it with "
                f"the Wonder that made it, {form.wonder}"
            )
        return read_as(content, Manifest)
    except BadValue as error:
        raise BackupDamaged(str(folder), [f"{MANIFEST} can't be read: {error}"]) from None


def check_files(folder: Path, manifest: Manifest) -> None:
    """Hold everything that the backup holds against its manifest; raises BackupDamaged with all that is wrong."""
    database = FILE if manifest.database == "sqlite" else DUMP
    problems = [] if database in manifest.files else [f"{MANIFEST} does not name {database}"]
    for name, entry in manifest.files.items():
        # A name out of a damaged manifest must not lead out of the folder, and neither must a key.
        is_plain = name not in ("", ".", "..") and not {"/", "\0"} & set(name)
        problems += _problems(folder / name, name, entry) if is_plain else [f"{name!r} is no name of a file"]
    if manifest.objects.copied:
        for key, size in manifest.objects.keys.items():
            if key not in manifest.objects.missing:
                check_key(str(folder), key)
                problems += _problems(folder / OBJECTS / key, key, FileEntry(size, key.rpartition("/")[2]))
    if problems:
        raise BackupDamaged(str(folder), problems)


def file_entry(path: Path) -> FileEntry:
    """Read a file's size and digest."""
    with _opened(path) as file:
        return FileEntry(os.fstat(file.fileno()).st_size, file_digest(file, "sha256").hexdigest())


def _opened(path: Path) -> BufferedReader:
    # Without waiting, and no device: a pipe in its place, or a link to /dev/zero, would never end.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a regular file")


class _Form(Struct):
    format: int
    wonder: str = "unknown"


def _problems(path: Path, name: str, expected: FileEntry) -> list[str]:
    try:
        found = file_entry(path)
    except OSError as error:
        return [f"{name} can't be read ({error.strerror or error})"]
    if found.size_bytes != expected.size_bytes:
        return [f"{name} has {found.size_bytes:,} bytes and not {expected.size_bytes:,}"]
    return [] if found.sha256 == expected.sha256 else [f"{name} has another content than when the backup was made"]
