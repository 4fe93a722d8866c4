"""What can go wrong with an expression: while it is compiled, and while it is evaluated."""

from collections.abc import Mapping

from wonder.errors import WonderError
from wonder.language.values import JsonValue


class ExpressionSyntax(WonderError):
    """An expression can't be compiled; `position` is the offset in its text where the fault was found."""

    code = "EXPRESSION_SYNTAX"

    def __init__(self, text: str, position: int, reason: str) -> None:
        super().__init__(f"{reason}; found at position {position} of {_quote(text)}")
        self.text, self.position, self.reason = text, position, reason


class UnknownFunction(ExpressionSyntax):
    """An expression calls a function that does not exist, or not with that many arguments."""

    code = "UNKNOWN_FUNCTION"


class ExpressionForbidden(ExpressionSyntax):
    """An expression uses a part of SQL that is not allowed in Wonder: tables, chance, the clock, binary values."""

    code = "EXPRESSION_FORBIDDEN"


class ExpressionTooLarge(ExpressionSyntax):
    """An expression is longer, or nested deeper, than the limits allow."""

    code = "EXPRESSION_TOO_LARGE"


class ExpressionFailed(WonderError):
    """An expression can't be evaluated over these values (EXP-7); `values` has what it read, by path."""

    code = "EXPRESSION_ERROR"

    def __init__(self, expression: str, reason: str, values: Mapping[str, JsonValue]) -> None:
        read = ", ".join(f"{path} = {_quote(value)}" for path, value in values.items())
        super().__init__(f"{reason}, in {_quote(expression)}" + (f" where {read}" if read else ""))
        self.expression, self.reason, self.values = expression, reason, dict(values)


class EvaluationError(Exception):
    """The reason why a part of an expression has no value; `Expression` adds the expression and the values."""


def _quote(value: JsonValue) -> str:
    shown = repr(value)
    return shown if len(shown) <= 200 else shown[:200] + "..."
