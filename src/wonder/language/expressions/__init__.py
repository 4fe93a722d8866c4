"""SQL scalar expressions over the context, with SQLite's meaning, compiled to closures (EXP-1 to EXP-7)."""

from wonder.language.expressions.compiling import compile_expression, compile_structured
from wonder.language.expressions.errors import (
    ExpressionFailed,
    ExpressionForbidden,
    ExpressionSyntax,
    ExpressionTooLarge,
    UnknownFunction,
)
from wonder.language.expressions.expression import Expression
from wonder.language.expressions.names import RESERVED_WORDS, ROOTS, Names, Path, is_item_var, parse_path, show_path

__all__ = [
    "RESERVED_WORDS",
    "ROOTS",
    "Expression",
    "ExpressionFailed",
    "ExpressionForbidden",
    "ExpressionSyntax",
    "ExpressionTooLarge",
    "Names",
    "Path",
    "UnknownFunction",
    "compile_expression",
    "compile_structured",
    "is_item_var",
    "parse_path",
    "show_path",
]
