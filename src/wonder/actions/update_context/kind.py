"""`update_context`: assignments to the task's context, in order (FIL-3)."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from wonder.actions.protocol import TASK_NAMES, ActionKind, Metric, TaskContext, Use
from wonder.actions.update_context.declaration import Declaration
from wonder.actions.update_context.record import Update, UpdateContext
from wonder.definitions.records.actions import ActionDef
from wonder.language.expressions import compile_expression
from wonder.language.mappings import LITERAL
from wonder.language.paths import Path
from wonder.language.schemas import Schema, shape_at
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
    return _Assignment(path, _evaluation(update.expr, is_boolean=_says_boolean(path, output_schema)))


def _evaluation(expr: JsonValue, *, is_boolean: bool) -> _Evaluate:
    if not isinstance(expr, str):
        value = expr[LITERAL] if isinstance(expr, dict) and expr.keys() == {LITERAL} else expr
        return lambda context: value
    evaluate: _Evaluate = compile_expression(expr, TASK_NAMES).evaluate
    if is_boolean:
        return lambda context: _as_boolean(evaluate(context))
    return evaluate


def _says_boolean(path: Path, output_schema: Schema) -> bool:
    """Say whether the schema of a target is a boolean's; of a task's `state` there is none."""
    if path[0] != "output":
        return False
    shape = shape_at(output_schema, path[1:])
    return shape.kind == "known" and isinstance(shape.schema, dict) and shape.schema.get("type") == "boolean"


def _as_boolean(value: JsonValue) -> JsonValue:
    """Return 0 and 1 as false and true, as EXP-6 has it where the target's schema says boolean."""
    return bool(value) if type(value) is int and value in (0, 1) else value
