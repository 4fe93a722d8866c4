"""Filter expressions of RFC 9535 (`[?@.price < 10]`), compiled to functions."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from jsonpath import JSONPath
from jsonpath.filter import (
    BaseExpression,
    FilterExpression,
    FilterExpressionLiteral,
    FunctionExtension,
    InfixExpression,
    Nil,
    PrefixExpression,
    RegexLiteral,
    RelativeFilterQuery,
    RootFilterQuery,
    StringLiteral,
)

from wonder.language.paths.faults import PathSyntax, QueryTooLarge
from wonder.language.paths.getters import MISSING, Missing
from wonder.language.paths.patterns import BadPattern, compile_pattern, pattern_or_none
from wonder.language.pattern_width import width_of
from wonder.language.values import JsonValue

_DEPTH_MAX = 50
# So many characters are compared, or places of a pattern followed, in the time of one visit at most.
TEXT_STEP: Final = 1_000
_PLACES_STEP: Final = 64
_LARGE: Final = (str, list, dict)


class Search:
    """One evaluation of a query: its document, and how much of it may still be visited."""

    __slots__ = ("root", "steps_left", "steps_max", "text")

    def __init__(self, root: JsonValue, steps_max: int, text: str) -> None:
        self.root, self.steps_left, self.steps_max, self.text = root, steps_max, steps_max, text

    def spend(self, steps: int) -> None:
        """Count visited values; raises QueryTooLarge when they are too many."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise QueryTooLarge(self.text, self.steps_max)

    def spend_on_comparing(
        self, one: str | list[Any] | dict[str, Any], other: str | list[Any] | dict[str, Any]
    ) -> None:
        """Count what has to be looked at to tell whether two are equal: the same two may be compared for each value."""
        if isinstance(one, str):
            self.spend(min(len(one), len(other)) // TEXT_STEP)
            return
        left: list[Any] = [one] if len(one) == len(other) else []
        while left:
            held = left.pop()
            if isinstance(held, list | dict):
                self.spend(1 + len(held))
                left += held if isinstance(held, list) else held.values()
            elif isinstance(held, str):
                self.spend(len(held) // TEXT_STEP)

    def spend_on_matching(self, text: str, width: int) -> None:
        """Count what it takes to match a text with a pattern of so many places."""
        self.spend(len(text) // TEXT_STEP + len(text) * width // _PLACES_STEP)


Test: TypeAlias = Callable[[JsonValue, Search], bool]
Operand: TypeAlias = Callable[[JsonValue, Search], JsonValue | Missing]
NodesOf: TypeAlias = Callable[[JsonValue, Search], list[JsonValue]]
# How a query inside a filter is compiled: given by the room next door, which in its turn needs filters.
QueryCompiler: TypeAlias = Callable[[str, JSONPath], NodesOf]


def compile_filter(text: str, expression: BaseExpression, compile_query: QueryCompiler) -> Test:
    """Return the function that says whether a value passes the filter."""
    return _Compiler(text, compile_query).test(expression, _DEPTH_MAX)


class _Compiler:
    def __init__(self, text: str, compile_query: QueryCompiler) -> None:
        self.text, self.compile_query = text, compile_query

    def test(self, expression: BaseExpression, depth_left: int) -> Test:
        if not depth_left:
            raise self.refused(f"a filter nested deeper than {_DEPTH_MAX} levels")
        match expression:
            case FilterExpression(expression=inner):
                return self.test(inner, depth_left)
            case InfixExpression(operator="&&" | "||" as operator):
                tests = [self.test(term, depth_left - 1) for term in _terms(expression, operator)]
                if operator == "&&":
                    return lambda value, search: all(test(value, search) for test in tests)
                return lambda value, search: any(test(value, search) for test in tests)
            case InfixExpression(left=left, operator=operator, right=right):
                return self.comparison(operator, self.operand(left), self.operand(right))
            case PrefixExpression(operator="!", right=right):
                negated = self.test(right, depth_left - 1)
                return lambda value, search: not negated(value, search)
            case RelativeFilterQuery() | RootFilterQuery():
                nodes = self.nodes(expression)
                return lambda value, search: bool(nodes(value, search))
            case FunctionExtension(name="match" | "search" as name, args=(subject, pattern)):
                return self.pattern_test(name, subject, pattern)
            case _:
                raise self.refused(f"{expression} is no test")

    def comparison(self, operator: str, left: Operand, right: Operand) -> Test:
        compare = _COMPARISONS.get(operator)
        if compare is None:
            raise self.refused(f"there is no operator {operator}")

        def test(value: JsonValue, search: Search) -> bool:
            # Of these there may be a hundred in one filter.
            search.spend(1)
            one, other = left(value, search), right(value, search)
            if isinstance(one, _LARGE) and isinstance(other, _LARGE):
                search.spend_on_comparing(one, other)
            return compare(one, other)

        return test

    def operand(self, expression: BaseExpression) -> Operand:
        match expression:
            case Nil():
                return lambda value, search: None
            case RegexLiteral():
                raise self.refused("regular expressions are texts for match() and search()")
            case FilterExpressionLiteral(value=literal):
                return lambda value, search: literal
            case RelativeFilterQuery() | RootFilterQuery():
                nodes = self.nodes(expression)
                return lambda value, search: next(iter(nodes(value, search)), MISSING)
            case FunctionExtension(name="length", args=(argument,)):
                measured = self.operand(argument)
                return lambda value, search: _length(measured(value, search))
            case FunctionExtension(name="count", args=(argument,)):
                nodes = self.nodes(argument)
                return lambda value, search: len(nodes(value, search))
            case FunctionExtension(name="value", args=(argument,)):
                nodes = self.nodes(argument)
                return lambda value, search: _only(nodes(value, search))
            case _:
                raise self.refused(f"{expression} is no value to compare")

    def nodes(self, expression: BaseExpression) -> NodesOf:
        match expression:
            case RelativeFilterQuery(path=path):
                return self.compile_query(self.text, path)
            case RootFilterQuery(path=path):
                from_root = self.compile_query(self.text, path)
                return lambda value, search: from_root(search.root, search)
            case _:
                raise self.refused(f"{expression} is no query")

    def pattern_test(self, name: str, subject: BaseExpression, pattern: BaseExpression) -> Test:
        whole = name == "match"
        matched = self.operand(subject)
        if isinstance(pattern, StringLiteral):
            try:
                matches, width = compile_pattern(pattern.value, whole=whole), width_of(pattern.value)
            except BadPattern as refusal:
                raise self.refused(str(refusal)) from None

            def test_literal(value: JsonValue, search: Search) -> bool:
                text = matched(value, search)
                if not isinstance(text, str):
                    return False
                search.spend_on_matching(text, width)
                return matches(text)

            return test_literal
        given = self.operand(pattern)

        def test(value: JsonValue, search: Search) -> bool:
            text, written = matched(value, search), given(value, search)
            if not (isinstance(text, str) and isinstance(written, str)):
                return False
            matches = pattern_or_none(written, whole=whole)
            if matches is None:
                return False
            search.spend_on_matching(text, width_of(written))
            return matches(text)

        return test

    def refused(self, reason: str) -> PathSyntax:
        return PathSyntax(self.text, self.text.index("?") if "?" in self.text else 0, reason, "see RFC 9535")


def _terms(expression: BaseExpression, operator: str) -> list[BaseExpression]:
    """Flatten `a && b && c`, which the parser nests to the right, so that long chains do not recurse."""
    terms = []
    while isinstance(expression, InfixExpression) and expression.operator == operator:
        terms.append(expression.left)
        expression = expression.right
    return [*terms, expression]


def _length(value: JsonValue | Missing) -> JsonValue | Missing:
    return len(value) if isinstance(value, str | list | dict) else MISSING


def _only(nodes: list[JsonValue]) -> JsonValue | Missing:
    return nodes[0] if len(nodes) == 1 else MISSING


def _equal(left: Any, right: Any) -> bool:
    # Python's == says yes to all that is equal, and also to true and 1, at any depth.
    return bool(left == right) and _same_kinds(left, right)


def _same_kinds(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    if isinstance(left, list):
        return all(map(_same_kinds, left, right))
    if isinstance(left, dict):
        return all(_same_kinds(value, right[key]) for key, value in left.items())
    return True


def _less(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return numbers and not isinstance(left, bool) and not isinstance(right, bool) and bool(left < right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    ">": lambda left, right: _less(right, left),
    "<=": lambda left, right: _less(left, right) or _equal(left, right),
    ">=": lambda left, right: _less(right, left) or _equal(left, right),
}
