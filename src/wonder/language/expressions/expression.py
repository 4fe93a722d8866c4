"""Expression: a compiled expression, and how to get one from its text."""

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, NoReturn, final

from wonder.language.expressions.compiler import compile_reader, compile_test, compile_value
from wonder.language.expressions.errors import EvaluationError, ExpressionFailed
from wonder.language.expressions.names import Names, Path, show_path
from wonder.language.expressions.operators import Scope
from wonder.language.expressions.parser import parse
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
from wonder.language.values import BadValue, JsonValue, encode_json

_SHOWN_CHARACTERS = 1_000


@final
class Expression:
    """An expression, compiled once; it can be evaluated any number of times, from any thread.

    `paths` are the paths that it reads, each once, in order, from their roots on; `quoted` are the names that stand
    alone and in double quotes.
    """

    __slots__ = ("_evaluate", "_matches", "paths", "quoted", "reads_last_error", "text")

    def __init__(self, text: str, tree: Node, quoted: frozenset[str] = frozenset()) -> None:
        self.text, self.quoted = text, quoted
        self.paths: tuple[Path, ...] = tuple(dict.fromkeys(_paths(tree)))
        self.reads_last_error = any(path[0] == "_last_error" for path in self.paths)
        self._evaluate = _compile_output(tree)
        self._matches = compile_test(tree, True)

    def evaluate(self, scope: Mapping[str, Any]) -> JsonValue:
        """Return the value over a scope of JSON values by root (EXP-6); raise ExpressionFailed if it has none."""
        try:
            return self._evaluate(scope)
        except (EvaluationError, BadValue) as error:
            self._fail(scope, error)

    def matches(self, scope: Mapping[str, Any]) -> bool:
        """Tell whether the expression is true over a scope; NULL is not (EXP-3)."""
        try:
            return self._matches(scope)
        except (EvaluationError, BadValue) as error:
            self._fail(scope, error)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def _fail(self, scope: Scope, error: Exception) -> NoReturn:
        values = {show_path(path): _shortened(compile_reader(path)(scope)) for path in self.paths}
        raise ExpressionFailed(self.text, str(error), values) from None


def compile_expression(text: str, names: Names) -> Expression:
    """Compile an expression; raise ExpressionSyntax, or one of its kinds, if that can't be done."""
    return Expression(text, parse(text, names), quoted_names(text))


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


def _shortened(value: JsonValue) -> JsonValue:
    """Return a value for an error: a large one only by its beginning."""
    if isinstance(value, str | list | dict):
        text = value if isinstance(value, str) else encode_json(value)
        return value if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return value
