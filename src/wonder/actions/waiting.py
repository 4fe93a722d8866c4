"""The kinds that wait durably: known here, and carried out by the coordinator (LAY-3)."""

from typing import NoReturn

from wonder.actions.errors import NotExecutable
from wonder.actions.protocol import ActionKind, Use
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.implementations import HumanInput, Sleep, WaitForEvent, WorkflowCall


class WaitingKind(ActionKind):
    """A kind that no executor runs."""

    carried_out = "waiting"

    def compile(self, action: ActionDef, use: Use) -> NoReturn:
        """Refuse: an executor would hold a place for as long as it waits, and lose it in a crash."""
        raise NotExecutable(action.name, self.kind, "it waits durably, so the coordinator carries it out (LAY-3)")


class HumanInputKind(WaitingKind):
    """Waits for a person."""

    kind = "human_input"
    configuration = HumanInput


class SleepKind(WaitingKind):
    """Waits for a moment."""

    kind = "sleep"
    configuration = Sleep


class WaitForEventKind(WaitingKind):
    """Waits for an event from outside."""

    kind = "wait_for_event"
    configuration = WaitForEvent


class WorkflowCallKind(WaitingKind):
    """Waits for a sub-workflow."""

    kind = "workflow_call"
    configuration = WorkflowCall
