"""What is on disk for the engine alone, and where it imports code from: no action's files are among them.

A reader of the key could open every secret, and a writer of the database or the code could act as anybody. A
`files_root` that overlaps such a place is refused (files_root.py); here each file is checked as well, by device and
inode, because a hard link or a mount inside of files_root may lead to one.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wonder.actions.protocol import ActionFailed

# Behind a database's name stands what belongs to it: orders.db-wal, orders.db.lock; behind a key's, one being written.
_BEHIND: Final = ("-", ".")
# What the next command that is started in the same folder would obey.
_OBEYED: Final = ("wonder.toml", ".wonder")

_private: list[Path] = []
_code: list[Path] = []


@contextmanager
def kept_private(places: Sequence[Path], code: Sequence[Path] = ()) -> Iterator[None]:
    """Keep actions of this process out of the engine's files and folders and of code, as long as they are in use."""
    # Absolute, because the working directory may change.
    kept, imported = ([place.absolute() for place in some] for some in (places, code))
    _private.extend(kept)
    _code.extend(imported)
    try:
        yield
    finally:
        for place in kept:
            _private.remove(place)
        for place in imported:
            _code.remove(place)


def engine_places() -> tuple[Path, ...]:
    """Give the files and folders that the engines of this process keep for themselves."""
    return tuple(_private)


def code_folders() -> tuple[Path, ...]:
    """Give the folders that the engines of this process import modules from, beside Python's own path."""
    return tuple(_code)


def check_folder(descriptor: int, path: str) -> None:
    """Raise ActionFailed if an open folder is one of the engine's."""
    found = os.fstat(descriptor)
    if any(_is_same(place, found) for place in _private):
        raise _refused(path)


def check_file(inside: int, name: str, path: str, found: os.stat_result | None) -> None:
    """Raise ActionFailed if a file in an open folder is one of the engine's, or would be if it were there."""
    # Whatever the case: not every file system heeds it.
    if name.casefold() in _OBEYED:
        raise _refused(path)
    folder = os.fstat(inside)
    for place in _private:
        if found is not None and _is_same(place, found):  # under whatever name
            raise _refused(path)
        belongs = name == place.name or (name.startswith(place.name) and name[len(place.name)] in _BEHIND)
        if belongs and _is_same(place.parent, folder):
            raise _refused(path)


def _is_same(place: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(place.stat(), found)
    except OSError:
        return False  # It is not there yet, so nothing is it.


def _refused(path: str) -> ActionFailed:
    message = (
        f"{path!r} in files_root belongs to the engine itself (its settings, database, key or stored objects), which "
        "no action may use; use another place, or move files_root to a folder without them"
    )
    return ActionFailed("PATH_PRIVATE", message, details={"path": path})
