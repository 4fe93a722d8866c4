"""Scalars: what a typed column holds of a value, and whether that says it exactly (CTX-4).

A column is there to be queried, so it holds the nearest that its type can say; whatever is not exact is also kept as
JSON in the row's rest, and the rest wins when the row is read.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from wonder.context.forms import ScalarKind

Cell: TypeAlias = bool | int | float | str | None
# From a value to what its column holds, and whether the value can be told from that alone.
Encode: TypeAlias = Callable[[object], tuple[Cell, bool]]
Decode: TypeAlias = Callable[[Cell], Cell]

_LEAST, _GREATEST = -(2**63), 2**63 - 1
# Up to here a double and an integer have the same meaning; beyond it integers get rounded.
_EXACT: Final = 2**53
_UNFIT: Final = (None, False)


class ScalarType(NamedTuple):
    """One of the scalar types: both ways between a value and its cell."""

    encode: Encode
    decode: Decode


def _encode_text(value: object) -> tuple[Cell, bool]:
    return (value, True) if type(value) is str else _UNFIT


def _encode_boolean(value: object) -> tuple[Cell, bool]:
    return (value, True) if type(value) is bool else _UNFIT


def _encode_integer(value: object) -> tuple[Cell, bool]:
    if type(value) is int:
        return (value, True) if _LEAST <= value <= _GREATEST else _UNFIT
    if type(value) is float and value.is_integer():
        whole = int(value)
        return (whole, False) if _LEAST <= whole <= _GREATEST else _UNFIT  # JSON Schema counts 1.0 as an integer
    return _UNFIT


def _encode_number(value: object) -> tuple[Cell, bool]:
    # In a column of doubles 5 and 5.0 look the same. A whole number means the integer, because that is how most JSON
    # writes it; a float that is whole is kept in the rest, and so is -0.0, which SQLite stores as 0.
    if type(value) is float:
        return value, not (-_EXACT <= value <= _EXACT and value.is_integer())
    if type(value) is int:
        if -_EXACT <= value <= _EXACT:
            return float(value), True
        try:
            return float(value), False
        except OverflowError:
            return _UNFIT
    return _UNFIT


def _decode_number(cell: Cell) -> Cell:
    number = float(cell)  # type: ignore[arg-type]  # a column of doubles gives nothing else
    return int(number) if -_EXACT <= number <= _EXACT and number.is_integer() else number


def _decode_same(cell: Cell) -> Cell:
    return cell


SCALARS: Final[dict[ScalarKind, ScalarType]] = {
    "string": ScalarType(_encode_text, _decode_same),
    "boolean": ScalarType(_encode_boolean, bool),
    "integer": ScalarType(_encode_integer, _decode_same),
    "number": ScalarType(_encode_number, _decode_number),
}
