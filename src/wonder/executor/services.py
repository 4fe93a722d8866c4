"""What all tasks of an executor use: the clock, what keeps successes, and who is told."""

from collections.abc import Callable

from msgspec import Struct, field

from wonder.actions.logs.collecting import LogCollector
from wonder.actions.protocol import Origin
from wonder.executor.environment import Environment
from wonder.executor.idempotency import IdempotencyStore
from wonder.executor.large_outputs import LargeOutputs
from wonder.language.redaction import Redactor
from wonder.language.values import JsonValue

GRACE_MS = 1_000


class Services(Struct, frozen=True):
    """What all tasks of an executor use.

    `grace_ms` is how long what was cancelled may take to clean up. `on_progress` is told the origin, the step and what
    an action reports, in whatever thread it does. `redactor` knows the secrets that were used (INV-8). `logs` takes
    what actions log, where that is kept (EVT-4a).
    """

    environment: Environment
    idempotency: IdempotencyStore
    grace_ms: float = GRACE_MS
    on_progress: Callable[[Origin, str, JsonValue], None] | None = None
    redactor: Redactor = field(default_factory=Redactor)
    logs: LogCollector | None = None
    outputs: LargeOutputs | None = None
    """Keeps outputs that are too large for an event; without it, what is too large is only told of."""
