"""Files that a person or an author names: looked for under any name, and read up to a limit, never whole first."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from wonder.errors import WonderError
from wonder.language.values import MAX_BYTES


class FileTooLarge(WonderError):
    """A file has more bytes than may be read; `size` is None where its end was not looked for."""

    code = "FILE_TOO_LARGE"

    def __init__(self, name: str, size: int | None, limit: int) -> None:
        found = f"more than {limit:,} bytes" if size is None else f"{size:,} bytes"
        super().__init__(f"{name} has {found}; the limit is {limit:,}")
        self.name, self.size, self.limit = name, size, limit


class PathRefused(WonderError):
    """A path begins with the home directory of a user that there is not."""

    code = "PATH_REFUSED"

    def __init__(self, path: str) -> None:
        super().__init__(f"the path {path!r} begins with the home directory of an unknown user; write it without ~")
        self.path = path


def is_there(path: str | Path) -> bool:
    """Say whether there is a file or folder; false, too, for a name that is too long or may not be looked for."""
    try:
        return Path(path).exists()
    except OSError:
        return False


def expanded(path: str) -> Path:
    """Put in the home directory that `~` or `~user` stands for; raises PathRefused."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise PathRefused(path) from None


def read_given_file(path: str | Path, limit: int = MAX_BYTES) -> bytes:
    """Read a file, a device or a pipe of at most this many bytes; raises FileTooLarge or OSError."""
    with Path(path).open("rb") as file:
        found = os.fstat(file.fileno())
        # What a regular file holds is known before a byte is read; of a device or a pipe nothing is.
        if stat.S_ISREG(found.st_mode) and found.st_size > limit:
            raise FileTooLarge(str(path), found.st_size, limit)
        return read_stream(file, str(path), limit)


def read_stream(stream: BinaryIO, name: str, limit: int = MAX_BYTES) -> bytes:
    """Read a stream to its end, or to the first byte behind the limit; raises FileTooLarge or OSError."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise FileTooLarge(name, None, limit)
    return content
