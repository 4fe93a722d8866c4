"""Rows: the words that tables and their fields share: a row's key and cells, what changed in it, and nothing at all."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from math import copysign
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from wonder.context.scalars import Cell
from wonder.errors import WonderError
from wonder.language.values import JsonValue


class BrokenContext(WonderError):
    """The rows of a run's context don't belong together, so another hand than Wonder's has changed them."""

    code = "BROKEN_CONTEXT"

    def __init__(self, table: str, key: Sequence[object], reason: str) -> None:
        super().__init__(
            f"row {tuple(key)!r} of the context table {table!r} is broken: {reason}; restore the table from a backup"
        )
        self.table, self.key, self.reason = table, tuple(key), reason


class Nothing(Enum):
    """The mark for a value that is absent, which null is not."""

    NOTHING = "nothing"


NOTHING: Final = Nothing.NOTHING
Maybe: TypeAlias = JsonValue | Literal[Nothing.NOTHING]

# The run's id and the positions in the lists around the row, outermost first.
Key: TypeAlias = tuple[str | int, ...]
Parameters: TypeAlias = tuple[Cell, ...]
# SQL text to the rows of parameters that it is to be run with.
Sink: TypeAlias = dict[str, list[Parameters]]
# Ordered statements, each with its rows of parameters; every row begins with its run's id.
Writes: TypeAlias = list[tuple[str, list[Parameters]]]
# The places that may have changed, as a tree of keys and positions; None means anything from here on.
Changed: TypeAlias = Mapping[str | int, "Changed"] | None


class RowChange:
    """What has changed in one row: columns with their new cells, and whether its rest must be written anew."""

    __slots__ = ("cells", "columns", "rest")

    def __init__(self) -> None:
        self.columns: list[int] = []
        self.cells: list[Cell] = []
        self.rest = False


class Field(Protocol):
    """The way that one spot of a value is laid out in its row, and in child tables below it."""

    def put(self, value: JsonValue, cells: list[Cell], key: Key, sink: Sink | None) -> Maybe:
        """Fill in the cells and rows of a value, and return what they leave unsaid; without a sink, make no rows."""

    def take(self, cells: Sequence[Cell], rest: Maybe) -> Maybe:
        """Read the value back from its cells and what they left unsaid; lists still lack their rows."""

    def compare(self, old: Maybe, new: Maybe, changed: Changed, change: RowChange, key: Key, sink: Sink) -> None:
        """Note all that must be written so that the new value stands where the old one stood."""


def same(one: Maybe, other: Maybe) -> bool:
    """Say whether two values are the same JSON: 1, 1.0 and true are three values, and so are 0.0 and -0.0 two."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(name in other and same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other and copysign(1, one) == copysign(1, other)
    return one == other


def read_json(text: str) -> JsonValue:
    """Read JSON that encode_json wrote, so without the checks of what comes in; ValueError if it is no JSON."""
    try:
        value: JsonValue = msgspec.json.decode(text)
    except ValueError:  # an integer of more digits than msgspec reads
        value = _LONG_INTEGERS.decode(text)
    return value


def _read_integer(digits: str) -> int:
    return int(Decimal(digits))


_LONG_INTEGERS: Final = json.JSONDecoder(parse_int=_read_integer)
