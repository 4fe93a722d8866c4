"""What every kind of action is: a class that compiles an ActionDef into something that can be run."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import msgspec

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.errors import WonderError
from wonder.language.schemas import Schema
from wonder.language.values import JsonValue

TaskContext: TypeAlias = dict[str, JsonValue]
"""What the steps of a task read and write: `input`, `state` and `output`. Never changed in place."""

_LOGGER = logging.getLogger("wonder.actions")


class ActionFailed(WonderError):
    """An action could not do what it was asked to.

    `retryable` says that it belongs to RET-1's list of what another attempt may mend; `names` has what else than its
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


class Usage(msgspec.Struct, frozen=True):
    """What actions have used up; sums with `+`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
        )


NOTHING_USED = Usage()


class StoredArtifact(msgspec.Struct, frozen=True):
    """An artifact that an action has stored."""

    artifact_id: str
    content_type: str
    size_bytes: int


class Origin(msgspec.Struct, frozen=True):
    """Where a task belongs: its project and run, the ref of its node, and its token with the path of it."""

    project_id: str
    run_id: str
    node: str
    branch: str = "0"
    token_id: str = ""


class AttemptClock(Protocol):
    """What counts the time of an attempt against its limit; `due_ms` is the time of day when that is over."""

    due_ms: float | None

    def hold(self) -> None:
        """Stop counting."""

    def begin(self) -> None:
        """Count from zero."""


class ActionContext:
    """What an action may know and do while it runs one attempt."""

    __slots__ = (
        "_clock",
        "_on_progress",
        "_task_due_ms",
        "artifacts",
        "attempt",
        "cancelled",
        "idempotency_key",
        "noted",
        "origin",
        "step",
        "usage",
    )

    def __init__(
        self,
        origin: Origin,
        step: str,
        attempt: int,
        *,
        idempotency_key: str | None = None,
        clock: AttemptClock | None = None,
        task_due_ms: float | None = None,
        on_progress: Callable[[JsonValue], None] | None = None,
    ) -> None:
        self.origin, self.step, self.attempt = origin, step, attempt
        self.idempotency_key = idempotency_key
        self.usage = NOTHING_USED
        self.noted: list[tuple[str, dict[str, JsonValue]]] | None = None
        """The events that the action asks for."""
        self.artifacts: list[StoredArtifact] | None = None
        self.cancelled = False
        """Set when nobody waits for this attempt any more; code in a thread, which can't be stopped, may look at it."""
        self._clock, self._task_due_ms, self._on_progress = clock, task_due_ms, on_progress

    @property
    def deadline_ms(self) -> float | None:
        """The time of day, in milliseconds since 1970, when this attempt is aborted; None if no limit holds."""
        due = [self._clock.due_ms if self._clock else None, self._task_due_ms]
        return min((due_ms for due_ms in due if due_ms is not None), default=None)

    @property
    def logger(self) -> "logging.LoggerAdapter[logging.Logger]":
        """A logger whose records say where they come from."""
        origin = self.origin
        where = {"run_id": origin.run_id, "node": origin.node, "branch": origin.branch, "step": self.step}
        return logging.LoggerAdapter(_LOGGER, {**where, "attempt": self.attempt})

    def hold(self) -> None:
        """Stop the attempt's time while it waits in line for a place to run; the task's own limit goes on."""
        if self._clock:
            self._clock.hold()

    def begin(self) -> None:
        """Count the attempt's time from now."""
        if self._clock:
            self._clock.begin()

    def end(self) -> None:
        """Note that nobody waits for this attempt any more; for the executor to call."""
        self.cancelled = True
        # What counts the time knows the asyncio task, whose variables know this context: a circle, to be cut.
        self._clock = None

    def report_usage(self, *, input_tokens: int = 0, output_tokens: int = 0, cost_usd: float = 0.0) -> None:
        """Add to what this attempt has used; it counts even if the attempt fails."""
        self.usage += Usage(input_tokens, output_tokens, cost_usd)

    def report_artifact(self, id: str, content_type: str, size_bytes: int) -> None:
        """Tell of an artifact that this attempt has stored; it is there even if the attempt fails."""
        written = StoredArtifact(id, content_type, size_bytes)
        self.artifacts = [written] if self.artifacts is None else [*self.artifacts, written]

    def note(self, type: str, metadata: dict[str, JsonValue]) -> None:
        """Ask for an event of the run, which is recorded with the result of the task, whether it succeeds or not."""
        if self.noted is None:
            self.noted = []
        self.noted.append((type, metadata))

    def report_progress(self, progress: JsonValue) -> None:
        """Tell whoever watches the run how far the action is; nothing of it is kept."""
        if self._on_progress:
            self._on_progress(progress)


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


class ActionKind(ABC):
    """One kind of action, as SPEC 8 lists them."""

    kind: ClassVar[str]
    configuration: ClassVar[type[Record]]
    carried_out: ClassVar[Literal["acting", "on_context", "waiting"]] = "acting"
    """`acting` and `on_context` are run by an executor; `waiting` by the coordinator, durably (LAY-3)."""
    pure: ClassVar[bool] = False
    """Whether it depends on nothing but its input, so that doing it again after a crash changes nothing."""

    def read(self, action: ActionDef) -> Any:
        """Return the implementation of an ActionDef as this kind's record."""
        return self.configuration.model_validate(action.implementation)

    @abstractmethod
    def compile(self, action: ActionDef, use: Use) -> CompiledAction | ContextAction:
        """Make an action ready to run, once per version of the definition that uses it."""

    def begin(self) -> None:  # noqa: B027  # most kinds have nothing to begin
        """Make ready, beside, what takes a moment: a workflow was loaded that uses this kind."""

    async def close(self) -> None:  # noqa: B027  # most kinds keep nothing
        """Let go of what is kept between calls: connections, processes."""
