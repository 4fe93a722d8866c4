"""What a program gives `wonder.open`: modules by name or themselves, folders as text or paths."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


def module_names(modules: Iterable[str | ModuleType]) -> list[str]:
    """Return the names of modules; raises TypeError if one is neither a name nor a module."""
    if isinstance(modules, str | ModuleType):
        raise TypeError(f"modules must be a list, such as [{_shown(modules)}]; it is {_shown(modules)}")
    return [_module_name(module) for module in modules]


def folder_paths(argument: str, folders: Iterable[str | Path]) -> list[Path]:
    """Return folders as paths; raises TypeError if one is neither a text nor a path."""
    if isinstance(folders, str | os.PathLike):
        raise TypeError(f"{argument} must be a list of folders, such as [{str(folders)!r}]; it is {folders!r}")
    return [_folder_path(argument, folder) for folder in folders]


def _module_name(module: object) -> str:
    if isinstance(module, ModuleType):
        if sys.modules.get(module.__name__) is not module:
            raise TypeError(f"modules holds {module!r}, which 'import {module.__name__}' does not give; import it so")
        return module.__name__
    if isinstance(module, str):
        return module
    raise TypeError(f"modules holds {module!r}; give the module itself or its name, such as 'orders'")


def _folder_path(argument: str, folder: object) -> Path:
    if isinstance(folder, str | os.PathLike):
        return Path(folder)
    raise TypeError(f"{argument} holds {folder!r}; give a folder as text or as a pathlib.Path")


def _shown(module: str | ModuleType) -> str:
    return module.__name__ if isinstance(module, ModuleType) else repr(module)
