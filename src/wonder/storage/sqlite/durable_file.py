"""A file of places that are written over again and again, each durable when its write returns.

It is open with `O_DSYNC`, and all its blocks exist from the beginning, so a write changes nothing but its own blocks.
Whole blocks are written, past the page cache where the file system has `O_DIRECT`: the disk reads them from here.
Behind the places is a block where another process can shut the file, and later say which content of it counts; the
writer sees the first after each write, without asking the system.
"""

import errno
import mmap
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

# The mark that shuts a file is in a block of its own, which is mapped into memory.
BLOCK: Final = 4096
# Whether it is shut, whether its last number is known, that, and a checksum: a damaged number would hide entries.
_SHUT: Final = struct.Struct("<??6xQI")
# Where, in the block behind the places, it says whose file it is.
_NAME_AT: Final = 64


class DurableFile:
    """Places of one length in a file of this process's own."""

    def __init__(self, path: Path, places: int, length: int, *, name: bytes = b"", mode: int = 0o600) -> None:
        """Make the file, in the place of one that is there; raises OSError. A write may go over several places.

        `name` says whose file it is (`name_in`).
        """
        self.path, self._length = path, length
        # Memory of its own, because `O_DIRECT` needs it to begin where a block of the disk can.
        self._blocks = memoryview(mmap.mmap(-1, places * length, mmap.MAP_PRIVATE))
        with suppress(FileNotFoundError):
            path.unlink()
        self._descriptor, self._shut = _create(path, places * length, name, mode)

    @property
    def is_shut(self) -> bool:
        """Whether another process has shut it: what was written before it did so, it finds."""
        return self._shut[0] != 0

    def write(self, place: int, content: bytes) -> None:
        """Write to a place, and zeros to the end of its last block; durable when this returns; raises OSError."""
        blocks, offset, length = self._blocks, place * self._length, len(content)
        end = -(-length // BLOCK) * BLOCK
        blocks[:length] = content
        blocks[length:end] = bytes(end - length)
        written = os.pwrite(self._descriptor, blocks[:end], offset)
        while written < end:
            written += os.pwrite(self._descriptor, blocks[written:end], offset + written)

    def remove(self) -> None:
        """Close it, and let nothing of it stay."""
        self.close()
        with suppress(FileNotFoundError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of the file."""
        self._shut.close()
        os.close(self._descriptor)


def shut(path: Path, at: int, last: int | None = None) -> None:
    """Let the writer of a file know that the file is not its own any more, and its readers which number is the last.

    `at` is where its places end. A file that is gone is skipped; raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        if os.fstat(descriptor).st_size < at + _SHUT.size:
            return  # Damaged: it stays as it is, to be examined.
        # Said once: who said it first may have acted on it.
        known = last_in(os.pread(descriptor, _SHUT.size, at), 0)
        said = last if known is None else known
        os.pwrite(descriptor, _SHUT.pack(True, said is not None, said or 0, _checksum(said or 0)), at)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, content: bytes) -> None:
    """Write to the beginning of a file that others may have open, and to nothing else of it; raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.pwrite(descriptor, content, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _sync_names(path.parent)


def last_in(content: bytes, at: int) -> int | None:
    """Give the number that was said to be the last of a file, whose content this is; None if none was."""
    if len(content) < at + _SHUT.size:
        return None
    _, is_said, last, checksum = _SHUT.unpack_from(content, at)
    return last if is_said and checksum == _checksum(last) else None


def name_in(content: bytes, at: int, length: int) -> bytes:
    """Give the name of a file, whose content this is: `length` bytes; `at` is where its places end."""
    return content[at + _NAME_AT : at + _NAME_AT + length]


def _checksum(last: int) -> int:
    return zlib.crc32(last.to_bytes(8, "little"))


def _create(path: Path, length: int, name: bytes, mode: int) -> tuple[int, mmap.mmap]:
    """Make a file whose blocks are all there, so that a write changes nothing but the block itself."""
    flags = os.O_RDWR | os.O_CLOEXEC
    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    try:
        return _fill(path, descriptor, flags, length, name, mode)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _fill(path: Path, descriptor: int, flags: int, length: int, name: bytes, mode: int) -> tuple[int, mmap.mmap]:
    os.fchmod(descriptor, mode)
    content = bytes(length + _NAME_AT) + name.ljust(BLOCK - _NAME_AT, b"\0")
    if os.write(descriptor, content) != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)
    _sync_names(path.parent)
    shut_by = mmap.mmap(descriptor, BLOCK, mmap.MAP_SHARED, mmap.PROT_READ, offset=length)
    return _open_for_writing(path, flags | os.O_DSYNC), shut_by


def _open_for_writing(path: Path, flags: int) -> int:
    """Open a new file so that writes go past the page cache, or through it if the file system wants that."""
    # macOS has no such flag; some file systems refuse it when a file is opened, others only when one is written to.
    if direct := getattr(os, "O_DIRECT", 0):
        with suppress(OSError), mmap.mmap(-1, BLOCK, mmap.MAP_PRIVATE) as zeros:
            descriptor = os.open(path, flags | direct)
            try:
                os.pwrite(descriptor, zeros, 0)
            except OSError:
                os.close(descriptor)
            else:
                return descriptor
    return os.open(path, flags)


def _sync_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
