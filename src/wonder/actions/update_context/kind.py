"""`update_context`: assignments to the task's context, in order (FIL-3)."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from wonder.actions.protocol import TASK_NAMES, ActionKind, Metric, TaskContext, Use
from wonder.actions.update_context.declaration import Declaration
from wonder.actions.update_context.record import Update, UpdateContext
from wonder.definitions.records.actions import ActionDef
from wonder.language.assigning import as_boolean, becomes_boolean
from wonder.language.expressions import compile_expression
from wonder.language.mappings import LITERAL
from wonder.language.paths import Path
from wonder.language.schemas import Schema
from wonder.language.targets import parse_target, write
from wonder.language.values import JsonValue

_Evaluate: TypeAlias = Callable[[TaskContext], JsonValue]


class UpdateContextKind(Declaration, ActionKind):
    """Assigns the values of expressions."""

    def compile(self, action: ActionDef, use: Use) -> "ContextUpdates":
        """Compile every assignment."""
        configured: UpdateContext = self.read(action)
        return ContextUpdates([_assignment(update, use.output_schema) for update in configured.updates])


class _Assignment(NamedTuple):
    path: Path
    evaluate: _Evaluate


class ContextUpdates:
    """Assignments, each of which sees those before it."""

    __slots__ = ("_assignments",)

    def __init__(self, assignments: list[_Assignment]) -> None:
        self._assignments = assignments

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Return the context with all assignments made; raises ExpressionFailed or TargetUnwritable."""
        for path, evaluate in self._assignments:
            context, _ = write(context, path, evaluate(context))
        return context


def _assignment(update: Update, output_schema: Schema) -> _Assignment:
    path = parse_target(update.path).path
    return _Assignment(path, _evaluation(update.expr, path, output_schema))


def _evaluation(expr: JsonValue, path: Path, output_schema: Schema) -> _Evaluate:
    if not isinstance(expr, str):
        value = expr[LITERAL] if isinstance(expr, dict) and expr.keys() == {LITERAL} else expr
        return lambda context: value
    expression = compile_expression(expr, TASK_NAMES)
    # Of a task's `state` there is no schema.
    if path[0] == "output" and becomes_boolean(expression, output_schema, path[1:]):
        return lambda context: as_boolean(expression.evaluate(context))
    return expression.evaluate
