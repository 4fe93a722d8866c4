"""`assert`: fails unless an expression holds over the task's context."""

from collections.abc import Callable

from wonder.actions.assert_.declaration import Declaration
from wonder.actions.assert_.record import Assert
from wonder.actions.protocol import TASK_NAMES, ActionFailed, ActionKind, Metric, TaskContext, Use
from wonder.definitions.records.actions import ActionDef
from wonder.language.expressions import compile_expression, show_path
from wonder.language.paths import MISSING
from wonder.language.paths.getters import getter
from wonder.language.values import JsonValue, encode_json

_SHOWN_MAX = 200


class AssertKind(Declaration, ActionKind):
    """Holds an expression against the context."""

    def compile(self, action: ActionDef, use: Use) -> "Assertion":
        """Compile the expression."""
        return Assertion(self.read(action))


class Assertion:
    """An expression that must hold; NULL does not (EXP-3)."""

    __slots__ = ("_expression", "_message", "_readers")

    def __init__(self, configured: Assert) -> None:
        self._expression = compile_expression(configured.expr, TASK_NAMES)
        self._message = configured.message or f"{configured.expr} does not hold"
        self._readers = [(show_path(path), getter(path)) for path in self._expression.paths]

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Return the context as it is; raises ActionFailed with what the expression read, or ExpressionFailed."""
        if self._expression.matches(context):
            return context
        read = ((name, read(context)) for name, read in self._readers)
        values: dict[str, JsonValue] = {name: _shown(value) for name, value in read if value is not MISSING}
        details: dict[str, JsonValue] = {"expr": self._expression.text, "values": values}
        raise ActionFailed("ASSERTION_FAILED", self._message, details=details)


def _shown(value: JsonValue) -> JsonValue:
    """Return a value that is small enough to be part of an error."""
    text = encode_json(value)
    return value if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
