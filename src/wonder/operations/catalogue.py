"""All operations there are, for doors that offer every one of them."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import wonder.operations
from wonder.operations.declaring import Declared, declared


def all_operations() -> dict[str, Declared[Any, Any]]:
    """Import every module of this room, and give what they declare, in the order of its names."""
    for module in iter_modules(wonder.operations.__path__):
        import_module(f"wonder.operations.{module.name}")
    return dict(sorted(declared().items()))
