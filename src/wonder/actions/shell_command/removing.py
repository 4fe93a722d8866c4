"""Removing a folder with all that is in it, however deep that is."""

import os
import stat
from contextlib import suppress
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: str) -> None:
    """Remove a folder, as far as that is possible; no symbolic link is followed.

    Not by `shutil.rmtree`: it fails at a depth of a thousand, or opens as many folders at once.
    """
    with suppress(OSError):
        _empty(path)
    with suppress(OSError):
        os.rmdir(path)  # noqa: PTH106  # with the rest of its kind


def _empty(path: str) -> None:
    """Empty a folder, with one folder open at a time: the way back is `..`, if that is still where we came from."""
    inside = os.open(path, _FOLDER)
    way: list[tuple[str, os.stat_result]] = []
    kept: set[tuple[int, int, str]] = set()
    try:
        while True:
            here = os.fstat(inside)
            found = _first_folder(inside, {name for device, node, name in kept if (device, node) == _id(here)})
            if found is not None:
                try:
                    inner = _open(inside, found)
                except OSError:
                    kept.add((*_id(here), found))
                    continue
                way.append((found, here))
            else:
                if not way:
                    return
                name, above = way.pop()
                inner = os.open("..", _FOLDER, dir_fd=inside)
                if _id(os.fstat(inner)) != _id(above):
                    os.close(inner)
                    return  # Somebody has moved it meanwhile.
                try:
                    os.rmdir(name, dir_fd=inner)
                except OSError:
                    kept.add((*_id(above), name))
            os.close(inside)
            inside = inner
    finally:
        os.close(inside)


def _first_folder(inside: int, kept: set[str]) -> str | None:
    """Remove all files of a folder, and give the first folder in it."""
    with os.scandir(inside) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    folders = []
    for name, is_folder in names:
        if is_folder:
            folders.append(name)
        else:
            with suppress(OSError):
                os.unlink(name, dir_fd=inside)
    return next((name for name in folders if name not in kept), None)


def _open(inside: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=inside)
    except PermissionError:
        # Its owner, which we are, may always change that.
        os.chmod(name, stat.S_IRWXU, dir_fd=inside)
        return os.open(name, _FOLDER, dir_fd=inside)


def _id(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
