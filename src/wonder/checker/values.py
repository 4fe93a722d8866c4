"""Values: JSON as it is stored, read and compared to the value."""

import json
from decimal import Decimal
from math import copysign
from typing import Any, Final

import msgspec

from wonder.storage.store import Value

_SHOWN_MAX: Final = 300


def read(cell: Value) -> Any:
    """Read a cell that holds JSON; NULL is None. Raises ValueError."""
    if cell is None:
        return None
    try:
        return msgspec.json.decode(str(cell))
    except ValueError:  # an integer of more digits than msgspec reads, or no JSON at all
        return _LONG_INTEGERS.decode(str(cell))


def same(one: Any, other: Any) -> bool:
    """Say whether two values are the same JSON: 1, 1.0 and true are three values; the order of keys does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other and copysign(1, one) == copysign(1, other)
    return bool(one == other)


def shown(value: Any) -> str:
    """Write a value for people: in outline if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # an integer of more digits than Python writes
        return "a very long number"
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"


def written(root: Any, path: list[str | int], value: Any) -> Any:
    """Give a value with another one written at a path; what was given stays as it is."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        changed = list(root) if isinstance(root, list) else []
        if first < len(changed):
            changed[first] = written(changed[first], rest, value)
        else:
            changed.append(written(None, rest, value))
        return changed
    members = dict(root) if isinstance(root, dict) else {}
    members[first] = written(members.get(first), rest, value)
    return members


def _read_integer(digits: str) -> int:
    return int(Decimal(digits))


_LONG_INTEGERS: Final = json.JSONDecoder(parse_int=_read_integer)
