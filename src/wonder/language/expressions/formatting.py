"""printf() and format(): SQLite's conversions and flags, with widths that count bytes unless the flag ! is there."""

import re
from collections.abc import Callable, Iterator
from math import isinf
from typing import Final, NamedTuple

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_text import quote_json
from wonder.language.expressions.limits import MAX_TEXT
from wonder.language.expressions.numbers import real_digits
from wonder.language.expressions.sql_values import SqlValue, integer_of, real_of, storable, text_of
from wonder.language.steps import spend

_MAX_WIDTH = 0x7FFFFFFF
# A conversion takes as long as so many steps, whether it writes something or not.
_FIELD_STEPS = 5


class _Field(NamedTuple):
    """One conversion of a format: its flags, width, precision (-1 without one) and letter."""

    flags: str
    width: int
    precision: int
    letter: str


class _Arguments:
    """The values that a format still has to write; behind the last one come NULLs."""

    def __init__(self, values: tuple[SqlValue, ...]) -> None:
        self._values = iter(values)

    def next(self) -> SqlValue:
        return next(self._values, None)

    def next_size(self) -> int:
        """Return a width or precision, as the 32 bits that C keeps of it."""
        return (integer_of(self.next()) + 2**31) % 2**32 - 2**31


def printf(*arguments: SqlValue) -> str | None:
    """printf(FORMAT, ...): the arguments written as the format says."""
    if not arguments or arguments[0] is None:
        return None
    written: list[bytes] = []
    size = 0
    for part in _parts(text_of(arguments[0]), _Arguments(arguments[1:])):
        size += len(part)
        _check_size(size)
        written.append(part)
    try:
        return storable(b"".join(written).decode())
    except UnicodeDecodeError:
        raise EvaluationError("printf() would cut a character in two; put ! in front of the width") from None


def _check_size(size: int) -> None:
    if size > MAX_TEXT:
        raise EvaluationError(f"a string of {size:,} bytes would be built; the limit is {MAX_TEXT:,}")


def _parts(template: str, arguments: _Arguments) -> Iterator[bytes]:
    at = 0
    while at < len(template):
        percent = template.find("%", at)
        if percent < 0:
            yield template[at:].encode()
            return
        yield template[at:percent].encode()
        if percent + 1 == len(template):
            yield b"%"
            return
        field, at = _read_field(template, percent + 1, arguments)
        spend(max(_FIELD_STEPS, at - percent))
        convert = _CONVERSIONS.get(field.letter)
        if convert is None:
            return
        yield convert(field, arguments)


_DIGITS = re.compile(r"\d+", re.ASCII)


def _read_field(template: str, at: int, arguments: _Arguments) -> tuple[_Field, int]:
    flags, width, precision = "", 0, -1
    while at < len(template):
        character = template[at]
        if character in "-+ #!0,":
            # Each once: what is added to grows with the format, and was copied for each + or blank.
            flags = flags.replace("+", "").replace(" ", "") if character in "+ " else flags
            flags += character if character not in flags else ""
            at += 1
        elif character == "l":
            at += 2 if template[at + 1 : at + 2] == "l" else 1
            break
        elif character == "*" or "1" <= character <= "9":
            width, at = _read_size(template, at, arguments)
            if width < 0:
                flags, width = flags + "-", -width if width >= -_MAX_WIDTH else 0
            if template[at : at + 1] not in (".", "l"):
                break
        elif character == ".":
            precision, at = _read_size(template, at + 1, arguments)
            if precision < 0:
                precision = -precision if precision >= -_MAX_WIDTH else -1
            if template[at : at + 1] != "l":
                break
        else:
            break
    return _Field(flags, width, precision, template[at : at + 1]), at + 1


def _read_size(template: str, at: int, arguments: _Arguments) -> tuple[int, int]:
    if template[at : at + 1] == "*":
        return arguments.next_size(), at + 1
    digits = _DIGITS.match(template, at)
    if not digits:
        return 0, at
    return int(digits[0][-40:]) & _MAX_WIDTH, digits.end()


def _padded(field: _Field, text: bytes) -> bytes:
    width = field.width
    _check_size(width)
    if "!" in field.flags and width:
        width += sum(byte & 0xC0 == 0x80 for byte in text)
    return text.ljust(width) if "-" in field.flags else text.rjust(width)


def _integer(field: _Field, arguments: _Arguments) -> bytes:
    value = integer_of(arguments.next())
    sign = ""
    if field.letter in "dir":
        sign = "-" if value < 0 else "+" if "+" in field.flags else " " if " " in field.flags else ""
        value = abs(value)
    else:
        value %= 2**64
    digits = {"o": f"{value:o}", "x": f"{value:x}", "p": f"{value:X}", "X": f"{value:X}"}.get(field.letter, str(value))
    if field.letter == "r":
        digits += _ordinal(value)
    precision = field.precision
    if "0" in field.flags:
        precision = max(precision, field.width - len(sign))
    _check_size(precision)
    digits = digits.rjust(precision, "0")
    if "," in field.flags and field.letter in "diu":
        digits = _grouped(digits)
    prefix = {"o": "0", "x": "0x", "X": "0X", "p": "0x"}.get(field.letter, "") if "#" in field.flags and value else ""
    # The width of a number counts its bytes, with or without the flag !.
    return _padded(field._replace(flags=field.flags.replace("!", "")), (prefix + sign + digits).encode())


def _ordinal(value: int) -> str:
    last = value % 10
    return ("th", "st", "nd", "rd")[last] if last < 4 and value // 10 % 10 != 1 else "th"


def _grouped(digits: str) -> str:
    first = (len(digits) - 1) % 3 + 1
    return ",".join([digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))])


def _real(field: _Field, arguments: _Arguments) -> bytes:
    value = real_of(arguments.next())
    flags, kind = field.flags, field.letter.lower()
    precision = 6 if field.precision < 0 else field.precision
    _check_size(max(precision, field.width))
    plain = field._replace(flags=flags.replace("!", ""))
    plus = "+" if "+" in flags else " " if " " in flags else ""
    if kind == "g":
        precision = max(precision, 1)
    rounding = -precision if kind == "f" else precision if kind == "g" else precision + 1
    if isinf(value):
        if "0" not in flags:
            return _padded(plain, ("-Inf" if value < 0 else plus + "Inf").encode())
        digits, point = "9", 1000
    else:
        digits, point = real_digits(abs(value), rounding, 20 if "!" in flags else 16)
    sign = "-" if value < 0 else plus
    if value < 0 and kind == "f" and "#" in flags and not plus and point <= rounding:
        sign = ""
    trim = "!" in flags
    if kind == "g":
        precision -= 1
        trim = "#" not in flags
        if not -4 <= point - 1 <= precision:
            kind = "e"
        else:
            kind, precision = "f", precision - (point - 1)
    body = _real_body(digits, 1 if kind == "e" else point, precision, flags, trim=trim)
    if kind == "e":
        exponent = point - 1
        body += f"{'E' if field.letter in 'EG' else 'e'}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if "0" in flags and "-" not in flags:
        body = body.rjust(field.width - len(sign), "0")
    return _padded(plain, (sign + body).encode())


def _real_body(digits: str, point: int, precision: int, flags: str, *, trim: bool) -> str:
    """Write digits around a decimal point with so many places behind it."""
    whole = digits[:point].ljust(point, "0") if point > 0 else "0"
    if "," in flags:
        whole = _grouped(whole)
    shows_point = precision > 0 or "#" in flags or "!" in flags
    fraction = ("0" * -point + digits[max(point, 0) :])[:precision] if precision > 0 else ""
    if not trim:
        fraction = fraction.ljust(precision, "0")
    if not shows_point:
        return whole
    if trim:
        fraction = fraction.rstrip("0")
        if not fraction:
            return whole + ".0" if "!" in flags else whole
    return f"{whole}.{fraction}"


def _percent(field: _Field, arguments: _Arguments) -> bytes:
    return _padded(field._replace(flags=field.flags.replace("!", "")), b"%")


def _nothing(field: _Field, arguments: _Arguments) -> bytes:
    return b""


def _character(field: _Field, arguments: _Arguments) -> bytes:
    text = text_of(arguments.next())
    character = text[:1].encode() if text else b"\0"
    repeats = max(field.precision, 1)
    _check_size(max(repeats * len(character), field.width))
    field = field._replace(flags=field.flags + "!", width=max(field.width - (repeats - 1), 0))
    if repeats > 1 and field.width > 1 and "-" not in field.flags:
        return b" " * (field.width - 1) + character * repeats
    return character * (repeats - 1) + _padded(field, character)


def _string(field: _Field, arguments: _Arguments) -> bytes:
    text = text_of(arguments.next()) or ""
    return _padded(field, _cut(field, text))


def _cut(field: _Field, text: str) -> bytes:
    if field.precision < 0:
        return text.encode()
    return text[: field.precision].encode() if "!" in field.flags else text.encode()[: field.precision]


def _quoted(field: _Field, arguments: _Arguments) -> bytes:
    """%q, %Q and %w: a text as a part of SQL."""
    text = text_of(arguments.next())
    if text is None:
        return _padded(field, _cut(field, "NULL" if field.letter == "Q" else "(NULL)"))
    quote = b'"' if field.letter == "w" else b"'"
    cut = _cut(field, text)
    escaped = "#" in field.flags and field.letter != "w"
    has_control = any(byte <= 0x1F for byte in cut)
    if escaped and (has_control or field.letter == "q"):
        cut = cut.replace(b"\\", b"\\\\")
        cut = re.sub(rb"[\x00-\x1f]", lambda match: b"\\u%04x" % match[0][0], cut)
    body = cut.replace(quote, quote * 2)
    if field.letter == "Q":
        body = b"unistr('" + body + b"')" if escaped and has_control else b"'" + body + b"'"
    return _padded(field, body)


def _json(field: _Field, arguments: _Arguments) -> bytes:
    """%j and %J: a text as JSON, without and with its quotes."""
    text = text_of(arguments.next())
    if text is None:
        return _padded(field, b"null" if field.letter == "J" else b"")
    try:
        cut = _cut(field, text).decode()
    except UnicodeDecodeError:
        raise EvaluationError("printf() would cut a character in two; put ! in front of the width") from None
    written = quote_json(cut)
    return _padded(field, (written if field.letter == "J" else written[1:-1]).encode())


_CONVERSIONS: Final[dict[str, Callable[[_Field, _Arguments], bytes]]] = {
    **dict.fromkeys("diuoxXpr", _integer),
    **dict.fromkeys("feEgG", _real),
    **dict.fromkeys("sz", _string),
    **dict.fromkeys("qQw", _quoted),
    **dict.fromkeys("jJ", _json),
    "c": _character,
    "%": _percent,
    "n": _nothing,
}
