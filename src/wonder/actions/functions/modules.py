"""Importing the modules of `python` actions, from folders that are not on Python's own path if need be."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from wonder.actions.files.files_root import is_in_folder
from wonder.actions.protocol import ActionFailed


class FoundModule(NamedTuple):
    """Where a module is, as far as that is known without importing it."""

    is_absent: bool
    source: str | None
    """The file of its source, if it has one."""


class Folders:
    """Folders that modules are looked for in, in this order."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.paths = tuple(dict.fromkeys(str(folder.resolve()) for folder in folders))

    def has(self, module_name: str) -> bool:
        """Say whether a module, or the package that it is in, is in one of the folders."""
        return self._spec(module_name) is not None

    def load(self, module_name: str, files_root: str | None = None) -> ModuleType:
        """Import a module, from the folders if it is there, else as Python does; raises whatever its code raises.

        Nothing in `files_root`, where actions write, is imported: ActionFailed.
        """
        if spec := self._spec(module_name):
            _check_apart(spec, files_root)
            # At the end: a file of the user's called json.py must not become everybody's json.
            sys.path.extend(path for path in self.paths if path not in sys.path)
            loaded = sys.modules.get(spec.name)
            if loaded is None:
                _load(spec)
            elif (there := getattr(loaded, "__file__", None)) != spec.origin:
                message = f"{spec.origin} can't be imported, because {spec.name} is already {there}; rename the file"
                raise ActionFailed("FUNCTION_IMPORT_FAILED", message, details={"module": spec.name})
        return _imported(module_name, files_root)

    def found(self, module_name: str, *, or_elsewhere: bool = False) -> "FoundModule":
        """Find a module without importing anything, not even the package that it is in.

        With `or_elsewhere`, it is found on Python's own path if it is not in the folders.
        """
        top, *inside = module_name.split(".")
        spec, name = self._spec(top), top
        if spec is None and or_elsewhere:
            try:
                spec = importlib.util.find_spec(top)
            except ValueError:  # It is imported, and does not say from where.
                return FoundModule(False, None)
        for part in inside:
            name = f"{name}.{part}"
            places = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(name, list(places)) if places else None
        is_source = spec is not None and spec.has_location and (spec.origin or "").endswith(".py")
        return FoundModule(spec is None, spec.origin if spec and is_source else None)

    def _spec(self, module_name: str) -> ModuleSpec | None:
        if not self.paths:
            return None
        return PathFinder.find_spec(module_name.partition(".")[0], list(self.paths))


def _imported(module_name: str, files_root: str | None) -> ModuleType:
    """Import a package and what is inside of it one by one, each only when it is known where it is."""
    parts = module_name.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        _check_apart(importlib.util.find_spec(name), files_root)
        module = importlib.import_module(name)
    return module


def _check_apart(spec: ModuleSpec | None, files_root: str | None) -> None:
    if spec is None or files_root is None:
        return
    for location in (spec.origin if spec.has_location else None, *(spec.submodule_search_locations or ())):
        if location and is_in_folder(location, files_root):
            message = (
                f"{location} is in files_root {files_root!r}, where actions write, so it is never imported; keep "
                "modules elsewhere, or set another folder: wonder project set files_root FOLDER"
            )
            raise ActionFailed("FUNCTION_IMPORT_FAILED", message, details={"module": spec.name})


def _load(spec: ModuleSpec) -> None:
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        if spec.loader:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
