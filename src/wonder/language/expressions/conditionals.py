"""Constructs that choose among their operands, as closures: BETWEEN, IN, CASE, coalesce(), min() and their like."""

from typing import NamedTuple

from wonder.language.expressions.comparison import Rules
from wonder.language.expressions.operators import Evaluate, Test
from wonder.language.expressions.readers import Scope
from wonder.language.expressions.sql_values import Collation, SqlValue, apply_affinity, compare


class Limit(NamedTuple):
    """One limit of BETWEEN; the direction is 1 for the lower one and -1 for the upper one."""

    evaluate: Evaluate
    rules: Rules
    direction: int

    def holds(self, value: SqlValue, scope: Scope) -> bool | None:
        """Tell whether a value is on the right side of this limit; None if that is NULL."""
        limit = self.evaluate(scope)
        if value is None or limit is None:
            return None
        return _order(value, limit, self.rules) * self.direction >= 0


def between(operand: Evaluate, low: Limit, high: Limit) -> Evaluate:
    """Return x BETWEEN low AND high, both limits computed."""

    def evaluate(scope: Scope) -> int | None:
        value = operand(scope)
        above, below = low.holds(value, scope), high.holds(value, scope)
        if above is False or below is False:
            return 0
        return None if above is None or below is None else 1

    return evaluate


def test_between(operand: Evaluate, low: Limit, high: Limit, wanted: bool) -> Test:
    """Test x BETWEEN low AND high, without the upper limit where the lower one decides."""

    def test(scope: Scope) -> bool:
        value = operand(scope)
        above = low.holds(value, scope)
        if wanted:
            return above is True and high.holds(value, scope) is True
        return above is False or high.holds(value, scope) is False

    return test


def membership(operand: Evaluate, elements: list[Evaluate], rules: Rules) -> Evaluate:
    """Return x IN (a, b, ...)."""
    # SQLite puts more than two elements into a table first, and so computes all of them.
    computes_all = len(elements) > 2

    def evaluate(scope: Scope) -> int | None:
        value = operand(scope)
        unknown = value is None
        found = False
        for element in elements:
            other = element(scope)
            if other is None:
                unknown = True
            elif value is not None and not found and _order(value, other, rules) == 0:
                found = True
                if not computes_all:
                    break
        return 1 if found else None if unknown else 0

    return evaluate


def first_that_holds(branches: list[tuple[Test, Evaluate]], otherwise: Evaluate) -> Evaluate:
    """Return CASE WHEN test THEN result ... ELSE otherwise END."""

    def evaluate(scope: Scope) -> SqlValue:
        for test, result in branches:
            if test(scope):
                return result(scope)
        return otherwise(scope)

    return evaluate


def first_that_equals(
    operand: Evaluate, matches: list[tuple[Evaluate, Rules]], results: list[Evaluate], otherwise: Evaluate
) -> Evaluate:
    """Return CASE operand WHEN match THEN result ... ELSE otherwise END."""

    def evaluate(scope: Scope) -> SqlValue:
        value = operand(scope)
        for (match, rules), result in zip(matches, results, strict=True):
            other = match(scope)
            if value is not None and other is not None and _order(value, other, rules) == 0:
                return result(scope)
        return otherwise(scope)

    return evaluate


def coalesce(arguments: list[Evaluate]) -> Evaluate:
    """Return the first argument that is not NULL; those behind it are not computed."""

    def evaluate(scope: Scope) -> SqlValue:
        for argument in arguments:
            value = argument(scope)
            if value is not None:
                return value
        return None

    return evaluate


def extreme(arguments: list[Evaluate], collation: Collation | None, *, largest: bool) -> Evaluate:
    """Return min(a, b, ...) or max(a, b, ...), NULL if any argument is; of equal ones, min() takes the last."""

    def evaluate(scope: Scope) -> SqlValue:
        values = [argument(scope) for argument in arguments]
        if any(value is None for value in values):
            return None
        best = values[0]
        for value in values[1:]:
            order = compare(best, value, collation)
            if order < 0 if largest else order >= 0:
                best = value
        return best

    return evaluate


def null_if(left: Evaluate, right: Evaluate, collation: Collation | None) -> Evaluate:
    """Return nullif(a, b): a, or NULL if both are equal."""

    def evaluate(scope: Scope) -> SqlValue:
        first, second = left(scope), right(scope)
        if first is None or second is None:
            return first
        return None if compare(first, second, collation) == 0 else first

    return evaluate


def _order(value: SqlValue, other: SqlValue, rules: Rules) -> int:
    first, second = apply_affinity(value, other, rules.affinity)
    return compare(first, second, rules.collation)
