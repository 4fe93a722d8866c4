"""Kinds of a user's package: what crosses the border to their code is copied, and checked on its way back (ACT-8)."""

from collections.abc import Callable
from typing import cast

from wonder.actions.copied_values import copy_value, take_value
from wonder.actions.errors import BadResult
from wonder.actions.protocol import ActionContext, ActionKind, CompiledAction, ContextAction, Metric, TaskContext, Use
from wonder.actions.resources import Secrets
from wonder.actions.secrets.fields import SecretFields
from wonder.definitions.records.actions import ActionDef
from wonder.engine.pure import METRIC_MAX
from wonder.language.keys import check_key
from wonder.language.values import BadValue, JsonValue

_OURS = "wonder."


def is_foreign(kind: ActionKind) -> bool:
    """Say whether a kind is not one of Wonder's own."""
    return not type(kind).__module__.startswith(_OURS)


def compile_foreign(kind: ActionKind, action: ActionDef, use: Use, secrets: Secrets) -> CompiledAction | ContextAction:
    """Compile an action of a foreign kind; secrets that its secret fields name are filled in when it runs (INV-8)."""
    fields = SecretFields(kind, action, use, secrets)
    if fields.read and kind.carried_out == "acting":
        return ForeignActionWithSecrets(fields, kind.kind)
    compiled = kind.compile(action, use)
    if kind.carried_out == "on_context":
        return ForeignContextAction(cast(ContextAction, compiled), kind.kind)
    return ForeignAction(cast(CompiledAction, compiled), kind.kind)


class ForeignAction:
    """An action of a foreign kind: what it gives is JSON of our own, or a failure."""

    __slots__ = ("_action", "_kind")

    def __init__(self, action: CompiledAction, kind: str) -> None:
        self._action, self._kind = action, kind

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Run it with a copy of the input; raises BadResult too."""
        return _taken(await self._action.run(copy_value(input), context), self._kind)


class ForeignActionWithSecrets:
    """One that is compiled for the values of its secrets, when they are known."""

    __slots__ = ("_fields", "_kind")

    def __init__(self, fields: SecretFields, kind: str) -> None:
        self._fields, self._kind = fields, kind

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Run it with a copy of the input; raises BadResult and SecretMissing too."""
        action = await self._fields.compiled(context.origin)
        return _taken(await action.run(copy_value(input), context), self._kind)


class ForeignContextAction:
    """A foreign kind that works on the task's context."""

    __slots__ = ("_action", "_kind")

    def __init__(self, action: ContextAction, kind: str) -> None:
        self._action, self._kind = action, kind

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Apply it to a copy of the context; raises BadResult too."""
        copied = {name: copy_value(value) for name, value in context.items()}
        taken = _taken(self._action.apply(copied, lambda metric: emit(_taken_metric(metric, self._kind))), self._kind)
        if not isinstance(taken, dict):
            raise BadResult(f"the kind of action {self._kind!r}", "a context is an object", ())
        return taken


def _taken_metric(metric: Metric, kind: str) -> Metric:
    """Check a number before it comes into a commit that others share (EVT-4)."""
    whose = f"the kind of action {kind!r}"
    if not isinstance(metric.name, str):
        raise BadResult(whose, "the name of a metric must be a string", ())
    check_key("the name of the metric", metric.name)
    dimensions = _taken(metric.dimensions, kind)
    if not isinstance(dimensions, dict) or not all(isinstance(value, str) for value in dimensions.values()):
        raise BadResult(whose, "the dimensions of a metric are texts by name", ())
    # Compared, and not converted first: float() raises OverflowError for a large integer.
    is_number = isinstance(metric.value, int | float) and not isinstance(metric.value, bool)
    if not is_number or not abs(metric.value) <= METRIC_MAX:
        raise BadResult(whose, f"the value of a metric is a number from {-METRIC_MAX:g} to {METRIC_MAX:g}", ())
    return Metric(metric.name, float(metric.value), cast(dict[str, str], dimensions))


def _taken(value: object, kind: str) -> JsonValue:
    try:
        return take_value(value)
    except BadValue as error:
        raise BadResult(f"the kind of action {kind!r}", str(error), error.path) from error
