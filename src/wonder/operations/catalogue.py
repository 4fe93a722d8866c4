"""All operations there are, and calls by name, for doors that offer every one of them."""

from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import wonder.operations
from wonder.app.application import Application
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.operations.declaring import DatabaseOperation, Declared, Operation, Stream, declared, place_of
from wonder.operations.outputs import as_json


def all_operations() -> dict[str, Declared[Any, Any]]:
    """Import every module of this room, and give what they declare, in the order of its names."""
    for module in iter_modules(wonder.operations.__path__):
        import_module(f"wonder.operations.{module.name}")
    return dict(sorted(declared().items()))


class UnknownOperation(WonderError):
    """No operation has this name."""

    code = "UNKNOWN_OPERATION"

    def __init__(self, name: str, near: list[str]) -> None:
        meant = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(
            f"there is no operation {name!r}; {meant}wonder.operations.catalogue.all_operations() lists them"
        )
        self.name = name


async def call(application: Application, name: str, /, **given: JsonValue) -> JsonValue:
    """Call an operation of an open application, such as `runs.list`; return its output as `--json` prints it.

    A stream returns the list of its items. Raises UnknownOperation, InputNotAccepted, or what the operation raises.
    """
    known = all_operations()
    match known.get(name):
        case Operation() as one:
            return as_json(await one(application, one.read(given)))
        case Stream() as one:
            return [as_json(item) async for item in one(application, one.read(given))]
        case DatabaseOperation() as one:
            return as_json(await one(place_of(application), one.read(given)))
        case _:
            raise UnknownOperation(name, get_close_matches(name, known, n=1))
