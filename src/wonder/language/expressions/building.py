"""Builds an Expression from its text or its tree."""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import TypeVar

from wonder.language.expressions.compiler import compile_test, compile_value
from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.expression import Expression
from wonder.language.expressions.names import Names, Path
from wonder.language.expressions.parser import parse
from wonder.language.expressions.readers import Scope, compile_reader
from wonder.language.expressions.sql_values import Document, SqlValue, text_of
from wonder.language.expressions.tokens import quoted_names
from wonder.language.expressions.tree import (
    Between,
    Binary,
    Call,
    Cast,
    Chain,
    Collate,
    In,
    Node,
    NullTest,
    Reference,
    Truth,
    Unary,
)
from wonder.language.steps import LARGE, spend
from wonder.language.values import JsonValue

Result = TypeVar("Result")


def build_from_text(text: str, names: Names) -> Expression:
    """Build an expression from how a person wrote it; raise ExpressionSyntax, or one of its kinds."""
    return build(text, parse(text, names), quoted_names(text))


def build(text: str, tree: Node, quoted: frozenset[str] = frozenset()) -> Expression:
    """Build an expression from its tree."""
    paths = tuple(dict.fromkeys(_paths(tree)))
    evaluate, matches, size = _compile_output(tree), compile_test(tree, True), _size(tree)
    if size > LARGE:
        evaluate, matches = _counted(evaluate, size), _counted(matches, size)
    return Expression(text, paths, quoted, evaluate, matches, copies=isinstance(tree, Reference))


def _counted(evaluate: Callable[[Scope], Result], size: int) -> Callable[[Scope], Result]:
    """Count one step for each node of a large tree; a small one takes less time than to count it."""

    def counted(scope: Scope) -> Result:
        spend(size)
        return evaluate(scope)

    return counted


def _size(node: Node) -> int:
    return 1 + sum(_size(child) for child in node.children())


def _paths(node: Node) -> Iterator[Path]:
    if isinstance(node, Reference):
        yield node.path
    for child in node.children():
        yield from _paths(child)


def _compile_output(tree: Node) -> Callable[[Scope], JsonValue]:
    if isinstance(tree, Reference):
        return compile_reader(tree.path)
    evaluate = compile_value(tree)
    if _is_logical(tree):
        return lambda scope: None if (value := evaluate(scope)) is None else bool(value)
    if _is_cast(tree):
        return lambda scope: _output(text_of(value) if type(value := evaluate(scope)) is Document else value)
    return lambda scope: _output(evaluate(scope))


def _is_cast(tree: Node) -> bool:
    """Tell whether somebody asked for a type, so that a JSON text goes out as the text it was cast to."""
    while isinstance(tree, Collate):
        tree = tree.operand
    return isinstance(tree, Cast)


def _is_logical(tree: Node) -> bool:
    """Tell whether a tree gives true or false rather than 1 or 0."""
    match tree:
        case Truth() | NullTest() | In() | Between():
            return True
        case Unary(operator=operator):
            return operator == "not"
        case Binary(operator=operator):
            return operator in ("=", "!=", "<", "<=", ">", ">=", "is", "is not")
        case Chain(operator=operator):
            return operator != "||"
        case Call(name=name, infix=infix):
            return infix and name not in ("->", "->>")
        case _:
            return False


def _output(value: SqlValue) -> JsonValue:
    if type(value) is Document:
        return value.to_json()  # type: ignore[no-any-return]  # it is JSON
    if type(value) is float and not isfinite(value):
        raise EvaluationError("overflow: the result is too large for a number")
    return value  # type: ignore[no-any-return]  # an int, float, str or None
