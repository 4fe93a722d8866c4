"""Cells: values as the columns of a run's tables hold them, and back."""

from typing import Any

import msgspec

from wonder.context.rows import read_json
from wonder.engine.failure import Failure
from wonder.language.values import JsonValue, encode_json
from wonder.storage.store import Value

_ENCODER = msgspec.json.Encoder()


def to_json(value: object) -> str:
    """Write JSON, or records and tuples made of it, as compact text."""
    try:
        return _ENCODER.encode(value).decode()
    except ValueError:  # an integer of more digits than msgspec writes
        return encode_json(_with_lists(msgspec.to_builtins(value)))


def to_json_or_null(value: object) -> str | None:
    """Write a value as JSON, but None as NULL, where a column tells no null from nothing."""
    return None if value is None else to_json(value)


def from_json(cell: Value) -> Any:
    """Read what was written; NULL is None."""
    return None if cell is None else read_json(str(cell))


def failure_from(cell: Value) -> Failure | None:
    """Read an error that was written."""
    value: dict[str, JsonValue] | None = from_json(cell)
    return None if value is None else Failure(**value)  # type: ignore[arg-type]  # it was written from a Failure


def text(cell: Value) -> str:
    """Take a cell that holds a text."""
    assert isinstance(cell, str), f"{cell!r} is no text"
    return cell


def text_or_none(cell: Value) -> str | None:
    """Take a cell that holds a text or NULL."""
    return None if cell is None else text(cell)


def number(cell: Value) -> int:
    """Take a cell that holds an integer."""
    assert isinstance(cell, int), f"{cell!r} is no integer"
    return cell


def number_or_none(cell: Value) -> int | None:
    """Take a cell that holds an integer or NULL."""
    return None if cell is None else number(cell)


def _with_lists(value: Any) -> JsonValue:
    """Give a value with lists in the place of tuples."""
    if isinstance(value, list | tuple):
        return [_with_lists(element) for element in value]
    if isinstance(value, dict):
        return {key: _with_lists(element) for key, element in value.items()}
    plain: JsonValue = value
    return plain
