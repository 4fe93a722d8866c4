"""What a plain YAML scalar means, by the core schema of YAML 1.2."""

import re
from typing import Final

from wonder.language.values import MAX_DIGITS, BadValue, JsonValue, parse_json

_WORDS: Final[dict[str, JsonValue]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"([-+]?)([0-9]+)")
_BASED: Final = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_REAL: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def resolve_scalar(text: str) -> JsonValue:
    """Return the value of an unquoted scalar; BadValue for a number that JSON does not have."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if found := _INTEGER.fullmatch(text):
        # Not by the expression: what it may take for a leading zero or for a digit takes the square of their number.
        sign, digits = found[1], found[2].lstrip("0") or "0"
        return parse_json(("-" if sign == "-" and digits != "0" else "") + digits)
    if found := _REAL.fullmatch(text):
        return _real(text)
    if found := _BASED.fullmatch(text):
        return _based(found)
    if _NOT_FINITE.fullmatch(text):
        raise BadValue(f"{text} is not a JSON number")
    return text


def _real(text: str) -> JsonValue:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise BadValue(f"the number {text[:40]} is beyond what a double can hold")
    return value


def _based(found: re.Match[str]) -> JsonValue:
    octal, hexadecimal = found.groups()
    # Powers of two read in linear time, so only the size of the outcome needs a bound.
    if len(octal or hexadecimal) > MAX_DIGITS * 4 // 5:
        raise BadValue(f"an integer of more than {MAX_DIGITS:,} digits")
    return int(octal, 8) if octal else int(hexadecimal, 16)
