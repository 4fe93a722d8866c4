"""The modes of Wonder's own files: whatever the umask says, they are for the user that runs Wonder alone."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
_OTHERS: Final = 0o077
# What SQLite keeps beside a database, and what holds a process's claim to be its engine.
_BESIDE: Final = ("-wal", "-shm", "-journal", ".lock")
_JOURNALS: Final = "-facts-"


def make_file(path: Path) -> None:
    """Make an empty file that only its owner may use, unless there is one; raises OSError."""
    try:
        # Where a link leads to that leads to nothing yet.
        descriptor = os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return
    os.close(descriptor)


def narrow(path: Path) -> None:
    """Take all rights of others from a file or folder that is there and belongs to this user; raises OSError.

    That of another user stays as it is: somebody else has decided on it, and `wonder doctor` reports it.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def files_of_database(path: Path) -> Iterator[Path]:
    """Give an SQLite database and the files beside it that belong to it, those that may be there."""
    # SQLite follows a link, and has its own files beside what the link leads to.
    path = Path(os.path.realpath(path))
    yield path
    for suffix in _BESIDE:
        yield path.with_name(path.name + suffix)
    # Without a pattern of a shell: a database's name may hold one.
    prefix = path.name + _JOURNALS
    with os.scandir(path.parent) as entries:
        yield from sorted(Path(entry.path) for entry in entries if entry.name.startswith(prefix))


def open_mode(path: Path) -> int | None:
    """Give the mode of a file or folder that other users of the machine may use and get to; None if they may not."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        is_open = mode & _OTHERS and path.absolute().parent.stat().st_mode & 0o011
    except OSError:
        return None  # It is gone, or nobody gets to it.
    return mode if is_open else None
