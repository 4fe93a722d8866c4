"""Quarantine: runs that were under way whenever their process died are set aside, so that the others go on (RES-6).

A process that is killed now and then, by a deployment for one, says nothing about its runs. So a run is set aside only
after `run_limits.deaths` deaths in a row between which it did not go forward by a single step, as with a task that
takes its process with it; or after several more in a row, each within a minute of the one before, whatever it did
between them: then no other run of the database could go on either.

Others may have been under way each time, and are not to blame. So while several runs are suspect, half of them are held
back for a while whenever an engine begins: if it dies, it was one of those that went on, and if it does not, one of the
others. The last one that is left is set aside.
"""

import logging
from typing import Final

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.starting import Starter
from wonder.coordinator.unloaded import Unloaded
from wonder.storage.runs.deaths import RunDeaths, load_deaths, store_deaths
from wonder.storage.runs.headers import RunHeader, load_headers
from wonder.storage.runs.leases import Lease
from wonder.storage.runs.reading import events_of_run, runs_to_recover

TRIAL_MS = 10_000.0
"""So long some suspects go on without the others, at least."""
# So much longer than the process before lived, or one that kills later than this would look innocent; and at most.
_TRIAL_TIMES: Final = 2
_TRIAL_MOST_MS: Final = 600_000.0
_AT_ONCE: Final = 1_000
_QUICK_MS: Final = 60_000
# More deaths than without a step forward: what goes on is most likely not what kills.
_QUICK_MORE: Final = 7
_EVENTS_LOOKED_AT: Final = 1_000
# What a run records by being taken up again, and by tasks that never end.
_NO_STEP: Final = frozenset({"node_started", "token_dispatched", "workflow_waiting"})

log = logging.getLogger("wonder.coordinator")


class Quarantine:
    """Counts deaths when an engine begins, and sets runs aside."""

    def __init__(self, coordinator: Coordinator, starter: Starter, unloaded: Unloaded, lease: Lease) -> None:
        self._coordinator, self._starter, self._unloaded, self._lease = coordinator, starter, unloaded, lease
        self._suspects: set[str] = set()
        self.trial_ms = TRIAL_MS
        """So long half of the suspects are held back."""

    async def count(self) -> None:
        """Count the death of the owner before, if it died, for all runs that were under way; before any is loaded."""
        coordinator, fence = self._coordinator, self._lease.fence
        known = await load_deaths(coordinator.store)
        if not self._lease.owner_died:
            if known:
                await store_deaths(coordinator.store, [], fence)
            return
        now_ms, counted, after = coordinator.clock.now_ms(), list[RunDeaths](), ""
        self._suspects.clear()
        self.trial_ms = TRIAL_MS
        while found := await runs_to_recover(coordinator.store, after=after, limit=_AT_ONCE):
            ids = [one.id for one in found if one.status != "queued"]
            for header in await load_headers(coordinator.store, ids):
                counted += await self._count(header, known.get(header.id), now_ms)
            after = found[-1].id
        suspects = sorted(self._suspects)
        if len(suspects) == 1:
            coordinator.residency.set_aside.update(suspects)
        else:
            coordinator.residency.held_back.update(suspects[len(suspects) // 2 :])
        rows = [one._replace(taken_ms=0) if one.run_id in coordinator.residency.held_back else one for one in counted]
        await store_deaths(coordinator.store, rows, fence)

    async def set_aside(self) -> None:
        """Set aside, without loading it, the run that is too dangerous to go on with; let others go on later."""
        coordinator = self._coordinator
        for run_id in sorted(coordinator.residency.set_aside):
            log.error(
                "run %s is quarantined: its process died again and again while it was under way; find out why, then"
                " `wonder runs resume` or `wonder runs cancel` it",
                run_id,
                extra={"run_id": run_id},
            )
            await self._unloaded.set_aside(run_id)
        coordinator.residency.set_aside.clear()
        if coordinator.residency.held_back:
            log.warning(
                "%d runs are held back for a while: processes died with them", len(coordinator.residency.held_back)
            )
            coordinator.spawn(self._let_go_on())

    async def _let_go_on(self) -> None:
        """Go on with those that were held back: the process lives, so that those that were not are not to blame."""
        coordinator = self._coordinator
        await coordinator.background.sleep(self.trial_ms)
        held = sorted(coordinator.residency.held_back)

        async def clear() -> None:
            known, now_ms = await load_deaths(coordinator.store), coordinator.clock.now_ms()
            kept = [known[run_id]._replace(taken_ms=now_ms) for run_id in held if run_id in known]
            await store_deaths(coordinator.store, kept, self._lease.fence)

        await coordinator.background.insist("the deaths of runs can't be stored", clear)
        coordinator.residency.held_back.clear()
        for run_id in held:
            await coordinator.background.insist("runs can't go on", lambda run_id=run_id: self._take_up(run_id))  # type: ignore[misc]
        await coordinator.background.insist("runs can't catch up", coordinator.effects.catch_up)

    async def _take_up(self, run_id: str) -> None:
        # Not `wake`, which leaves alone what is being loaded: that may have begun while the run was held back.
        run = await self._coordinator.residency.get(run_id)
        if run is not None:
            self._coordinator.residency.rest(run)

    async def _count(self, header: RunHeader, before: RunDeaths | None, now_ms: int) -> list[RunDeaths]:
        most = (await self._starter.settings(header.project_id)).run_limits.deaths
        # One that was held back was not under way.
        if most is None or header.is_quarantined or (before is not None and not before.taken_ms):
            return []
        deaths = quick = 1
        if before is not None:
            deaths = 1 if await self._has_gone_forward(header, before) else before.deaths + 1
            quick = before.quick + 1 if now_ms - before.taken_ms < _QUICK_MS else 1
        if deaths >= most or quick >= most + _QUICK_MORE:
            self._suspects.add(header.id)
            if before is not None:
                lived_ms = _TRIAL_TIMES * float(now_ms - before.taken_ms)
                self.trial_ms = max(self.trial_ms, min(lived_ms, _TRIAL_MOST_MS))
        return [RunDeaths(header.id, deaths, quick, header.sequence, now_ms)]

    async def _has_gone_forward(self, header: RunHeader, before: RunDeaths) -> bool:
        if self._coordinator.facts_log.untaken_of([header.id]):
            return True
        if header.sequence <= before.sequence:
            return False
        store, after = self._coordinator.store, before.sequence
        events = await events_of_run(store, header.id, after=after, limit=_EVENTS_LOOKED_AT)
        return any(event.type not in _NO_STEP for event in events)
