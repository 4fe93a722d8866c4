"""SQL values and their conversions, comparison and truth, as SQLite has them.

A value is None (NULL), int of 64 bits (INTEGER), float (REAL), str (TEXT) or Document (TEXT that is known to be JSON).
"""

import re
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_parser import ParsedJson
from wonder.language.expressions.json_text import Node, render
from wonder.language.expressions.limits import MAX_TEXT
from wonder.language.expressions.numbers import (
    MAX_INTEGER,
    MIN_INTEGER,
    integer_prefix,
    integer_to_real,
    is_same_integer,
    real_prefix,
    real_text,
    real_to_integer,
)
from wonder.language.steps import LARGE, spend, spend_on_text
from wonder.language.values import canonical_json, parse_json

SqlValue: TypeAlias = Any  # None | int | float | str | Document; a union would cost an assertion on every line
Affinity: TypeAlias = Literal["none", "text", "numeric", "integer", "real"]
Collation: TypeAlias = Callable[[str], str]

# A result is read as a JSON value and checked: that takes a microsecond for each value in it, however short its text.
_STEPS_A_VALUE: Final = 3


class Document:
    """A JSON text, written only when somebody asks for it as text."""

    __slots__ = ("_text", "native", "node")

    def __init__(self, node: Node, *, native: bool = False) -> None:
        self.node = node
        # Native: a value of the context as it is, with nothing in it that came from a JSON text.
        self.native = native
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The document as compact JSON."""
        if self._text is None:
            self._text = canonical_json(self.node) if self.native else render(self.node)
        spend_on_text(len(self._text))
        return self._text

    def to_json(self) -> Any:
        """The document as a JSON value; raises BadValue if it holds what no value may hold (CTX-7)."""
        if self.native:
            return self.node
        text = self.text
        if len(text) > LARGE:
            spend(_STEPS_A_VALUE * sum(map(text.count, ",[{")))
        return parse_json(text)


def from_json(value: Any) -> SqlValue:
    """Turn a JSON value into an SQL value (EXP-6)."""
    kind = type(value)
    if kind is str or kind is float or value is None:
        return value
    if kind is int:
        return value if MIN_INTEGER <= value <= MAX_INTEGER else integer_to_real(value)
    if kind is bool:
        return 1 if value else 0
    return Document(value, native=True)


def text_of(value: SqlValue) -> Any:
    """Return a value as text, NULL as None."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is int:
        return str(value)
    return real_text(value) if kind is float else value.text


def number_of(value: SqlValue) -> Any:
    """Return the number that arithmetic takes a value for, NULL as None."""
    kind = type(value)
    if kind is int or kind is float or value is None:
        return value
    text = value if kind is str else value.text
    prefix = real_prefix(text)
    if prefix.fractional:
        return prefix.value
    integer = integer_prefix(text)
    return integer.value if integer.fits else prefix.value


def integer_of(value: SqlValue) -> int:
    """Return the integer that a value is cut off to, NULL as 0."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]  # it is an int, as just seen
    if kind is float:
        return real_to_integer(value)
    if value is None:
        return 0
    return integer_prefix(value if kind is str else value.text).value


def real_of(value: SqlValue) -> float:
    """Return a value as a real number, NULL as 0.0."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if value is None:
        return 0.0
    return real_prefix(value if kind is str else value.text).value


def numeric_of(value: SqlValue) -> Any:
    """Return a text that is a number, and nothing else, as that number; anything else as it is."""
    kind = type(value)
    if kind is int or kind is float or value is None:
        return value
    text = value if kind is str else value.text
    prefix = real_prefix(text)
    if not prefix.found or not prefix.whole:
        return value
    if prefix.fractional:
        return prefix.value
    integer = integer_prefix(text)
    return integer.value if integer.fits else prefix.value


def cast(value: SqlValue, affinity: Affinity) -> SqlValue:
    """Carry out CAST; a JSON text that is cast to TEXT is still known to be JSON, as in SQLite."""
    if value is None:
        return None
    if affinity == "text":
        return value if type(value) is Document else text_of(value)
    if affinity == "integer":
        return integer_of(value)
    if affinity == "real":
        return real_of(value)
    return _cast_to_numeric(value)


def _cast_to_numeric(value: SqlValue) -> int | float:
    if type(value) is int or type(value) is float:
        return value
    number: int | float = number_of(value)
    if type(number) is float:
        integer = real_to_integer(number)
        return integer if is_same_integer(number, integer) else number
    return number


def truth_of(value: SqlValue) -> bool:
    """Tell whether a value that is not NULL counts as true."""
    if type(value) is int:
        return value != 0
    return real_of(value) != 0.0


def apply_affinity(left: SqlValue, right: SqlValue, affinity: Affinity) -> tuple[SqlValue, SqlValue]:
    """Convert the operands of a comparison, neither of them NULL, as the affinity of one of them asks."""
    if affinity == "text":
        if _is_text(left) or _is_text(right):
            return text_of(left), text_of(right)
    elif affinity != "none":
        return numeric_of(left), numeric_of(right)
    return left, right


def compare(left: SqlValue, right: SqlValue, collation: Collation | None) -> int:
    """Order two values that are not NULL: numbers before texts; below 0, 0 or above 0."""
    left_is_text, right_is_text = _is_text(left), _is_text(right)
    if left_is_text != right_is_text:
        return 1 if left_is_text else -1
    if left_is_text:
        left, right = text_of(left), text_of(right)
        if collation:
            left, right = collation(left), collation(right)
    return int(left > right) - int(left < right)


def _is_text(value: SqlValue) -> bool:
    return type(value) is str or type(value) is Document


_UPPER_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LOWER_TO_UPPER = {upper + 32: upper for upper in range(ord("A"), ord("Z") + 1)}


def lower_ascii(text: str) -> str:
    """Turn the letters A to Z, and only those, to small ones."""
    return text.lower() if text.isascii() else text.translate(_UPPER_TO_LOWER)


def upper_ascii(text: str) -> str:
    """Turn the letters a to z, and only those, to capital ones."""
    return text.upper() if text.isascii() else text.translate(_LOWER_TO_UPPER)


# A collation is the text that is compared instead; BINARY compares the text itself.
COLLATIONS: Final[dict[str, Collation | None]] = {
    "binary": None,
    "nocase": lower_ascii,
    "rtrim": lambda text: text.rstrip(" "),
}


def node_of(value: SqlValue) -> Node:
    """Return the JSON that a function was given as text; raise if it is malformed."""
    if type(value) is Document:
        return value.node
    parsed = ParsedJson(text_of(value))
    if not parsed.valid:
        raise EvaluationError("malformed JSON was given to a JSON function")
    return parsed.node


def built(text: str) -> str:
    """Return a text that was put together, if it is not too long and may be stored (CTX-7)."""
    if len(text) > MAX_TEXT:
        raise EvaluationError(f"a string of {len(text):,} characters would be built; the limit is {MAX_TEXT:,}")
    return text


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return a text that was made from numbers or escapes, if it holds only characters that can be stored (CTX-7)."""
    if "\0" in text:
        raise EvaluationError("the character U+0000 would be built, which can't be stored")
    if not text.isascii() and _SURROGATE.search(text):
        raise EvaluationError("a lone surrogate would be built, which can't be stored")
    return text
