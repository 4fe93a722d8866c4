"""Files inside a project's `files_root`.

A path is walked folder by folder, each opened inside the one before and never through a symbolic link: so nothing leads
out, and nobody can change that between a look and an act.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from wonder.actions.files.files_root import PACKAGE, refusal_of
from wonder.actions.files.private_places import check_file, check_folder
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Tenancy
from wonder.language.values import JsonValue

# A file's content is part of the task's context, which has a limit of its own.
BYTES_MAX: Final = 10_000_000
_CHUNK_BYTES: Final = 1_048_576
# Made one by one, folders can be thousands deep: then no program can name them by their whole path.
_PARTS_MAX: Final = 100
# For the owner alone, and never executable: what was written must not become a program.
_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700
_NO_PROGRAM: Final = 0o666
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def files_root(tenancy: Tenancy) -> str:
    """Give the folder that a project's files are in; raises ActionFailed."""
    root = tenancy.project.files_root
    if root is None:
        message = (
            "the project has no files_root, so that no file can be read or written; give it a folder: "
            "wonder project set files_root FOLDER"
        )
        raise ActionFailed("FILES_ROOT_MISSING", message)
    return root


def parts_of(path: str) -> list[str]:
    """Take a path apart; raises ActionFailed for one that leads out of its folder."""
    if path.startswith(("/", "~")) or "\0" in path or ".." in path.split("/"):
        message = f"the path {path!r} leads out of files_root; write one relative to it, without '..'"
        raise ActionFailed("PATH_OUTSIDE", message, details={"path": path})
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if len(parts) > _PARTS_MAX:
        message = f"the path has {len(parts):,} parts, and at most {_PARTS_MAX} are possible; write a shorter one"
        raise ActionFailed("FILE_REFUSED", message, details={"parts": len(parts), "parts_max": _PARTS_MAX})
    return parts


@contextmanager
def folder(root: str, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder inside a root, made if it is missing and should be; raises ActionFailed."""
    shown = "/".join(parts)
    if reason := refusal_of(root):
        raise _root_refused(root, reason)
    try:
        descriptor = os.open(root, _FOLDER)
    except OSError as error:
        message = (
            f"files_root {root!r} can't be used: {error.strerror}; make the folder, or name another: "
            "wonder project set files_root FOLDER"
        )
        raise ActionFailed("FILES_ROOT_MISSING", message) from error
    try:
        check_folder(descriptor, shown)
        for part in parts:
            with _explained(shown, descriptor, part):
                if make:
                    check_file(descriptor, part, shown, None)
                    with suppress(FileExistsError):
                        os.mkdir(part, _FOLDER_MODE, dir_fd=descriptor)
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
            check_folder(descriptor, shown)
        yield descriptor
    finally:
        os.close(descriptor)


def read_bytes(root: str, path: str) -> bytes:
    """Read a file; raises ActionFailed."""
    *folders, name = _named(path)
    with folder(root, folders) as inside, _explained(path, inside, name):
        # Without waiting: to open a pipe would wait for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=inside)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _no_file(path)
            check_file(inside, name, path, found)
            parts: list[bytes] = []
            left = BYTES_MAX + 1
            # Until there is no more, whatever its size is said to be: it may grow.
            while left > 0 and (part := os.read(descriptor, min(left, _CHUNK_BYTES))):
                parts.append(part)
                left -= len(part)
        finally:
            os.close(descriptor)
    if left <= 0:
        raise _too_large(path)
    return b"".join(parts)


def write_bytes(root: str, path: str, content: bytes, mark: str) -> str:
    """Write a file, whole or not at all, with the folders that it needs; give its path. Raises ActionFailed.

    `mark` is part of the name that it has until it is whole. It is the same each time that an action is done again,
    which so removes what a crash has left.
    """
    parts = _named(path)
    *folders, name = parts
    if len(content) > BYTES_MAX:
        raise _too_large(path)
    if [part.casefold() for part in parts] == [PACKAGE]:
        # It would make a package of files_root itself, which is then refused for all that comes after.
        message = f"{path!r} would make files_root a Python package; write it into a folder of files_root"
        raise ActionFailed("PATH_PRIVATE", message, details={"path": path})
    # Of each writer's own beyond the mark: one whose time was over may still be at it.
    passing = f".{mark}.{os.urandom(4).hex()}.wonder-part"
    with folder(root, folders, make=True) as inside, _explained(path, inside, name):
        mode = _mode_of(inside, name, path)
        _remove_leftovers(inside, mark)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(passing, flags, _FILE_MODE, dir_fd=inside)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
            os.rename(passing, name, src_dir_fd=inside, dst_dir_fd=inside)
            os.fsync(inside)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(passing, dir_fd=inside)
            raise
        finally:
            os.close(descriptor)
    return "/".join(parts)


def _remove_leftovers(inside: int, mark: str) -> None:
    with os.scandir(inside) as entries:
        left = [entry.name for entry in entries if entry.name.startswith(f".{mark}.")]
    for name in left:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inside)


def _named(path: str) -> list[str]:
    parts = parts_of(path)
    if not parts or path.endswith("/"):
        message = f"the path {path!r} names no file; write one such as reports/summary.txt"
        raise ActionFailed("NOT_A_FILE", message, details={"path": path})
    return parts


def _mode_of(inside: int, name: str, path: str) -> int:
    """Give the mode for a file: of the one that it replaces, but never executable."""
    try:
        found = os.stat(name, dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        check_file(inside, name, path, None)
        return _FILE_MODE
    check_file(inside, name, path, found)
    there = found.st_mode
    if stat.S_ISLNK(there):
        raise _link(path, name)
    if not stat.S_ISREG(there):
        raise _no_file(path)
    return stat.S_IMODE(there) & _NO_PROGRAM


@contextmanager
def _explained(path: str, inside: int, name: str) -> Iterator[None]:
    details: dict[str, JsonValue] = {"path": path}
    try:
        yield
    except FileNotFoundError as error:
        message = f"there is no {name!r} on the way to {path!r} in files_root; write it first, or correct the path"
        raise ActionFailed("FILE_NOT_FOUND", message, details=details) from error
    except OSError as error:
        with suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode):
                raise _link(path, name) from error
        if isinstance(error, NotADirectoryError | IsADirectoryError):
            raise _no_file(path) from error
        message = f"the file {path!r} in files_root can't be used: {error.strerror}"
        raise ActionFailed("FILE_REFUSED", message, details=details) from error


def _root_refused(root: str, reason: str) -> ActionFailed:
    message = (
        f"files_root {root!r} can't be used: {reason}; give the project a folder of its own for files: "
        "wonder project set files_root FOLDER"
    )
    return ActionFailed("FILES_ROOT_REFUSED", message, details={"files_root": root})


def _link(path: str, name: str) -> ActionFailed:
    message = f"{name!r} in {path!r} is a symbolic link, which is not followed; use the place it leads to"
    return ActionFailed("PATH_OUTSIDE", message, details={"path": path})


def _no_file(path: str) -> ActionFailed:
    message = f"{path!r} in files_root is not a regular file in a folder; correct the path"
    return ActionFailed("NOT_A_FILE", message, details={"path": path})


def _too_large(path: str) -> ActionFailed:
    message = f"the file {path!r} is larger than {BYTES_MAX:,} bytes; make it smaller, or store it as an artifact"
    return ActionFailed("FILE_TOO_LARGE", message, details={"path": path, "bytes_max": BYTES_MAX})
