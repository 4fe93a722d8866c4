"""Files of a directory of objects: on their way in, on their way out, and what was left by processes that died."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wonder.objects.store import CHUNK_BYTES

# Between making a file and locking it lies an instant, so that nothing so young is taken for a leftover.
_YOUNG_SECONDS: Final = 60.0


class _OpenFile:
    """An open file that one thread at a time uses, and that is closed when the loop is done with it.

    Who waits for a thread can be cancelled, and the thread goes on: then it is the thread that closes the file.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._is_done = False
        self._using = threading.Lock()

    def done(self) -> None:
        """Close the file, now or when the thread that uses it stops."""
        self._is_done = True
        self._close_if_done()

    @contextmanager
    def _used(self) -> Iterator[None]:
        try:
            with self._using:
                yield
        finally:
            self._close_if_done()

    def _close_if_done(self) -> None:
        if self._is_done and self._using.acquire(blocking=False):
            try:
                if self._descriptor is not None:
                    descriptor, self._descriptor = self._descriptor, None
                    self._close(descriptor)
            finally:
                self._using.release()

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)


class Incoming(_OpenFile):
    """A file on its way in, which is removed in the end unless it was kept."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def begin(self) -> None:
        """Make the file, and lock it."""
        with self._used():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def write(self, content: bytes) -> None:
        """Add a part."""
        with self._used():
            self._write(content)

    def keep(self, rest: bytes, path: Path) -> None:
        """Add the last part, make all of it durable, and give it its place."""
        with self._used():
            self._write(rest)
            if self._descriptor is not None and not self._is_done:
                os.fsync(self._descriptor)
                # Over what may be there: it is the same, unless it was damaged.
                self._path.rename(path)
                make_durable(path.parent)

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left and self._descriptor is not None and not self._is_done:
            left = left[os.write(self._descriptor, left) :]

    def _close(self, descriptor: int) -> None:
        with suppress(FileNotFoundError):
            self._path.unlink()
        super()._close(descriptor)


class Outgoing(_OpenFile):
    """A file that is read."""

    def begin(self, path: Path) -> None:
        """Open the file; raises FileNotFoundError."""
        with self._used():
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Give the next part, empty at the end."""
        with self._used():
            return os.read(self._descriptor, CHUNK_BYTES) if self._descriptor is not None else b""


def make_folder(folder: Path) -> None:
    """Make a folder with those above it, durably."""
    if not folder.is_dir():
        make_folder(folder.parent)
        # Whatever the umask: what runs have stored is for the user alone that runs them.
        folder.mkdir(0o700, exist_ok=True)
        make_durable(folder.parent)


def make_durable(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(incoming: Path) -> None:
    """Remove what processes that died have left; what another one is writing is locked."""
    oldest = time.time() - _YOUNG_SECONDS
    for path in incoming.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                finally:
                    os.close(descriptor)
