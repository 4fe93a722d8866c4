"""Reading back: the rows of all tables become the contexts that were written (CTX-4)."""

from collections.abc import Iterator, Sequence
from typing import Any

from wonder.context.rows import BrokenContext, Key
from wonder.context.tables import Table
from wonder.language.values import JsonValue


def read_contexts(main: Table, answers: Sequence[Sequence[Sequence[Any]]]) -> dict[str, dict[str, JsonValue]]:
    """Put contexts together, by run id, out of the rows of each table, in the tables' order and by key."""
    rows = iter(answers)
    contexts: dict[Key, JsonValue] = {(str(row[0]),): main.value(row) for row in next(rows)}
    for table in main.lists:
        _read_lists(table, rows, contexts)
    return {str(key[0]): context for key, context in contexts.items() if isinstance(context, dict)}


def _read_lists(table: Table, answers: Iterator[Sequence[Sequence[Any]]], around: dict[Key, JsonValue]) -> None:
    """Append a table's rows to the lists that they belong to, then go on to the tables below it."""
    width = len(table.key)
    values: dict[Key, JsonValue] = {}
    current: Key = ()
    elements: list[JsonValue] = []
    for row in next(answers):
        key: Key = tuple(row[:width])
        if key[:-1] != current:
            current = key[:-1]
            elements = _list_at(table, key, around)
        if key[-1] != len(elements):
            raise BrokenContext(table.name, key, f"the element before it is number {len(elements) - 1}")
        value = table.value(row)
        elements.append(value)
        if table.lists:
            values[key] = value
    for child in table.lists:
        _read_lists(child, answers, values)


def _list_at(table: Table, key: Key, around: dict[Key, JsonValue]) -> list[JsonValue]:
    """Find the list that a row belongs to, in the value of the row around it, or put it there."""
    found = around.get(key[:-1])
    for number, name in enumerate(table.path, 1):
        if not isinstance(found, dict):
            break
        found = found.setdefault(name, [] if number == len(table.path) else {})
    if not isinstance(found, list):
        raise BrokenContext(table.name, key, "the row around it is missing, or has no list in this place")
    return found
