"""Compiling: how to get an expression from its text, or from a structured condition.

What reads and evaluates expressions takes 20 ms to load, and many workflows have none: it is imported by the first.
"""

from wonder.language.expressions.expression import Expression
from wonder.language.expressions.names import Names
from wonder.language.values import JsonValue


def compile_expression(text: str, names: Names) -> Expression:
    """Compile an expression; raise ExpressionSyntax, or one of its kinds, if that can't be done."""
    from wonder.language.expressions.building import build_from_text

    return build_from_text(text, names)


def compile_structured(definition: JsonValue, names: Names) -> Expression:
    """Compile a structured condition; raise ExpressionSyntax, with the place in the definition, if it is invalid."""
    from wonder.language.expressions.structured import build_from_structured

    return build_from_structured(definition, names)
