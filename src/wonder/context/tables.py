"""Tables: one generated table, the statements that write its rows, and how a row becomes a value again."""
# ruff: noqa: S608  # this room writes SQL: every identifier in it is quoted, every value a parameter

from collections.abc import Sequence
from typing import Final

from wonder.context.columns import REST, RUN_ID, Column
from wonder.context.names import quote
from wonder.context.rows import NOTHING, BrokenContext, Changed, Field, Key, Parameters, RowChange, Sink, read_json
from wonder.context.scalars import Cell
from wonder.language.values import JsonValue, encode_json

# Every set of columns that changes together has its own UPDATE; a run that always changes others must not fill memory.
_MAX_UPDATES: Final = 1_000


class Table:
    """One generated table: a row per run, or per element of a list in it.

    `made_of` are its columns where it has others than those which this definition uses: then definitions share it.
    """

    def __init__(
        self,
        name: str,
        path: tuple[str, ...],
        depth: int,
        columns: Sequence[Column],
        root: Field,
        lists: "Sequence[Table]",
        made_of: Sequence[Column] | None = None,
    ) -> None:
        self.name = name
        # Where its list stands in the value of the row around it; () for a list that is itself an element.
        self.path = path
        self.columns = tuple(columns)
        self.made_of = tuple(columns if made_of is None else made_of)
        self.is_shared = made_of is not None
        self.lists = tuple(lists)
        self.key = (RUN_ID, *position_names(depth))
        self.root = root
        self._names = (*self.key, *[column.stored for column in columns], REST)
        places = ", ".join(f"${number}" for number in range(1, len(self._names) + 1))
        self._insert = f"INSERT INTO {quote(name)} ({self.listed}) VALUES ({places})"
        self._updates: dict[tuple[int, ...], str] = {}
        self._deletes = [table.delete_from(depth) for table in self.descendants()] if depth else []

    @property
    def listed(self) -> str:
        """All columns as SQL, in the order in which rows are written and read."""
        return ", ".join(map(quote, self._names))

    def descendants(self) -> "list[Table]":
        """This table and all below it, parents first."""
        return [self, *[found for table in self.lists for found in table.descendants()]]

    def insert(self, key: Key, value: JsonValue, sink: Sink) -> None:
        """Note the row of a value, and the rows of all lists in it."""
        sink.setdefault(self._insert, []).append(self._row(key, value, sink))

    def insert_elements(self, key: Key, elements: Sequence[JsonValue], start: int, sink: Sink) -> None:
        """Note the rows of a list's elements from a position on."""
        rows = sink.setdefault(self._insert, [])
        for position in range(start, len(elements)):
            rows.append(self._row((*key, position), elements[position], sink))

    def delete_elements(self, key: Key, start: int, sink: Sink) -> None:
        """Note that a list's rows from a position on go, with all rows below them."""
        for statement in self._deletes:
            sink.setdefault(statement, []).append((*key, start))

    def compare(self, key: Key, old: JsonValue, new: JsonValue, changed: Changed, sink: Sink) -> None:
        """Note what must be written so that this row holds the new value: nothing, or one UPDATE of what differs."""
        change = RowChange()
        self.root.compare(old, new, changed, change, key, sink)
        columns, cells = change.columns, change.cells
        if len(columns) > 1:
            # One order, so that the same columns always make the same text.
            columns, cells = map(list, zip(*sorted(zip(columns, cells, strict=True), key=_first), strict=True))
        if change.rest:
            columns.append(len(self.columns))
            cells.append(self._rest(key, new))
        elif not columns:
            return
        chosen = tuple(columns)
        statement = self._updates.get(chosen) or self._update(chosen)
        sink.setdefault(statement, []).append((*key, *cells))

    def value(self, row: Sequence[Cell]) -> JsonValue:
        """Give the value that a row holds; its lists still lack their elements."""
        width = len(self.key)
        try:
            rest = NOTHING if row[-1] is None else read_json(str(row[-1]))
            value = self.root.take(row[width:-1], rest)
        except ValueError as error:
            raise BrokenContext(self.name, row[:width], str(error)) from None
        return None if value is NOTHING else value

    def delete_from(self, depth: int) -> str:
        """The statement that deletes rows by the first positions of their key, from the last of those on."""
        wheres = [f"{quote(name)} = ${n}" for n, name in enumerate(self.key[:depth], 1)]
        wheres.append(f"{quote(self.key[depth])} >= ${depth + 1}")
        return f"DELETE FROM {quote(self.name)} WHERE {' AND '.join(wheres)}"

    def _row(self, key: Key, value: JsonValue, sink: Sink) -> Parameters:
        cells: list[Cell] = [None] * len(self.columns)
        rest = self.root.put(value, cells, key, sink)
        return (*key, *cells, None if rest is NOTHING else encode_json(rest))

    def _rest(self, key: Key, value: JsonValue) -> str | None:
        rest = self.root.put(value, [None] * len(self.columns), key, None)
        return None if rest is NOTHING else encode_json(rest)

    def _update(self, columns: tuple[int, ...]) -> str:
        width = len(self.key)
        sets = [f"{quote(self._names[width + column])} = ${width + n}" for n, column in enumerate(columns, 1)]
        wheres = [f"{quote(name)} = ${n}" for n, name in enumerate(self.key, 1)]
        statement = f"UPDATE {quote(self.name)} SET {', '.join(sets)} WHERE {' AND '.join(wheres)}"
        if len(self._updates) >= _MAX_UPDATES:
            self._updates.clear()
        self._updates[columns] = statement
        return statement


def position_names(depth: int) -> list[str]:
    """The key columns of a table that is so many lists deep: the positions around it, then its own."""
    return [*[f"position_{n}" for n in range(1, depth)], "position"] if depth else []


def _first(pair: tuple[int, Cell]) -> int:
    return pair[0]
