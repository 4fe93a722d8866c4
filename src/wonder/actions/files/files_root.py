"""Where a project's `files_root` may be: apart from all code, and from what the engine keeps for itself.

What actions write there must never be run as code or read as settings by this process or the next one.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from wonder.actions.files.private_places import code_folders, engine_places

PACKAGE: Final = "__init__.py"


def refusal_of(root: str) -> str | None:
    """Say why a folder can't be the files_root of a project that this process runs, or None if it can."""
    # The working directory too: wonder.toml is read there, and programs that are named by a relative path are found.
    path = (os.getcwd(), *sys.path)  # noqa: PTH109  # these are compared with each call
    # To look at all of them takes some milliseconds, so it is done again only when one of these has changed.
    return _refusal(root, _identity(root), path, code_folders(), engine_places(), len(sys.modules))


@lru_cache(maxsize=100)
def _refusal(
    root: str,
    identity: tuple[int, int] | None,
    path: tuple[str, ...],
    imported: tuple[Path, ...],
    engine: tuple[Path, ...],
    modules: int,
) -> str | None:
    folder = _real(root)
    code = list(dict.fromkeys(_real(place) for place in (*imported, *map(Path, path))))
    for place in code:
        if _is_inside(place, folder):
            return f"it is or contains {place}, from which Python modules are imported"
    for name in _loaded_files():
        if name.startswith(f"{folder}/"):
            return f"it contains {name}, a module that this process has imported"
    for place in _library_folders():
        if _is_inside(folder, place):
            return f"it is in {place}, which contains Python's own modules"
    if package := _package_around(folder, code):
        return f"{package} is a Python package (it has an {PACKAGE}) in a folder from which modules are imported"
    for place in map(_real, engine):
        if _is_inside(place, folder) or _is_inside(folder, place):
            return f"it overlaps {place}, which Wonder keeps for itself (database, key, stored objects)"
    return None


def is_in_folder(location: str, root: str) -> bool:
    """Say whether a file or folder is inside a root, wherever links lead."""
    return _is_inside(_real(location), _real(root))


def _real(path: Path | str) -> Path:
    """Give a path without links. Unlike Path.resolve, this raises nothing for links that lead to themselves."""
    return Path(os.path.realpath(path))


def _is_inside(inner: Path, outer: Path) -> bool:
    """Say whether a place is a folder or in it; both are without links."""
    if inner.is_relative_to(outer):
        return True
    # A bind mount, or a file system that ignores case, has other names for the same folder.
    identity = _identity(outer)
    return identity is not None and any(_identity(folder) == identity for folder in (inner, *inner.parents))


def _identity(folder: Path | str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)  # noqa: PTH116  # of a text too, with each call
    except OSError:
        return None
    return found.st_dev, found.st_ino


@cache
def _library_folders() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(dict.fromkeys(_real(sysconfig.get_path(name)) for name in names))


def _loaded_files() -> Iterator[str]:
    for module in list(sys.modules.values()):
        # Not asked for as an attribute: some objects in this table import more when they are.
        name = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(name, str):
            yield name


def _package_around(folder: Path, code: Iterable[Path]) -> Path | None:
    """Find a package that a folder is, or is in, below a folder that code is imported from."""
    tops = set(code)
    if not any(folder.is_relative_to(top) for top in tops):
        return None
    for place in (folder, *folder.parents):
        if place in tops:
            return None
        if _identity(place / PACKAGE) is not None:
            return place
    return None
