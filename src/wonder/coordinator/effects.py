"""Effects: what others do with the decisions of a coordinator, and only once they are durable (INV-3)."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from wonder.coordinator.live import LiveRun
from wonder.definitions.records.actions import ActionDef
from wonder.engine.decisions import (
    AbortTask,
    AwaitEvent,
    CancelTimer,
    ContinueLater,
    ControlChild,
    Decision,
    DispatchTask,
    EndRun,
    FireTriggers,
    RetryRun,
    SetRunStatus,
    SetTimer,
    StartChild,
    WarnOfMapping,
)
from wonder.errors import WonderError

ACTED_ON: Final[frozenset[type[Decision]]] = frozenset(
    {
        AbortTask,
        AwaitEvent,
        CancelTimer,
        ContinueLater,
        ControlChild,
        DispatchTask,
        EndRun,
        FireTriggers,
        RetryRun,
        SetRunStatus,
        SetTimer,
        StartChild,
        WarnOfMapping,
    }
)
"""The decisions that something is done with once they are durable; the others are rows only."""


class Effects(Protocol):
    """What a coordinator has others do; given to it when it is made."""

    def start_child(self, run: LiveRun, order: StartChild) -> None:
        """Start a sub-workflow."""

    def control_child(self, run: LiveRun, order: ControlChild) -> None:
        """Cancel, pause or resume a sub-workflow."""

    def await_event(self, run: LiveRun, order: AwaitEvent) -> None:
        """Look for an event that came before a token waited for it."""

    def fire_triggers(self, run: LiveRun, order: FireTriggers) -> None:
        """Start the runs that the triggers of a completed run ask for."""

    def retry_run(self, run: LiveRun, order: RetryRun) -> None:
        """Retry a triggered run that has failed, after a pause."""

    def make_retry(self, run_id: str) -> None:
        """Make a retry whose pause is over."""

    def note_status(self, run: LiveRun, status: str) -> None:
        """Note the durable status of a run; `lost` for one that was given up and is loaded again."""

    def note_end(self, run: LiveRun, end: EndRun) -> None:
        """Note how a run has ended."""

    def note_stop(self, error: WonderError) -> None:
        """Note that the coordinator has stopped, because another process has the lease."""

    def note_program(self, actions: Iterable[ActionDef]) -> None:
        """Prepare for the actions of a workflow that was just loaded."""

    async def load(self, run_ids: Sequence[str]) -> list[LiveRun]:
        """Load runs from their rows, without those that do not exist, have ended or may not be loaded."""

    async def cancel_unloaded(self, run_id: str, reason: str | None) -> bool:
        """Cancel a run by its rows alone if it is too large to be loaded, or quarantined; False if it is neither."""

    async def catch_up(self) -> None:
        """Do again what was to follow from durable decisions, and was lost with a commit that failed."""
