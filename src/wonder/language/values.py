"""JSON values: what may enter (CTX-7), and how a value is written as text."""

import json
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

import msgspec

from wonder.errors import WonderError

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None

MAX_DEPTH = 200
MAX_BYTES = 16_000_000
# Turning digits into an integer costs the square of their number, and a document may hold many such integers.
MAX_DIGITS = 10_000
# So a long integer counts as if it had a byte more for so many pairs of its digits: all of a value take a fraction of a
# second to read or write, and not ten.
_DIGIT_PAIRS: Final = 64
_FEW_DIGITS: Final = 100
# A document of less can't hold enough of them to matter.
_SMALL: Final = 50_000
_PLAIN_KEYS: Final = 100
_PLAIN_LENGTH: Final = 1_000
_WORD: Final = 2**63

# Python's own int() and str() refuse integers with more digits than this.
_PLAIN_DIGITS = 4_300


class BadValue(WonderError):
    """A value can't be taken in, because it is not JSON or is over a limit."""

    code = "BAD_VALUE"

    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        where = f"at {show_path(path)}: " if path else ""
        super().__init__(f"{where}{reason}")
        self.reason, self.path = reason, path


def show_path(path: tuple[str | int, ...]) -> str:
    """Write a path for people: `a.b[2]."c d"`."""
    shown = ""
    for segment in path:
        if isinstance(segment, int):
            shown += f"[{segment}]"
        else:
            plain = segment.replace("-", "_").isidentifier()
            name = segment if plain else '"' + segment.replace('"', '""') + '"'
            shown += f".{name}" if shown else name
    return shown


def parse_json(text: str | bytes, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """Read JSON strictly: whatever could be read in two ways, or not be stored, is refused."""
    if isinstance(text, bytes):
        text = _decode(text, max_bytes)
    elif len(text) > max_bytes:
        raise BadValue(f"the document has {len(text):,} characters; the limit is {max_bytes:,} bytes")
    try:
        value = (_DECODER if len(text) < _SMALL else _decoder(_Integers(max_bytes))).decode(text)
    except json.JSONDecodeError as error:
        raise BadValue(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise BadValue(f"nested deeper than {MAX_DEPTH} levels") from None
    return check_value(value, max_bytes=max_bytes)


def check_value(value: object, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """Return the value if it is JSON that can be stored, otherwise raise BadValue naming the place."""
    size = _check(value, (), MAX_DEPTH)
    if size > max_bytes:
        raise BadValue(f"the value takes about {size:,} bytes; the limit is {max_bytes:,}")
    return value  # type: ignore[return-value]  # _check has just shown that it is JSON


def is_plain(value: object) -> bool:
    """Say whether a value is a small, flat object of scalars that can be stored: seen at a glance, and most are.

    What is not plain may be JSON just as well; `check_value` tells.
    """
    if type(value) is not dict or len(value) > _PLAIN_KEYS:
        return False
    for key, held in value.items():
        if type(key) is not str or not key.isascii() or len(key) > _PLAIN_LENGTH or "\x00" in key:
            return False
        kind = type(held)
        if kind is str:
            if not held.isascii() or len(held) > _PLAIN_LENGTH or "\x00" in held:
                return False
        elif kind is int:
            if not -_WORD < held < _WORD:
                return False
        elif kind is float:
            if held - held != 0.0:  # infinite, or no number
                return False
        elif kind is not bool and held is not None:
            return False
    return True


def encode_json(value: JsonValue) -> str:
    """Write a value as compact JSON, keys in their own order."""
    try:
        return _ENCODER.encode(value).decode()
    except ValueError:  # an integer of more digits than str() writes
        return _encode_slowly(value, sort_keys=False)


def canonical_json(value: JsonValue) -> str:
    """Write a value as compact JSON with sorted keys: equal values give equal texts."""
    try:
        return _CANONICAL_ENCODER.encode(value).decode()
    except ValueError:  # an integer of more digits than str() writes
        return _encode_slowly(value, sort_keys=True)


def _decode(text: bytes, max_bytes: int) -> str:
    if len(text) > max_bytes:
        raise BadValue(f"the document has {len(text):,} bytes; the limit is {max_bytes:,}")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadValue(f"not UTF-8 at byte {error.start}; save the text as UTF-8") from None


def _check(value: object, path: tuple[str | int, ...], depth_left: int) -> int:
    """Check one value and all in it; return about how many bytes it takes."""
    match value:
        case None | bool():
            return 4
        case str():
            return _check_text(value, path)
        case int():
            digits = max(value.bit_length() - 1, 0) * 30103 // 100000 + 1
            if digits > MAX_DIGITS:
                raise BadValue(f"an integer of about {digits:,} digits; the limit is {MAX_DIGITS:,}", path)
            return digits if digits <= _FEW_DIGITS else digits + digits * digits // _DIGIT_PAIRS
        case float():
            if not isfinite(value):
                raise BadValue(f"{value} is not a JSON number; use null or a string", path)
            return 8
        case list():
            if not depth_left:
                raise BadValue(f"nested deeper than {MAX_DEPTH} levels", path[:8])
            return 2 + sum([_check(element, (*path, i), depth_left - 1) + 1 for i, element in enumerate(value)])
        case dict():
            return _check_object(value, path, depth_left)
        case _:
            raise BadValue(f"a Python {type(value).__name__} is not a JSON value", path)


def _check_object(value: dict[Any, Any], path: tuple[str | int, ...], depth_left: int) -> int:
    if not depth_left:
        raise BadValue(f"nested deeper than {MAX_DEPTH} levels", path[:8])
    size = 2
    for key, element in value.items():
        if not isinstance(key, str):
            raise BadValue(f"the key {key!r} is not a string; JSON objects have strings as keys", path)
        size += _check_text(key, path) + 2 + _check(element, (*path, key), depth_left - 1)
    return size


def _check_text(text: str, path: tuple[str | int, ...]) -> int:
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise BadValue(f"the text holds a lone surrogate (U+{ord(text[error.start]):04X})", path) from None
    if "\x00" in text:
        raise BadValue("the string contains the character U+0000, which can't be stored", path)
    return size + 2


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadValue(f"the key {key!r} occurs twice in one object; keep one of them")
            seen.add(key)
    return value


def _integer(digits: str) -> int:
    if len(digits) <= _PLAIN_DIGITS:
        return int(digits)
    if len(digits) > MAX_DIGITS:
        raise BadValue(f"an integer of {len(digits):,} digits; the limit is {MAX_DIGITS:,}")
    return int(Decimal(digits))


class _Integers:
    """Reads the integers of one document as long as they are not too much together."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def __call__(self, digits: str) -> int:
        if len(digits) > _FEW_DIGITS:
            self._left -= len(digits) + len(digits) ** 2 // _DIGIT_PAIRS
            if self._left < 0:
                raise BadValue("the document has too many long integers, which take the square of their digits to read")
        return _integer(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise BadValue(f"the number {digits[:40]} is beyond what a double can hold")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise BadValue(f"{name} is not a JSON number; use null or a string")


def _encode_slowly(value: JsonValue, *, sort_keys: bool) -> str:
    # json.dumps writes an int with int.__repr__, which refuses more than 4,300 digits: write it here instead.
    match value:
        case bool() | None | str() | float():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(Decimal(value))
        case list():
            return "[" + ",".join([_encode_slowly(element, sort_keys=sort_keys) for element in value]) + "]"
        case dict():
            pairs = sorted(value.items()) if sort_keys else value.items()
            return (
                "{"
                + ",".join(
                    [
                        f"{json.dumps(key, ensure_ascii=False)}:{_encode_slowly(element, sort_keys=sort_keys)}"
                        for key, element in pairs
                    ]
                )
                + "}"
            )


def _decoder(integer: Callable[[str], int]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object, parse_int=integer, parse_float=_real, parse_constant=_refuse_constant
    )


_DECODER = _decoder(_integer)
_ENCODER = msgspec.json.Encoder()
_CANONICAL_ENCODER = msgspec.json.Encoder(order="deterministic")
