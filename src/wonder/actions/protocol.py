"""What every kind of action is: a class that compiles an ActionDef into something that can be run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeAlias

import msgspec

from wonder.actions.attempts import NOTHING_USED, AttemptClock, Origin, StoredArtifact, Usage
from wonder.actions.context import ActionContext
from wonder.definitions.kinds import Kind
from wonder.definitions.records.actions import ActionDef
from wonder.errors import WonderError
from wonder.language.expressions import Names
from wonder.language.schemas import Schema
from wonder.language.values import JsonValue

__all__ = [
    "NOTHING_USED",
    "TASK_NAMES",
    "ActionContext",
    "ActionFailed",
    "ActionKind",
    "AttemptClock",
    "CompiledAction",
    "ContextAction",
    "Metric",
    "Origin",
    "StoredArtifact",
    "TaskContext",
    "Usage",
    "Use",
]

TaskContext: TypeAlias = dict[str, JsonValue]
"""What the steps of a task read and write: `input`, `state` and `output`. Never changed in place."""

TASK_NAMES = Names(frozenset({"input", "state", "output"}))
"""The names that expressions over it know."""


class ActionFailed(WonderError):
    """An action could not do what it was asked to.

    `retryable` says that it belongs to RET-1's list of what another attempt may fix; `names` has what else than its
    code the `retryable_errors` of a policy may call it by.
    """

    code = "ACTION_FAILED"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        details: Mapping[str, JsonValue] | None = None,
        retry_after_ms: int | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]  # each failure has a code of its own
        self.message, self.retryable, self.names = message, retryable, names
        self.details = dict(details or {})
        self.retry_after_ms = retry_after_ms


class CompiledAction(Protocol):
    """An action that does something in the world."""

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Do it once and return its output, a value of its own that nobody changes any more.

        Raises ActionFailed; any other WonderError (a value that is not JSON) is a failure that is never tried again
        within the step.
        """


class Metric(msgspec.Struct, frozen=True):
    """One number that an `emit_metric` gave."""

    name: str
    value: float
    dimensions: dict[str, str]


class ContextAction(Protocol):
    """An action that only reads and writes the context of its task (FIL-2); its output is `{}`."""

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Return the context as it is afterwards, the one given untouched; raises a WonderError."""


class Use(msgspec.Struct, frozen=True):
    """What the place where an action is used says about it."""

    output_schema: Schema = True


class ActionKind(Kind, ABC):
    """One kind of action with what carries it out; a kind that is quick to import declares itself here as well."""

    @classmethod
    def made_with(cls, equipment: Any) -> Self:
        """Make the kind with what it needs of the process that it runs in, an `Equipment`."""
        return cls()

    def read(self, action: ActionDef) -> Any:
        """Return the implementation of an ActionDef as this kind's record."""
        return self.configuration.model_validate(action.implementation)

    @abstractmethod
    def compile(self, action: ActionDef, use: Use) -> CompiledAction | ContextAction:
        """Make an action ready to run, once per version of the definition that uses it."""

    def begin(self) -> None:  # most kinds have nothing to begin
        """Make ready, beside, what takes a moment: a workflow was loaded that uses this kind."""

    async def close(self) -> None:  # most kinds keep nothing
        """Let go of what is kept between calls: connections, processes."""
