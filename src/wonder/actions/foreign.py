"""Kinds of a user's package: what crosses the border to their code is copied, and checked on its way back (ACT-8)."""

from collections.abc import Callable

from wonder.actions.errors import BadResult
from wonder.actions.protocol import ActionContext, ActionKind, CompiledAction, ContextAction, Metric, TaskContext
from wonder.actions.taking import copy_value, take_value
from wonder.language.values import BadValue, JsonValue

_OURS = "wonder."


def is_foreign(kind: ActionKind) -> bool:
    """Say whether a kind is not one of Wonder's own."""
    return not type(kind).__module__.startswith(_OURS)


class ForeignAction:
    """An action of a foreign kind: what it gives is JSON of our own, or a failure."""

    __slots__ = ("_action", "_kind")

    def __init__(self, action: CompiledAction, kind: str) -> None:
        self._action, self._kind = action, kind

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Run it with a copy of the input; raises BadResult too."""
        return _taken(await self._action.run(copy_value(input), context), self._kind)


class ForeignContextAction:
    """A foreign kind that works on the task's context."""

    __slots__ = ("_action", "_kind")

    def __init__(self, action: ContextAction, kind: str) -> None:
        self._action, self._kind = action, kind

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Apply it to a copy of the context; raises BadResult too."""
        copied = {name: copy_value(value) for name, value in context.items()}
        taken = _taken(self._action.apply(copied, emit), self._kind)
        if not isinstance(taken, dict):
            raise BadResult(f"the kind of action {self._kind!r}", "a context is an object", ())
        return taken


def _taken(value: object, kind: str) -> JsonValue:
    try:
        return take_value(value)
    except BadValue as error:
        raise BadResult(f"the kind of action {kind!r}", str(error), error.path) from error
