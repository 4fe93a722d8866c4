"""What the kinds that wait durably have in common: the coordinator carries them out, and no executor (LAY-3)."""

from typing import NoReturn

from wonder.actions.errors import NotExecutable
from wonder.actions.protocol import ActionKind, Use
from wonder.definitions.records.actions import ActionDef


class WaitingKind(ActionKind):
    """A kind that no executor runs."""

    carried_out = "waiting"

    def compile(self, action: ActionDef, use: Use) -> NoReturn:
        """Refuse: an executor would hold a place for as long as it waits, and lose it in a crash."""
        raise NotExecutable(action.name, self.kind, "it waits durably, so the coordinator carries it out (LAY-3)")
