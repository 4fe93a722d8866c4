"""Numbers and their text, digit for digit as SQLite converts between them.

SQLite reads 19 significant digits and writes 17 of 18 computed ones, with 96 bits of each power of ten. Python's own
conversions round correctly instead, and now and then end in another last digit, so they can't be used here.
"""

import re
from functools import cache
from math import frexp, inf, isinf, ldexp
from typing import NamedTuple

MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1

_WORD = 2**64
_MANTISSA_FULL = (_WORD - 1 - 9) // 10
_NUMBER = re.compile(r"[\t-\r ]*([+-]?)(\d*)(\.?)(\d*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?)(\d+)", re.ASCII)
_INTEGER = re.compile(r"[\t-\r ]*([+-]?)(\d+)", re.ASCII)
_SPACE = "\t\n\v\f\r "


class RealPrefix(NamedTuple):
    """The number that a text begins with: `found` is false if there is none, `whole` is true if nothing follows it."""

    value: float
    found: bool
    fractional: bool
    whole: bool


class IntegerPrefix(NamedTuple):
    """The integer that a text begins with, cut off at 64 bits unless it `fits`."""

    value: int
    fits: bool


class Digits(NamedTuple):
    """A positive real number as significant digits and the place of its decimal point (`12.5` is `125`, 2)."""

    digits: str
    point: int


def real_prefix(text: str) -> RealPrefix:
    """Read the longest number that the text begins with."""
    head = _NUMBER.match(text)
    assert head is not None  # every part of it is optional
    sign, whole, dot, fraction = head.groups()
    if not whole and not fraction:
        return RealPrefix(0.0, False, False, False)
    mantissa, exponent = _mantissa(whole, fraction)
    end, fractional = head.end(), bool(dot)
    if tail := _EXPONENT.match(text, end):
        power = min(int(tail[2][:6]), 10_000) if len(tail[2].lstrip("0")) <= 6 else 10_000
        exponent += -power if tail[1] == "-" else power
        end, fractional = tail.end(), True
    value = real_from_decimal(mantissa, exponent) if mantissa else 0.0
    return RealPrefix(-value if sign == "-" else value, True, fractional, not text[end:].strip(_SPACE))


def integer_prefix(text: str) -> IntegerPrefix:
    """Read the integer that a text begins with, 0 without one."""
    if not (head := _INTEGER.match(text)):
        return IntegerPrefix(0, True)
    digits = head[2].lstrip("0")
    value = int(digits or "0") if len(digits) <= 19 else 2 * MAX_INTEGER
    if head[1] == "-":
        value = -value
    cut = min(max(value, MIN_INTEGER), MAX_INTEGER)
    return IntegerPrefix(cut, cut == value)


def real_to_integer(value: float) -> int:
    """Cut a real number off to an integer of 64 bits."""
    if value < -9223372036854774784.0:
        return MIN_INTEGER
    if value > 9223372036854774784.0:
        return MAX_INTEGER
    return int(value)


def is_same_integer(value: float, integer: int) -> bool:
    """Tell whether a real number stands for this integer without doubt about its last digits."""
    return value == 0.0 or (value == integer and -(2**51) <= integer < 2**51)


def integer_to_real(value: int) -> float:
    """Turn an integer of any size to a real number, infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def real_text(value: float, infinity: str = "Inf") -> str:
    """Write a real number as SQLite writes it: up to 17 digits, always with a point."""
    if -1e15 < value < 1e15 and value == int(value):
        return f"{int(value)}.0"
    if isinf(value):
        return infinity if value > 0 else "-" + infinity
    digits, point = real_digits(abs(value), 17, 20)
    sign = "-" if value < 0 else ""
    if not -4 <= point - 1 <= 16:
        exponent = point - 1
        return f"{sign}{digits[0]}.{digits[1:] or '0'}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"


def real_digits(value: float, rounding: int, at_most: int) -> Digits:
    """Round a finite, non-negative number to `rounding` digits; below 1, to that many digits behind the point."""
    if value == 0.0:
        return Digits("0", 1)
    fraction, exponent = frexp(value)
    wanted = 18 if rounding <= 0 or rounding >= 18 else rounding + 1
    number, power = _to_decimal(int(ldexp(fraction, 53)) << 11, exponent - 64, wanted)
    digits = str(number)
    point = len(digits) + power
    if rounding <= 0:
        rounding = point - rounding
        if rounding == 0 and digits[0] >= "5":
            rounding, digits, point = 1, "0" + digits, point + 1
    if rounding > 0 and (rounding < len(digits) or len(digits) > at_most):
        rounding = min(rounding, at_most)
        if rounding == 17:
            rounding = _fewer_digits(value, digits, power, point)
        rounded = digits[:rounding]
        if digits[rounding] >= "5":
            rounded = str(int(rounded) + 1).rjust(rounding, "0")
            point += len(rounded) - rounding
        digits = rounded
    return Digits(digits.rstrip("0") or "0", point)


def real_from_decimal(mantissa: int, exponent: int) -> float:
    """Return mantissa * 10 ** exponent as a real number; the mantissa is positive and has at most 64 bits."""
    if exponent < -348:
        return 0.0
    if exponent > 347:
        return inf
    bits = mantissa.bit_length()
    scale = _log2_of_power(exponent)
    e = 53 - bits - scale
    if e > 1074:
        if e >= 1130:
            return 0.0
        e = 1074
    shift = -(e - (64 - bits) + scale + 3)
    high_power, low_power = _power_of_ten(exponent)
    if low_power:
        high_power, low_power = high_power + 1, low_power ^ 0xFFFFFFFF
    aligned = mantissa << (64 - bits)
    high, low = divmod(aligned * high_power, _WORD)
    sticky = 1
    if not high & ((1 << shift) - 1):
        middle, other = low >> 32, ((aligned * (low_power << 32)) // _WORD) >> 32
        sticky = int((middle - other) % 2**32 > 1)
        high -= middle < other
    number = (high >> shift) | sticky
    if number >= 2**55 - 2:
        number, e = (number >> 1) | (number & 1), e - 1
    if e <= -972:
        return inf
    return ldexp((number + 1 + ((number >> 2) & 1)) >> 2, -e)


def _mantissa(whole: str, fraction: str) -> tuple[int, int]:
    """Take as many digits as SQLite has room for, and the power of ten of the last one."""
    mantissa = exponent = 0
    for index, digit in enumerate(whole):
        mantissa = mantissa * 10 + int(digit)
        if index and mantissa >= _MANTISSA_FULL:
            exponent = len(whole) - index - 1
            break
    for digit in fraction:
        if mantissa >= _MANTISSA_FULL:
            break
        mantissa, exponent = mantissa * 10 + int(digit), exponent - 1
    return mantissa, exponent


def _fewer_digits(value: float, digits: str, power: int, point: int) -> int:
    """Find fewer than 17 digits that read back as the same number: 49.47 rather than 49.469999999999999."""
    if digits[14:16] == "99":
        kept = len(digits[:14].rstrip("9"))
        shorter = int(digits[:kept] or "0") + 1
    elif point >= len(digits) or digits[13:16] == "000":
        kept = len(digits[:13].rstrip("0"))
        shorter = int(digits[:kept])
    else:
        return 17
    same = value == real_from_decimal(shorter, power + len(digits) - kept)
    return kept + 1 if same else 17


def _to_decimal(mantissa: int, exponent: int, digits: int) -> tuple[int, int]:
    """Turn mantissa * 2 ** exponent into n * 10 ** power with about so many digits in n."""
    power = digits - 1 - ((exponent + 63) * 78913 >> 18)
    high = mantissa * _power_of_ten(power)[0] >> 64
    shift = -(exponent + _log2_of_power(power))
    if digits == 18:
        high >>= shift - 2
        return (high + ((high << 1) & 2)) >> 1, -power
    return high >> (shift - 1), -power


def _log2_of_power(power: int) -> int:
    return power * 108853 >> 15


@cache
def _power_of_ten(power: int) -> tuple[int, int]:
    """Return the first 64 bits of a power of ten and the 32 that follow, with SQLite's rounding of the last ones."""
    if power == -1:
        return 0xCCCCCCCCCCCCCCCC, 0xCCCCCCCC
    if 0 <= power < 27:
        return _leading_bits(power, 64), 0
    group, rest = divmod(power, 27)
    scale = _leading_bits(group * 27, 96)
    if not rest:
        return divmod(scale, 2**32)
    base = _leading_bits(rest, 64)
    # The lowest 32 bits of the scale are multiplied apart, and what falls off them is lost.
    product = (scale >> 32) * base + ((scale & 0xFFFFFFFF) * base >> 32)
    high, low = product >> 64, (product >> 32) & 0xFFFFFFFF
    if not high >> 63:
        high, low = (high << 1 | low >> 31) % _WORD, (low << 1 | 1) & 0xFFFFFFFF
    return high, low


def _leading_bits(power: int, bits: int) -> int:
    """Return the leading bits of 10 ** power, the last one rounded."""
    if power >= 0:
        number: int = 10**power
    else:
        divisor: int = 10**-power
        number = (1 << (divisor.bit_length() + bits)) // divisor
    excess = number.bit_length() - bits
    return number << -excess if excess <= 0 else (number + (1 << (excess - 1))) >> excess
