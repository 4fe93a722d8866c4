"""The declaration of `sleep`."""

from wonder.actions.sleep.record import Sleep
from wonder.actions.waiting_kind import WaitingKind
from wonder.definitions.kinds import NOTHING, Named
from wonder.language.schemas import Schema


class Declaration(WaitingKind):
    """Waits for a time, or until a moment."""

    kind = "sleep"
    configuration = Sleep
    summary = "waits for a time, or until a moment"
    gives = "{}"
    no_idempotency = "a wait changes nothing, so it can't be done twice; leave idempotency out"

    def output_schema(self, implementation: Sleep | None, named: Named) -> Schema:
        """Give nothing."""
        return NOTHING

    def lasts_ms(self, implementation: Sleep) -> int | None:
        """Give the time, if it is not a moment."""
        return implementation.ms
