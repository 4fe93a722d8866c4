"""Trigger families: how many runs triggers may start in all, from one run on that nothing has triggered (RES-6, PHS-6).

Ten levels bound a circle of triggers, and not a list: a workflow that triggers itself for each of ten items would be
ten billion runs at the tenth level.
"""

from typing import Final

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.family_bytes import FamilyBytes, too_much
from wonder.coordinator.live import LiveRun
from wonder.engine.failure import Failure
from wonder.engine.limits import CODE
from wonder.storage.runs.triggering import count_triggered_below

_FAMILIES_KEPT: Final = 10_000


class TriggerFamilies:
    """Counts the runs of a family by its rows when one of it first starts others, and in memory from there on."""

    def __init__(self, coordinator: Coordinator, family_bytes: FamilyBytes) -> None:
        self._coordinator, self._family_bytes = coordinator, family_bytes
        self._started: dict[str, int] = {}

    async def place(self, run: LiveRun) -> tuple[int, str]:
        """Say how many triggers led to a run, and from which run on: those of its callers count as well."""
        return await self._family_bytes.place(run)

    async def too_much_written(self, family_id: str, most: int) -> Failure | None:
        """Say why a family may start no more, if it has written as much as it may."""
        return too_much(await self._family_bytes.get(family_id), most)

    async def know(self, family_id: str) -> None:
        """See to it that a family has been counted."""
        if family_id not in self._started:
            counted = await count_triggered_below(self._coordinator.store.unsettled, family_id)
            if len(self._started) >= _FAMILIES_KEPT:
                self._started.clear()
            # Not over what another has counted meanwhile, and has added to.
            self._started.setdefault(family_id, counted)

    def room(self, family_id: str, most: int) -> int:
        """Say how many more runs may be started; the family has to be known."""
        return max(0, most - self._started.get(family_id, 0))

    def add(self, family_id: str, count: int) -> None:
        """Count runs that are in the open batch."""
        if family_id in self._started:
            self._started[family_id] += count

    def forget(self, family_id: str) -> None:
        """Have a family counted anew, because a commit failed."""
        self._started.pop(family_id, None)


def too_many(family_id: str, most: int, left: int) -> Failure:
    """Say that a trigger has not started all that it should have."""
    not_started = f"; {left:,} of this trigger's items were not started" if left else ""
    message = (
        f"triggers have started {most:,} runs from the run {family_id} on, and its limit run_limits.triggered_runs is "
        f"{most:,}{not_started}; end the circle by the output of a workflow in it, or raise the limit with `wonder"
        " project set run_limits.triggered_runs N` and start what is missing"
    )
    details = {"limit": "run_limits.triggered_runs", "most": most, "not_started": left}
    return Failure(f"{CODE}TRIGGERED_RUNS", message, details=details)
