"""Rooms for a database that can be made too small: a little disk, or a limit for the size of files."""

import errno
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

BYTES: Final = 16 * 1024 * 1024
_TRIES: Final = 100


class Room(Protocol):
    """Where a database is, and how much more may be written there."""

    folder: Path

    def shrink(self, slack: int) -> None:
        """Leave room for so many bytes."""

    def grow(self) -> None:
        """Give all the room back."""


class SmallDisk:
    """A file system of a few megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def shrink(self, slack: int) -> None:
        """Leave room for so many bytes."""
        with self._ballast.open("wb") as file:
            for left in reversed(range(_TRIES)):
                state = os.statvfs(self.folder)
                try:
                    os.posix_fallocate(file.fileno(), 0, max(1, state.f_bavail * state.f_frsize - slack))
                except OSError as error:
                    # Somebody has written since the look: there is less room than it seemed.
                    if error.errno != errno.ENOSPC or not left:
                        raise
                else:
                    return

    def grow(self) -> None:
        """Give all the room back."""
        self._ballast.unlink(missing_ok=True)


class FileLimit:
    """The limit for the size of each file that this process writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def shrink(self, slack: int) -> None:
        """Leave room for so many bytes in the longest file."""
        sizes = [path.stat().st_size for path in self.folder.glob("*.db*") if not path.name.endswith("-shm")]
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + slack, self._most))

    def grow(self) -> None:
        """Give all the room back."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._most, self._most))


@contextmanager
def room_of(kind: str) -> Iterator[Room]:
    """Make a place that can be filled; raises OSError where a disk may not be mounted."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        folder = Path(name)
        if kind == "limit":
            limit = FileLimit(folder)
            try:
                yield limit
            finally:
                limit.grow()
            return
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "proof", name]
        if subprocess.run(mounting, check=False, capture_output=True).returncode:
            raise PermissionError(f"a disk can't be mounted at {name}; run as root, or take --kind limit")
        try:
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", name], check=True)
