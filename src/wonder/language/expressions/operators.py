"""Operators as closures over their operands: arithmetic, bits, texts and comparison."""

import operator
from collections.abc import Callable
from math import isnan
from typing import Any, Final, NamedTuple, TypeAlias

from wonder.language.expressions.comparison import Rules
from wonder.language.expressions.numbers import MAX_INTEGER, MIN_INTEGER
from wonder.language.expressions.readers import Scope
from wonder.language.expressions.sql_values import (
    Document,
    SqlValue,
    apply_affinity,
    compare,
    integer_of,
    number_of,
    real_of,
    text_of,
)
from wonder.language.expressions.text_functions import join_texts
from wonder.language.steps import spend_on_text

Evaluate: TypeAlias = Callable[[Scope], SqlValue]
Test: TypeAlias = Callable[[Scope], bool]


class Outcomes(NamedTuple):
    """What a comparison gives when it holds, when it does not, and when it is NULL."""

    holds: Any
    fails: Any
    unknown: Any


AS_VALUE: Final = Outcomes(1, 0, None)
IS_TRUE: Final = Outcomes(True, False, False)
IS_FALSE: Final = Outcomes(False, True, False)

_ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is not": operator.ne,
}


def comparison(name: str, left: Evaluate, right: Evaluate, rules: Rules, outcomes: Outcomes) -> Evaluate:
    """Compare two operands; `is` and `is not` take NULL for a value."""
    if name in ("is", "is not"):
        return _null_safe(name, left, right, rules, outcomes)
    ordering = _ORDERINGS[name]
    holds, fails, unknown = outcomes
    affinity, collation = rules
    plain = affinity == "none" and collation is None

    def evaluate(scope: Scope) -> Any:
        first, second = left(scope), right(scope)
        if plain and type(first) is type(second) and type(first) is not Document:
            if first is None:
                return unknown
            return holds if ordering(first, second) else fails
        if first is None or second is None:
            return unknown
        first, second = apply_affinity(first, second, affinity)
        return holds if ordering(compare(first, second, collation), 0) else fails

    return evaluate


def comparison_with_constant(name: str, left: Evaluate, constant: int | float | str, outcomes: Outcomes) -> Evaluate:
    """Compare an operand with a constant and without any conversion: the usual case, and the fastest."""
    ordering = _ORDERINGS[name]
    holds, fails, unknown = outcomes
    if type(constant) is str:
        # Every number is less than every text.
        of_number = holds if ordering(-1, 0) else fails

        def compare_text(scope: Scope) -> Any:
            value = left(scope)
            kind = type(value)
            if kind is str:
                return holds if ordering(value, constant) else fails
            if value is None:
                return unknown
            if kind is Document:
                return holds if ordering(value.text, constant) else fails
            return of_number

        return compare_text
    of_text = holds if ordering(1, 0) else fails

    def compare_number(scope: Scope) -> Any:
        value = left(scope)
        kind = type(value)
        if kind is int or kind is float:
            return holds if ordering(value, constant) else fails
        return unknown if value is None else of_text

    return compare_number


def _null_safe(name: str, left: Evaluate, right: Evaluate, rules: Rules, outcomes: Outcomes) -> Evaluate:
    same, different = (outcomes.holds, outcomes.fails) if name == "is" else (outcomes.fails, outcomes.holds)

    def evaluate(scope: Scope) -> Any:
        first, second = left(scope), right(scope)
        if first is None or second is None:
            return same if first is second else different
        first, second = apply_affinity(first, second, rules.affinity)
        return different if compare(first, second, rules.collation) else same

    return evaluate


def arithmetic(name: str, left: Evaluate, right: Evaluate) -> Evaluate:
    """Return +, -, *, /, %, &, |, << or >> over two operands."""
    if name in _BITS:
        return _bits(_BITS[name], left, right)
    if name == "/":
        return _division(left, right)
    if name == "%":
        return _remainder(left, right)
    compute = _EXACT[name]

    def evaluate(scope: Scope) -> Any:
        first, second = left(scope), right(scope)
        if type(first) is not int or type(second) is not int:
            if first is None or second is None:
                return None
            exact, other = number_of(first), number_of(second)
            if type(exact) is float or type(other) is float:
                # Not the numbers just found: the text '-0' is the integer 0, but the real number -0.0.
                return _real(compute(real_of(first), real_of(second)))
            first, second = exact, other
        result = compute(first, second)
        # An integer that overflows goes on as a real number.
        return result if MIN_INTEGER <= result <= MAX_INTEGER else compute(float(first), float(second))

    return evaluate


def negative(operand: Evaluate) -> Evaluate:
    """Return 0 - x, as SQLite reads a minus in front of anything but a number."""
    return arithmetic("-", lambda scope: 0, operand)


def bit_not(operand: Evaluate) -> Evaluate:
    """Return ~x."""

    def evaluate(scope: Scope) -> int | None:
        value = operand(scope)
        return None if value is None else ~integer_of(value)

    return evaluate


def concatenation(operands: list[Evaluate]) -> Evaluate:
    """Return a || b || ..., NULL if any of them is."""

    def evaluate(scope: Scope) -> str | None:
        texts = [text_of(operand(scope)) for operand in operands]
        if None in texts:
            return None
        joined = join_texts("", texts)
        spend_on_text(len(joined))
        return joined

    return evaluate


_EXACT: Final[dict[str, Callable[[Any, Any], Any]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _real(value: float) -> float | None:
    return None if isnan(value) else value


def _division(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(scope: Scope) -> int | float | None:
        dividend, divisor = left(scope), right(scope)
        first, second = number_of(dividend), number_of(divisor)
        if first is None or second is None or second == 0:
            return None
        if type(first) is int and type(second) is int:
            quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
            return quotient if quotient <= MAX_INTEGER else float(first) / float(second)
        return _real(real_of(dividend) / real_of(divisor))

    return evaluate


def _remainder(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(scope: Scope) -> int | float | None:
        first, second = left(scope), right(scope)
        if first is None or second is None:
            return None
        exact = type(number_of(first)) is int and type(number_of(second)) is int
        # Here SQLite cuts each operand off to an integer by itself: the text '1e3' counts as 1, not as 1000.
        dividend, divisor = integer_of(first), integer_of(second)
        if divisor == 0:
            return None
        result = abs(dividend) % abs(divisor) * (-1 if dividend < 0 else 1)
        return result if exact else float(result)

    return evaluate


def _shift_left(value: int, by: int) -> int:
    if by < 0:
        return _shift_right(value, -by)
    return 0 if by >= 64 else ((value << by) + 2**63) % 2**64 - 2**63


def _shift_right(value: int, by: int) -> int:
    if by < 0:
        return _shift_left(value, -by)
    return value >> min(by, 64)


_BITS: Final[dict[str, Callable[[int, int], int]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "<<": _shift_left,
    ">>": _shift_right,
}


def _bits(compute: Callable[[int, int], int], left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(scope: Scope) -> int | None:
        first, second = left(scope), right(scope)
        if first is None or second is None:
            return None
        return compute(integer_of(first), integer_of(second))

    return evaluate
