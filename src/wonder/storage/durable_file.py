"""A file of places that are written over again and again, each durable when its write is over.

Past the page cache, where the system can: then a write is one way to the disk and not two, and the thread that waits
for it can do something else meanwhile, or stay awake. Behind the places is a block where another process can shut the
file, and later say which content of it counts; whoever writes to it sees the first after each write, without asking the
system.
"""

import errno
import mmap
import os
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from wonder.storage.linux_aio import AsyncWriter

# What is written past the page cache is whole blocks of the disk.
BLOCK: Final = 4096
_DIRECT: Final = getattr(os, "O_DIRECT", 0)
# Who sleeps through a write of a tenth of a millisecond needs as long again to be quick; a slow one is slept through.
_AWAKE_SECONDS: Final = 0.0005
# Whether it is shut, whether its last number is known, and that.
_SHUT: Final = struct.Struct("<??6xQ")


class DurableFile:
    """Places of one length in a file of this process's own."""

    def __init__(self, path: Path, places: int, length: int, *, mode: int = 0o644) -> None:
        """Make the file, in the place of one that is there; raises OSError. A write may go over several places."""
        self.path, self._length = path, length
        with suppress(FileNotFoundError):
            path.unlink()
        self._descriptor, self._shut = _create(path, places * length, mode)
        self._buffer = mmap.mmap(-1, places * length)
        self._writer = AsyncWriter.open(self._buffer)
        self._begun = (0, 0)

    @property
    def is_shut(self) -> bool:
        """Whether another process has shut it: what was written before it did so, it finds."""
        return self._shut[0] != 0

    def begin(self, place: int, content: bytes) -> None:
        """Begin to write to a place; `finish` has to follow."""
        size = len(content)
        self._buffer[:size] = content
        offset, size = place * self._length, (size + BLOCK - 1) // BLOCK * BLOCK
        self._begun = (offset, size)
        if self._writer is not None:
            self._writer.begin(self._descriptor, offset, size)

    def finish(self) -> None:
        """Wait until what was begun is durable; raises OSError."""
        writer = self._writer
        if writer is None:
            offset, size = self._begun
            with memoryview(self._buffer) as view:
                while size:
                    written = os.pwrite(self._descriptor, view[:size], offset)
                    size, offset, view = size - written, offset + written, view[written:]
            return
        until = time.monotonic() + _AWAKE_SECONDS
        while not writer.is_done():
            # The kernel ends the write in a thread of its own, maybe on this very processor.
            os.sched_yield()
            if time.monotonic() > until:
                writer.wait()
                break
        writer.check()

    def remove(self) -> None:
        """Close it, and let nothing of it stay."""
        self.close()
        with suppress(FileNotFoundError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._shut.close()
        os.close(self._descriptor)


def shut(path: Path, at: int, last: int | None = None) -> None:
    """Let whoever writes to a file know that it is not theirs any more, and its readers which number is the last.

    `at` is where its places end. A file that is not there any more is none to shut; raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        # Said once: who said it first may have acted on it.
        known = last_in(os.pread(descriptor, _SHUT.size, at), 0)
        said = last if known is None else known
        os.pwrite(descriptor, _SHUT.pack(True, said is not None, said or 0), at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def last_in(content: bytes, at: int) -> int | None:
    """Give the number that was said to be the last of a file, whose content this is; None if none was."""
    if len(content) < at + _SHUT.size:
        return None
    _, is_said, last = _SHUT.unpack_from(content, at)
    return last if is_said else None


def _create(path: Path, length: int, mode: int) -> tuple[int, mmap.mmap]:
    """Make a file whose blocks are all there, so that a write changes nothing but the block itself."""
    flags = os.O_RDWR | os.O_CLOEXEC
    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    try:
        return _fill(path, descriptor, flags, length, mode)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _fill(path: Path, descriptor: int, flags: int, length: int, mode: int) -> tuple[int, mmap.mmap]:
    os.fchmod(descriptor, mode)
    if os.write(descriptor, bytes(length + BLOCK)) != length + BLOCK:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)
    _sync_names(path.parent)
    shut_by = mmap.mmap(descriptor, BLOCK, mmap.MAP_SHARED, mmap.PROT_READ, offset=length)
    try:
        direct = os.open(path, flags | os.O_DSYNC | _DIRECT)
    except OSError:
        direct = os.open(path, flags | os.O_DSYNC)
    return direct, shut_by


def _sync_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
