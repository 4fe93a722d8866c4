"""Plain paths, names and indexes only, made into functions that fetch their value from a document."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, TypeAlias

from wonder.language.values import JsonValue

Path: TypeAlias = tuple[str | int, ...]


class Missing(Enum):
    """The type of MISSING, which means that nothing was found: null is a value, this is not."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING

Getter: TypeAlias = Callable[[JsonValue], JsonValue | Missing]


def getter(path: Path) -> Getter:
    """Return the function that fetches the value at a path; a negative index counts from the end."""
    if any(isinstance(segment, int) for segment in path):
        return _checked(path)
    match path:
        case ():
            return lambda root: root
        case (first,):
            return _one(first)
        case (first, second):
            return _two(first, second)
        case (first, second, third):
            return _three(first, second, third)
        case _:
            return _many(path)


# A name asked of anything but an object raises TypeError, so these need no look at what they walk through. An index
# would also be answered by a text: hence `_checked` for paths that have one.


def _one(first: str | int) -> Getter:
    def find(root: Any) -> JsonValue | Missing:
        try:
            return root[first]  # type: ignore[no-any-return]  # whatever is in a document is JSON
        except (KeyError, TypeError):
            return MISSING

    return find


def _two(first: str | int, second: str | int) -> Getter:
    def find(root: Any) -> JsonValue | Missing:
        try:
            return root[first][second]  # type: ignore[no-any-return]  # whatever is in a document is JSON
        except (KeyError, TypeError):
            return MISSING

    return find


def _three(first: str | int, second: str | int, third: str | int) -> Getter:
    def find(root: Any) -> JsonValue | Missing:
        try:
            return root[first][second][third]  # type: ignore[no-any-return]  # whatever is in a document is JSON
        except (KeyError, TypeError):
            return MISSING

    return find


def _many(names: Path) -> Getter:
    def find(root: Any) -> JsonValue | Missing:
        try:
            for name in names:
                root = root[name]
        except (KeyError, TypeError):
            return MISSING
        return root  # type: ignore[no-any-return]  # whatever is in a document is JSON

    return find


def _checked(path: Path) -> Getter:
    def find(root: JsonValue) -> JsonValue | Missing:
        value = root
        for segment in path:
            if isinstance(segment, str):
                if not isinstance(value, dict) or segment not in value:
                    return MISSING
                value = value[segment]
            else:
                if not isinstance(value, list) or not -len(value) <= segment < len(value):
                    return MISSING
                value = value[segment]
        return value

    return find
