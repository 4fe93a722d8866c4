"""Shared tables: one fits the rows of many definitions, whatever their schemas call the columns (CTX-2).

A shared table has 0, 4, 8, 16 … columns each for integers, floats and texts, and a definition uses those that it needs.
So there are few such tables, however many shapes of contexts there are: 54 for 10,000 different ones. An unused cell is
NULL, which takes one byte.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from wonder.context.columns import Column, ColumnKind
from wonder.context.names import Names

# No view is called so: their names begin with `context_`.
PREFIX: Final = "contexts"
_GROUPS: Final[dict[ColumnKind, ColumnKind]] = {
    "integer": "integer",
    "boolean": "integer",
    "number": "number",
    "string": "string",
    "json": "string",
}
_LEAST: Final = 4
_WORDS: Final[dict[ColumnKind, str]] = {"integer": "integer", "number": "real", "string": "text"}


def shared_columns(columns: Sequence[Column]) -> list[Column]:
    """Give each column one of the shared table: the next of its type."""
    used: Counter[ColumnKind] = Counter()
    shared: list[Column] = []
    for column in columns:
        group = _GROUPS[column.kind]
        used[group] += 1
        shared.append(msgspec.structs.replace(column, stored=_name(group, used[group])))
    return shared


def shared_name(tables: Names, depth: int, columns: Sequence[Column]) -> str:
    """Name the shared table that these columns fit in, and that no other list of the same definition has."""
    return tables.give(PREFIX, str(depth), *[str(size) for size in _sizes(columns).values()])


def all_columns(columns: Sequence[Column]) -> list[Column]:
    """Give all columns of the shared table that these fit in."""
    sizes = _sizes(columns).items()
    names = [(_name(group, number), group) for group, size in sizes for number in range(1, size + 1)]
    return [Column(name, group, (), name) for name, group in names]


def _sizes(columns: Sequence[Column]) -> dict[ColumnKind, int]:
    """Say how many columns of each type a table has: none, or the next power of two, which is at least four."""
    used = Counter(_GROUPS[column.kind] for column in columns)
    return {group: max(_LEAST, 1 << (used[group] - 1).bit_length()) if used[group] else 0 for group in _WORDS}


def _name(group: ColumnKind, number: int) -> str:
    return f"{_WORDS[group]}_{number}"
