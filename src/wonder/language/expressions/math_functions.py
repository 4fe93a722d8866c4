"""SQLite's numeric and mathematical functions; what is not a number is NULL, as is what they can't compute."""

import math
from collections.abc import Callable
from typing import Any

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.numbers import MIN_INTEGER, real_digits, real_prefix
from wonder.language.expressions.sql_values import SqlValue, integer_of, numeric_of, real_of


def abs_(value: SqlValue) -> int | float | None:
    """abs(X): the absolute value."""
    if value is None:
        return None
    if type(value) is int:
        if value == MIN_INTEGER:
            raise EvaluationError("integer overflow: abs() has no integer for the smallest integer")
        return abs(value)
    number = real_of(value)
    return -number if number < 0 else number


def round_(value: SqlValue, digits: SqlValue = 0) -> float | None:
    """round(X, Y): X with Y digits behind the point."""
    if digits is None or value is None:
        return None
    places = min(max(integer_of(digits), 0), 30)
    number = real_of(value)
    if not -4503599627370496.0 <= number <= 4503599627370496.0:
        return number
    if places == 0:
        return float(int(number + (-0.5 if number < 0 else 0.5)))
    return _rounded(number, places)


def _rounded(number: float, places: int) -> float:
    digits, point = real_digits(abs(number), -places, 20)
    whole, fraction = (digits[:point].ljust(point, "0"), digits[point:]) if point > 0 else ("0", "0" * -point + digits)
    rounded = real_prefix(f"{whole}.{fraction[:places]}").value
    return -rounded if number < 0 else rounded


def sign(value: SqlValue) -> int | None:
    """sign(X): -1, 0 or 1."""
    number = _number(value)
    return None if number is None else (number > 0) - (number < 0)


def pi() -> float:
    """pi(): the number."""
    return math.pi


def log(*arguments: SqlValue) -> float | None:
    """log(X) to the base 10, or log(B, X) to the base B."""
    first = _number(arguments[0])
    if first is None or float(first) <= 0.0:
        return None
    if len(arguments) == 1:
        return _real(math.log10, float(first))
    base = math.log(float(first))
    number = real_of(arguments[1])
    if base <= 0.0 or number <= 0.0:
        return None
    return _real(lambda x: math.log(x) / base, number)


def logarithm(compute: Callable[[float], float]) -> Callable[[SqlValue], float | None]:
    """Make a function like ln(X), NULL for what has no logarithm."""

    def function(value: SqlValue) -> float | None:
        number = _number(value)
        return None if number is None or float(number) <= 0.0 else _real(compute, float(number))

    return function


def rounding(compute: Callable[[float], int]) -> Callable[[SqlValue], int | float | None]:
    """Make a function like floor(X), which leaves integers alone and gives reals for reals."""

    def function(value: SqlValue) -> int | float | None:
        number: int | float | None = _number(value)
        if type(number) is not float or math.isinf(number):
            return number
        return math.copysign(float(compute(number)), number)

    return function


def of_one(compute: Callable[[float], float]) -> Callable[[SqlValue], float | None]:
    """Make a function like sqrt(X)."""

    def function(value: SqlValue) -> float | None:
        number = _number(value)
        return None if number is None else _real(compute, float(number))

    return function


def of_two(compute: Callable[[float, float], float]) -> Callable[[SqlValue, SqlValue], float | None]:
    """Make a function like pow(X, Y)."""

    def function(left: SqlValue, right: SqlValue) -> float | None:
        first, second = _number(left), _number(right)
        if first is None or second is None:
            return None
        return _real(lambda x: compute(x, float(second)), float(first))

    return function


def _number(value: SqlValue) -> Any:
    number = numeric_of(value)
    return number if type(number) is int or type(number) is float else None


def _real(compute: Callable[[float], float], number: float) -> float | None:
    """Compute as C does, where a result that is no number is NULL."""
    try:
        result = compute(number)
    except ValueError:
        return None
    return None if math.isnan(result) else result


def exp(number: float) -> float:
    """e to the power, infinite where it is too large."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def sinh(number: float) -> float:
    """The hyperbolic sine, infinite where it is too large."""
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def cosh(number: float) -> float:
    """The hyperbolic cosine, infinite where it is too large."""
    try:
        return math.cosh(number)
    except OverflowError:
        return math.inf


def atanh(number: float) -> float:
    """The inverse hyperbolic tangent, infinite at 1 and -1."""
    return math.copysign(math.inf, number) if abs(number) == 1.0 else math.atanh(number)


def power(base: float, exponent: float) -> float:
    """The power, infinite where it is too large and at 0 to a negative power."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
    except ValueError:
        if base != 0.0:
            return math.nan
        odd = exponent % 2 == 1
    return math.copysign(math.inf, base) if odd else math.inf


def radians(degrees_: float) -> float:
    """Degrees as radians."""
    return degrees_ * (math.pi / 180.0)


def degrees(radians_: float) -> float:
    """Radians as degrees."""
    return radians_ * (180.0 / math.pi)
