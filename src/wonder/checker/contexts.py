"""Contexts: input, state and output as the fold of the events has them, against the generated tables (CTX-4)."""
# ruff: noqa: S608  # the names of generated tables are made of letters, digits and underscores, and quoted

from collections.abc import Sequence
from typing import Any, Final

from wonder.checker.definitions import Definition
from wonder.checker.fold import fold
from wonder.checker.layouts import OWN, SHARED, Spot, Table, lay_out
from wonder.checker.stored import StoredRun
from wonder.checker.values import read, same, shown
from wonder.checker.violations import Violation
from wonder.storage.store import Reader, Row

_ABSENT: Final = object()
_EXACT: Final = 2**53


async def check_context(reader: Reader, run: StoredRun, definition: Definition) -> list[Violation]:
    """Compare the context in the tables with what the events say that it is."""
    state = fold(run)
    formats = set(definition.context_tables.values()) or {OWN}
    if not run.events or state.input is None or formats not in ({OWN}, {SHARED}):
        return []
    main = lay_out(definition.id, definition.version, definition.schemas, *formats)
    missing = [table.name for table in main.all() if table.name not in definition.context_tables]
    if missing:
        return [Violation("context", run.id, f"the context table {missing[0]} is not there")]
    found = await _read(reader, run.id, main)
    if isinstance(found, str):
        return [Violation("context", run.id, found)]
    folded = {"input": state.input, "state": state.state, "output": state.output}
    return [
        Violation("context", run.id, f"{name} is {shown(found.get(name))}, and by the events {shown(value)}")
        for name, value in folded.items()
        if not same(found.get(name), value)
    ]


async def _read(reader: Reader, run_id: str, main: Table) -> Any:
    """Give the context that the tables have, or a text that says why they have none."""
    rows = await _rows(reader, run_id, main)
    if len(rows) != 1:
        return f"it has {len(rows)} rows in {main.name}"
    values: dict[tuple[Any, ...], Any] = {(): _value(main, rows[0])}
    for table in main.lists:
        fault = await _read_list(reader, run_id, table, values)
        if fault is not None:
            return fault
    return values[()]


async def _read_list(reader: Reader, run_id: str, table: Table, around: dict[tuple[Any, ...], Any]) -> str | None:
    values: dict[tuple[Any, ...], Any] = {}
    for row in await _rows(reader, run_id, table):
        key = tuple(row[1 : 1 + table.depth])
        elements = around.get(key[:-1])
        for number, name in enumerate(table.path, 1):
            if not isinstance(elements, dict):
                break
            elements = elements.setdefault(name, [] if number == len(table.path) else {})
        if not isinstance(elements, list) or key[-1] != len(elements):
            return f"element {list(key)} of {table.name} is not where it belongs"
        values[key] = _value(table, row)
        elements.append(values[key])
    for inner in table.lists:
        fault = await _read_list(reader, run_id, inner, values)
        if fault is not None:
            return fault
    return None


async def _rows(reader: Reader, run_id: str, table: Table) -> list[Row]:
    order = ", ".join(str(number) for number in range(1, table.depth + 2))
    chosen = "*"
    if table.columns:
        positions = [*[f"position_{number}" for number in range(1, table.depth)], *["position"][: table.depth]]
        chosen = ", ".join(["run_id", *positions, *table.columns, "_rest"])
    return await reader.query(f'SELECT {chosen} FROM "{table.name}" WHERE run_id = $1 ORDER BY {order}', run_id)


def _value(table: Table, row: Row) -> Any:
    """Give the value of a row: what its cells say, and over it what they could not say."""
    width = 1 + table.depth
    rest = _ABSENT if row[-1] is None else read(row[-1])
    value = _taken(table.root, row[width:-1], rest)
    return None if value is _ABSENT else value


def _taken(spot: Spot, cells: Sequence[Any], rest: Any) -> Any:
    if spot.kind == "object":
        return _object(spot, cells, rest)
    if spot.kind == "list":
        return [] if rest is _ABSENT and spot.always else rest
    cell = cells[spot.column]
    if spot.kind == "open":
        return _ABSENT if cell is None else read(cell)
    if rest is not _ABSENT:
        return rest
    if cell is None:
        return None if spot.always else _ABSENT
    return _scalar(spot.kind, cell)


def _object(spot: Spot, cells: Sequence[Any], rest: Any) -> Any:
    if rest is not _ABSENT and not isinstance(rest, dict):
        return rest
    left: dict[str, Any] = rest if isinstance(rest, dict) else {}
    value = {name: _taken(member, cells, left.get(name, _ABSENT)) for name, member in spot.members.items()}
    value = {name: member for name, member in value.items() if member is not _ABSENT}
    value |= {name: member for name, member in left.items() if name not in spot.members}
    return value if value or spot.always or rest is not _ABSENT else _ABSENT


def _scalar(kind: str, cell: Any) -> Any:
    if kind == "boolean":
        return bool(cell)
    if kind == "number":
        number = float(cell)
        # A whole number is an integer; a float that is whole is in the rest.
        return int(number) if -_EXACT <= number <= _EXACT and number.is_integer() else number
    return cell
