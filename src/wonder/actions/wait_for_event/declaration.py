"""The declaration of `wait_for_event`."""

from collections.abc import Iterator

from wonder.actions.wait_for_event.record import WaitForEvent
from wonder.actions.waiting_kind import WaitingKind
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings


class Declaration(WaitingKind):
    """Waits for an event from outside."""

    kind = "wait_for_event"
    configuration = WaitForEvent
    summary = "waits for an event from outside"
    gives = "the event's payload"
    no_idempotency = "an event is given to all that wait for its name and key; leave idempotency out, or use the key"
    errors = ("EVENT_TIMEOUT",)

    def check(self, implementation: WaitForEvent, path: Path, findings: Findings) -> None:
        """Note a template that can't be read."""
        check_template(implementation.key, (*path, "key"), findings)

    def templates(self, implementation: WaitForEvent) -> Iterator[tuple[Path, str | None]]:
        """Give the key."""
        yield ("key",), implementation.key
