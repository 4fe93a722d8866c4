"""What is on disk for the engine alone: its database, its key and its objects, which no action's files are among.

A project's `files_root` may hold them, as a folder with an application and its `.wonder` does. Whoever reads the key
could open every secret, and whoever writes the database could be anybody.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wonder.actions.protocol import ActionFailed

# Behind a database's name stands what belongs to it: orders.db-wal, orders.db.lock; behind a key's, one being written.
_BEHIND: Final = ("-", ".")

_private: list[Path] = []


@contextmanager
def kept_private(places: Sequence[Path]) -> Iterator[None]:
    """Keep actions of this process out of files and folders, for as long as they are in use."""
    # Absolute, because the working directory may change.
    kept = [place.absolute() for place in places]
    _private.extend(kept)
    try:
        yield
    finally:
        for place in kept:
            _private.remove(place)


def check_folder(descriptor: int, path: str) -> None:
    """Raise ActionFailed if an open folder is one of the engine's."""
    found = os.fstat(descriptor)
    if any(_is_same(place, found) for place in _private):
        raise _refused(path)


def check_file(inside: int, name: str, path: str, found: os.stat_result | None) -> None:
    """Raise ActionFailed if a file in an open folder is one of the engine's, or would be if it were there."""
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
        f"{path!r} in files_root belongs to the engine itself (its database, its key, or what it has stored), which no "
        "action may use; use another place, or move files_root to a folder without them"
    )
    return ActionFailed("PATH_PRIVATE", message, details={"path": path})
