"""Fields: how each spot of a value is laid out in its row: a scalar, an object, a list with a table, or JSON.

What the cells and child rows of a row can't say is its rest: the same value with everything left out that they do say.
So an ordinary row has none, `{"note": null}` is a null that is there, and `{"tags": []}` a list without elements. The
marks `{}` and `[]` only say that something is there, so they may outlive the moment when cells or rows say so too:
that spares the row of a list which gets its first element. Removing a value always writes the rest anew.
"""

from collections.abc import Sequence
from itertools import compress
from operator import is_not
from typing import Any, Final

from wonder.context.rows import NOTHING, Changed, Field, Key, Maybe, RowChange, Sink, read_json, same
from wonder.context.scalars import Cell, ScalarType
from wonder.context.tables import Table
from wonder.language.values import JsonValue, encode_json

_NO_MEMBERS: Final[dict[Any, JsonValue]] = {}
_NO_ELEMENTS: Final[list[JsonValue]] = []


class ScalarField:
    """One typed column."""

    __slots__ = ("_always", "_column", "_decode", "_encode")

    def __init__(self, column: int, scalar: ScalarType, *, always: bool) -> None:
        self._column, self._encode, self._decode = column, scalar.encode, scalar.decode
        # A spot that always has a value, such as an element of a list: there an empty cell means null.
        self._always = always

    def put(self, value: JsonValue, cells: list[Cell], key: Key, sink: Sink | None) -> Maybe:
        cell, exact = self._cell(value)
        cells[self._column] = cell
        return NOTHING if exact else value

    def take(self, cells: Sequence[Cell], rest: Maybe) -> Maybe:
        if rest is not NOTHING:
            return rest
        cell = cells[self._column]
        if cell is None:
            return None if self._always else NOTHING
        return self._decode(cell)

    def compare(self, old: Maybe, new: Maybe, changed: Changed, change: RowChange, key: Key, sink: Sink) -> None:
        cell, exact = self._cell(new)
        old_cell, old_exact = self._cell(old)
        if cell != old_cell:
            change.columns.append(self._column)
            change.cells.append(cell)
        if not (exact and old_exact) and not same(old, new):
            change.rest = True

    def _cell(self, value: Maybe) -> tuple[Cell, bool]:
        if value is NOTHING:
            return None, True
        if value is None:
            return None, self._always
        return self._encode(value)


class OpenField:
    """One JSON column: an empty cell is nothing, the text `null` is null."""

    __slots__ = ("_column",)

    def __init__(self, column: int) -> None:
        self._column = column

    def put(self, value: JsonValue, cells: list[Cell], key: Key, sink: Sink | None) -> Maybe:
        # Without a sink only the rest is asked for, and encoding a large value for it would be in vain.
        if sink is not None:
            cells[self._column] = encode_json(value)
        return NOTHING

    def take(self, cells: Sequence[Cell], rest: Maybe) -> Maybe:
        cell = cells[self._column]
        return NOTHING if cell is None else read_json(str(cell))

    def compare(self, old: Maybe, new: Maybe, changed: Changed, change: RowChange, key: Key, sink: Sink) -> None:
        if not same(old, new):
            change.columns.append(self._column)
            change.cells.append(None if new is NOTHING else encode_json(new))


class ObjectField:
    """An object whose known properties are fields of the same row; any other property is in the rest."""

    __slots__ = ("_always", "_members")

    def __init__(self, members: dict[str, Field], *, always: bool) -> None:
        self._members = members
        self._always = always

    def put(self, value: JsonValue, cells: list[Cell], key: Key, sink: Sink | None) -> Maybe:
        if not isinstance(value, dict):
            return value
        rest: dict[str, JsonValue] = {}
        for name, member in value.items():
            field = self._members.get(name)
            left = member if field is None else field.put(member, cells, key, sink)
            if left is not NOTHING:
                rest[name] = left
        return rest if rest or not (value or self._always) else NOTHING

    def take(self, cells: Sequence[Cell], rest: Maybe) -> Maybe:
        if rest is NOTHING:
            left = _NO_MEMBERS
        elif isinstance(rest, dict):
            left = rest
        else:
            return rest
        value: dict[str, JsonValue] = {}
        for name, field in self._members.items():
            member = field.take(cells, left.get(name, NOTHING))
            if member is not NOTHING:
                value[name] = member
        value |= {name: member for name, member in left.items() if name not in self._members}
        return value if value or self._always or rest is not NOTHING else NOTHING

    def compare(self, old: Maybe, new: Maybe, changed: Changed, change: RowChange, key: Key, sink: Sink) -> None:
        was: dict[Any, JsonValue] = old if isinstance(old, dict) else _NO_MEMBERS
        now: dict[Any, JsonValue] = new if isinstance(new, dict) else _NO_MEMBERS
        members: dict[Any, Field] = self._members
        if changed is None or was is not old or now is not new:
            changed = dict.fromkeys([*now, *was])
        for name, below in changed.items():
            before, after = was.get(name, NOTHING), now.get(name, NOTHING)
            if before is not after:
                field = members.get(name)
                if field is not None:
                    field.compare(before, after, below, change, key, sink)
                elif not same(before, after):
                    change.rest = True
        if _rest_tells(old, new, was, now, always=self._always):
            change.rest = True


class ListField:
    """A list whose elements are the rows of a table of its own."""

    __slots__ = ("_always", "_table")

    def __init__(self, table: Table, *, always: bool) -> None:
        self._table = table
        self._always = always

    def put(self, value: JsonValue, cells: list[Cell], key: Key, sink: Sink | None) -> Maybe:
        if not isinstance(value, list):
            return value
        if not value:
            return NOTHING if self._always else value
        if sink is not None:
            self._table.insert_elements(key, value, 0, sink)
        return NOTHING

    def take(self, cells: Sequence[Cell], rest: Maybe) -> Maybe:
        if rest is NOTHING and self._always:
            return []
        return rest

    def compare(self, old: Maybe, new: Maybe, changed: Changed, change: RowChange, key: Key, sink: Sink) -> None:
        was = old if isinstance(old, list) else _NO_ELEMENTS
        now = new if isinstance(new, list) else _NO_ELEMENTS
        common = min(len(was), len(now))
        if changed is None or was is not old or now is not new:
            changed = dict.fromkeys(compress(range(common), map(is_not, was, now)))
        for position, below in changed.items():
            if isinstance(position, int) and 0 <= position < common and was[position] is not now[position]:
                self._table.compare((*key, position), was[position], now[position], below, sink)
        if len(now) > common:
            self._table.insert_elements(key, now, common, sink)
        elif len(was) > common:
            self._table.delete_elements(key, common, sink)
        if _rest_tells(old, new, was, now, always=self._always):
            change.rest = True


def _rest_tells(
    old: Maybe,
    new: Maybe,
    was: dict[Any, JsonValue] | list[JsonValue],
    now: dict[Any, JsonValue] | list[JsonValue],
    *,
    always: bool,
) -> bool:
    """Say whether a container, or what stands in its place, has to be said by the rest now, or no longer."""
    if new is not now:
        return not same(old, new)  # gone with any mark of it, or replaced by what is no such container
    if old is not was:
        return old is not NOTHING or not (now or always)
    return bool(was) and not (now or always)
