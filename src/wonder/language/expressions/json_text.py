"""JSON texts as SQLite keeps them: every number and text as it was written, keys in their order, doubles allowed.

A node is a plain Python JSON value, or one of the classes here where plain Python would lose how it was written.
Plain dicts stand for objects whose keys are in canonical order, because that is how values enter an expression (EXP-6).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.numbers import MAX_INTEGER, MIN_INTEGER, real_prefix
from wonder.language.steps import spend
from wonder.language.values import MAX_BYTES, canonical_json

Node: TypeAlias = Any  # None | bool | int | float | str | list[Node] | dict[str, JsonValue] | Number | Text | Members

# How many parts of a text are gathered before they are counted, one step each.
_COUNTED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written; `extended` if only JSON5 allows it so."""

    raw: str
    kind: Literal["integer", "real"]
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A text with escapes as it was written between its quotes; `extended` if only JSON5 allows it so."""

    raw: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Members:
    """An object as labels and values in the order written."""

    pairs: tuple[tuple[str | Text, Node], ...]


def members_of(node: Node) -> tuple[tuple[str | Text, Node], ...]:
    """Return the labels and values of an object, whichever way it is kept."""
    if type(node) is Members:
        return node.pairs
    spend(len(node))
    return tuple(sorted(node.items()))


def is_object(node: Node) -> bool:
    """Tell whether a node is an object, whichever way it is kept."""
    return type(node) is dict or type(node) is Members


def render(node: Node) -> str:
    """Write a node as compact JSON."""
    if type(node) is dict:
        return canonical_json(node)
    return gather(_parts(node))


def gather(parts: Iterator[str]) -> str:
    """Join the parts of a JSON text, and stop as soon as it is over the size limit."""
    gathered: list[str] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_BYTES:
            raise EvaluationError(f"a JSON text of more than {MAX_BYTES:,} bytes would be built")
        gathered.append(part)
        if not len(gathered) % _COUNTED_AT_ONCE:
            spend(_COUNTED_AT_ONCE)
    return "".join(gathered)


def sql_scalar(node: Node) -> int | float | str | None:
    """Return a node that is no list or object as SQLite hands it to SQL: true is 1, large integers are REAL."""
    match node:
        case None | str() | float():
            return node
        case bool():
            return int(node)
        case int():
            return node if MIN_INTEGER <= node <= MAX_INTEGER else real_prefix(canonical_json(node)).value
        case Number():
            return _number_value(node)
        case _:
            return unescape(node.raw)


def type_name(node: Node) -> str:
    """Name the type of a node as json_type() does."""
    match node:
        case None:
            return "null"
        case bool():
            return "true" if node else "false"
        case int():
            return "integer"
        case float():
            return "real"
        case Number():
            return node.kind
        case list():
            return "array"
        case dict() | Members():
            return "object"
        case _:
            return "text"


def label_text(label: str | Text) -> str:
    """Return the label of a member without escapes."""
    return label if type(label) is str else unescape(label.raw)  # type: ignore[union-attr]  # the other is Text


_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})"
    r"|(\r\n|[\r\n\u2028\u2029])|(0(?!\d)|[bfnrtv'\"/\\])|(.?))",
    re.ASCII | re.DOTALL,
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
# What SQLite takes an escape for that means nothing; it can only come from a label in a path.
_NO_CHARACTER = "\U00099999"


def unescape(raw: str) -> str:
    """Replace the escapes of JSON and JSON5 by what they stand for."""
    if "\\" not in raw:
        return raw
    return _ESCAPE.sub(_unescaped, raw)


def _unescaped(match: re.Match[str]) -> str:
    high, low, unit, byte, line_end, short, _ = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    if unit or byte:
        return chr(int(unit or byte, 16))
    if line_end:
        return ""
    return _SHORT.get(short, short) if short else _NO_CHARACTER


_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_WRITTEN = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}  # fmt: skip


def quote_json(text: str) -> str:
    """Write a text as a JSON text."""
    return '"' + _SPECIAL.sub(_written, text) + '"'


def _written(match: re.Match[str]) -> str:
    return _WRITTEN.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _parts(node: Node) -> Iterator[str]:
    match node:
        case str():
            yield quote_json(node)
        case Number():
            yield _render_number(node)
        case Text():
            yield '"' + (_plain_escapes(node.raw) if node.extended else node.raw) + '"'
        case list():
            separator = "["
            for element in node:
                yield separator
                yield from _parts(element)
                separator = ","
            yield "]" if node else "[]"
        case Members():
            separator = "{"
            for label, value in node.pairs:
                yield separator
                yield from _parts(label)
                yield ":"
                yield from _parts(value)
                separator = ","
            yield "}" if node.pairs else "{}"
        case _:
            yield canonical_json(node)


_EXTENDED = re.compile(r"\\(?:x(..)|(\r\n|[\r\n\u2028\u2029])|(.))|([\"\x00-\x1f])", re.DOTALL)
_EXTENDED_SHORT = {"'": "'", "v": "\\u000b", "0": "\\u0000"}


def _plain_escapes(raw: str) -> str:
    """Turn the escapes that only JSON5 has into ones of JSON."""
    return _EXTENDED.sub(_plain_escape, raw)


def _plain_escape(match: re.Match[str]) -> str:
    byte, line_end, short, bare = match.groups()
    if byte:
        return "\\u00" + byte
    if line_end:
        return ""
    if bare:
        return _WRITTEN.get(bare) or f"\\u{ord(bare):04x}"
    return _EXTENDED_SHORT.get(short, match[0])


def _render_number(number: Number) -> str:
    if not number.extended:
        return number.raw
    sign, digits = ("-", number.raw[1:]) if number.raw.startswith("-") else ("", number.raw)
    if number.kind == "integer":
        value = int(digits[2:], 16)
        return f"{sign}{value}" if value < 2**64 else f"{sign}9.0e999"
    if digits.startswith("."):
        digits = "0" + digits
    return sign + re.sub(r"\.(?!\d)", ".0", digits)


def _number_value(number: Number) -> int | float:
    raw = number.raw
    if number.kind == "integer":
        if number.extended:
            sign, digits = (-1, raw[3:]) if raw.startswith("-") else (1, raw[2:])
            digits = digits.lstrip("0")
            if len(digits) <= 16:
                value = sign * int(digits or "0", 16)
                return value if abs(value) <= MAX_INTEGER else float(value)
            raise EvaluationError("malformed JSON: a hexadecimal number of more than 64 bits")
        if len(raw) <= 20 and MIN_INTEGER <= int(raw) <= MAX_INTEGER:
            return int(raw)
    return real_prefix(raw).value
