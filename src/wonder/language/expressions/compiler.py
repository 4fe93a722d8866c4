"""Turns the tree of an expression into closures: one way to get its value, one to test whether it is true or false.

A value of AND and OR is computed from all operands, as SQLite does in a SELECT; a test stops at the first operand that
decides, as it does behind WHERE and WHEN. That matters where an operand fails.
"""

from collections.abc import Callable
from typing import Any

from wonder.language.expressions import conditionals, operators
from wonder.language.expressions.comparison import Rules, collation_of_arguments, rules_for, rules_for_in
from wonder.language.expressions.conditionals import Limit
from wonder.language.expressions.functions import FUNCTIONS, OPERATORS
from wonder.language.expressions.numbers import MAX_INTEGER, MIN_INTEGER
from wonder.language.expressions.operators import AS_VALUE, IS_FALSE, IS_TRUE, Evaluate, Outcomes, Test
from wonder.language.expressions.readers import Scope, compile_reader
from wonder.language.expressions.simplification import LIKELY, simplified, tested_truth
from wonder.language.expressions.sql_values import SqlValue, cast, from_json, truth_of
from wonder.language.expressions.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Chain,
    Collate,
    Constant,
    In,
    Node,
    NullTest,
    Reference,
    Truth,
    Unary,
)
from wonder.language.steps import LARGE, spend_on_text


def compile_value(node: Node) -> Evaluate:
    """Return a closure that gives the SQL value of a node."""
    return _VALUES[type(node)](node)


def compile_test(node: Node, wanted: bool) -> Test:
    """Return a closure that tells whether a node is true (wanted) or false (not wanted); NULL is neither."""
    return _TESTS.get(type(node), _test_of_value)(node, wanted)


def _reference(node: Reference) -> Evaluate:
    if len(node.path) != 2 or type(node.path[1]) is not str:
        read = compile_reader(node.path)

        def evaluate_deep(scope: Scope) -> SqlValue:
            value = read(scope)
            if type(value) is str and len(value) > LARGE:
                spend_on_text(len(value))
            return from_json(value)

        return evaluate_deep
    root, name = node.path

    # The same as above with everything in one closure: a field of state or input is what most conditions read.
    def evaluate(scope: Scope) -> SqlValue:
        try:
            value = scope[root][name]  # type: ignore[index]  # the first part of a path is a name
        except (KeyError, TypeError):
            return None
        kind = type(value)
        if kind is str:
            if len(value) > LARGE:
                spend_on_text(len(value))
            return value
        if kind is float:
            return value
        if kind is int and MIN_INTEGER <= value <= MAX_INTEGER:
            return value
        return from_json(value)

    return evaluate


def _constant(node: Constant) -> Evaluate:
    value = node.value
    return lambda scope: value


def _truth(node: Truth) -> Evaluate:
    value = int(node.value)
    return lambda scope: value


def _unary(node: Unary) -> Evaluate:
    operand = compile_value(node.operand)
    if node.operator == "+":
        return operand
    if node.operator == "-":
        return operators.negative(operand)
    if node.operator == "~":
        return operators.bit_not(operand)

    def negation(scope: Scope) -> int | None:
        value = operand(scope)
        return None if value is None else int(not truth_of(value))

    return negation


def _test_unary(node: Unary, wanted: bool) -> Test:
    return compile_test(node.operand, not wanted) if node.operator == "not" else _test_of_value(node, wanted)


def _test_of_value(node: Node, wanted: bool) -> Test:
    evaluate = compile_value(node)

    def test(scope: Scope) -> bool:
        value = evaluate(scope)
        return value is not None and truth_of(value) is wanted

    return test


def _binary(node: Binary) -> Evaluate:
    if node.operator in _ARITHMETIC:
        return operators.arithmetic(node.operator, compile_value(node.left), compile_value(node.right))
    truth = tested_truth(node)
    if truth is None:
        return _comparison(node, AS_VALUE)
    operand = compile_value(node.left)
    holds = truth.value
    equal, different = (1, 0) if node.operator == "is" else (0, 1)

    def is_truth(scope: Scope) -> int:
        value = operand(scope)
        return equal if value is not None and truth_of(value) is holds else different

    return is_truth


def _test_binary(node: Binary, wanted: bool) -> Test:
    if node.operator in _ARITHMETIC:
        return _test_of_value(node, wanted)
    truth = tested_truth(node)
    if truth is None:
        return _comparison(node, IS_TRUE if wanted else IS_FALSE)
    test = compile_test(node.left, truth.value)
    positive = wanted is (node.operator == "is")
    return test if positive else lambda scope: not test(scope)


_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "&", "|", "<<", ">>"})


def _comparison(node: Binary, outcomes: Outcomes) -> Evaluate:
    rules, left, right = rules_for(node.left, node.right), node.left, node.right
    constant: Any = None
    if isinstance(right, Constant | Truth):
        constant = int(right.value) if isinstance(right, Truth) else right.value
    if type(constant) in (int, float, str) and rules == Rules("none", None) and node.operator not in ("is", "is not"):
        return operators.comparison_with_constant(node.operator, compile_value(left), constant, outcomes)
    return operators.comparison(node.operator, compile_value(left), compile_value(right), rules, outcomes)


def _chain(node: Chain) -> Evaluate:
    if node.operator == "||":
        return operators.concatenation([compile_value(operand) for operand in node.operands])
    decided, undecided = (0, 1) if node.operator == "and" else (1, 0)
    operands = [compile_value(operand) for operand in simplified(node)]

    def evaluate(scope: Scope) -> int | None:
        result: int | None = undecided
        for operand in operands:
            value = operand(scope)
            if value is None:
                result = decided if result == decided else None
            elif truth_of(value) is bool(decided):
                result = decided
        return result

    return evaluate


def _test_chain(node: Chain, wanted: bool) -> Test:
    if node.operator == "||":
        return _test_of_value(node, wanted)
    tests = [compile_test(operand, wanted) for operand in simplified(node)]
    if (node.operator == "and") is wanted:
        return _all(tests)

    def any_holds(scope: Scope) -> bool:
        for test in tests:  # noqa: SIM110 - any() over a generator takes twice as long
            if test(scope):
                return True
        return False

    return any_holds


def _all(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda scope: first(scope) and second(scope)

    def all_hold(scope: Scope) -> bool:
        for test in tests:  # noqa: SIM110 - all() over a generator takes twice as long
            if not test(scope):
                return False
        return True

    return all_hold


def _null_test(node: NullTest) -> Evaluate:
    operand = compile_value(node.operand)
    if node.negated:
        return lambda scope: 0 if operand(scope) is None else 1
    return lambda scope: 1 if operand(scope) is None else 0


def _between(node: Between) -> Evaluate:
    return conditionals.between(*_limits(node))


def _test_between(node: Between, wanted: bool) -> Test:
    return conditionals.test_between(*_limits(node), wanted)


def _limits(node: Between) -> tuple[Evaluate, Limit, Limit]:
    low = Limit(compile_value(node.low), rules_for(node.operand, node.low), 1)
    high = Limit(compile_value(node.high), rules_for(node.operand, node.high), -1)
    return compile_value(node.operand), low, high


def _in(node: In) -> Evaluate:
    elements = [compile_value(element) for element in node.elements]
    return conditionals.membership(compile_value(node.operand), elements, rules_for_in(node.operand))


def _case(node: Case) -> Evaluate:
    results = [compile_value(result) for _, result in node.branches]
    otherwise = compile_value(node.otherwise) if node.otherwise else _null
    if node.operand is None:
        tests = [compile_test(test, True) for test, _ in node.branches]
        return conditionals.first_that_holds(list(zip(tests, results, strict=True)), otherwise)
    matches = [(compile_value(test), rules_for(node.operand, test)) for test, _ in node.branches]
    return conditionals.first_that_equals(compile_value(node.operand), matches, results, otherwise)


def _iif(arguments: tuple[Node, ...]) -> Evaluate:
    """Return iif(test, result, test, result, ..., otherwise)."""
    tests = [compile_test(test, True) for test in arguments[: len(arguments) // 2 * 2 : 2]]
    results = [compile_value(result) for result in arguments[1::2]]
    otherwise = compile_value(arguments[-1]) if len(arguments) % 2 else _null
    return conditionals.first_that_holds(list(zip(tests, results, strict=True)), otherwise)


def _cast(node: Cast) -> Evaluate:
    operand, affinity = compile_value(node.operand), node.affinity
    return lambda scope: cast(operand(scope), affinity)


def _collate(node: Collate) -> Evaluate:
    return compile_value(node.operand)


def _call(node: Call) -> Evaluate:
    if node.name in ("iif", "if"):
        return _iif(node.arguments)
    arguments = [compile_value(argument) for argument in node.arguments]
    if node.name in LIKELY:
        return arguments[0]
    if node.name in ("coalesce", "ifnull"):
        return conditionals.coalesce(arguments)
    if node.name in ("min", "max"):
        return conditionals.extreme(arguments, collation_of_arguments(node.arguments), largest=node.name == "max")
    if node.name == "nullif":
        return conditionals.null_if(arguments[0], arguments[1], collation_of_arguments(node.arguments))
    function = OPERATORS[node.name] if node.name in OPERATORS else FUNCTIONS[node.name].call
    return _applied(function, arguments)


def _applied(function: Callable[..., SqlValue], arguments: list[Evaluate]) -> Evaluate:
    """Call a function; what it takes for large texts was counted where they came from, as is here what it gives."""
    if len(arguments) == 1:
        (only,) = arguments
        return lambda scope: _counted(function(only(scope)))
    if len(arguments) == 2:
        first, second = arguments
        return lambda scope: _counted(function(first(scope), second(scope)))
    return lambda scope: _counted(function(*[argument(scope) for argument in arguments]))


def _counted(value: SqlValue) -> SqlValue:
    if type(value) is str and len(value) > LARGE:
        spend_on_text(len(value))
    return value


def _null(scope: Scope) -> None:
    """The value of an ELSE that is not there."""


_VALUES: dict[type[Node], Callable[[Any], Evaluate]] = {
    Between: _between,
    Binary: _binary,
    Call: _call,
    Case: _case,
    Cast: _cast,
    Chain: _chain,
    Collate: _collate,
    Constant: _constant,
    In: _in,
    NullTest: _null_test,
    Reference: _reference,
    Truth: _truth,
    Unary: _unary,
}
_TESTS: dict[type[Node], Callable[[Any, bool], Test]] = {
    Between: _test_between,
    Binary: _test_binary,
    Chain: _test_chain,
    Unary: _test_unary,
}
