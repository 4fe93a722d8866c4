"""Recovery: what a process does first with the runs that it finds, and how it loads a parked one."""

import logging
from collections.abc import Callable, Sequence

from wonder.coordinator.calls import Calls
from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.live import LiveRun
from wonder.coordinator.outside import Outside
from wonder.coordinator.starting import Starter
from wonder.coordinator.timers import WINDOW_MS
from wonder.coordinator.triggering import Triggers
from wonder.engine.facts import FunctionFound
from wonder.engine.function_waits import waits_for_function
from wonder.storage.errors import (
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    LeaseLost,
    StoreClosed,
)
from wonder.storage.runs.functions import waits_for_functions
from wonder.storage.runs.headers import RunHeader, children_of_run
from wonder.storage.runs.loading import load_runs
from wonder.storage.runs.reading import runs_to_recover, timers_due
from wonder.storage.runs.triggering import unfinished_triggered_by

_AT_ONCE = 1_000
_TIMERS_AT_ONCE = 10_000
# The database's fault, not that of the runs that were asked for.
_UNAVAILABLE = (ConnectionLost, DatabaseBusy, DatabaseFailed, DatabaseUnreachable, LeaseLost, StoreClosed)

log = logging.getLogger("wonder.coordinator")


class Recovery:
    """Brings runs out of their rows into memory."""

    def __init__(
        self,
        coordinator: Coordinator,
        starter: Starter,
        calls: Calls,
        outside: Outside,
        triggers: Triggers,
        has_function: Callable[[str], bool],
    ) -> None:
        self._coordinator, self._starter, self._calls, self._outside = coordinator, starter, calls, outside
        self._triggers, self._has_function = triggers, has_function

    async def take_untaken(self) -> None:
        """Take what the owner before has logged, and not brought to the tables."""
        coordinator = self._coordinator
        if run_ids := coordinator.facts_log.untaken:
            # All together, so that one commit brings all of them to the tables.
            try:
                await coordinator.residency.wake(run_ids)
            except _UNAVAILABLE:
                raise
            except Exception as error:
                # Its facts stay where they are. The others go on meanwhile, if more slowly.
                log.exception("runs %s can't go on with what was logged", ", ".join(run_ids), exc_info=error)
            await coordinator.durable()

    async def recover(self) -> int:
        """Go on with all runs that were under way, and give how many; parked ones stay parked."""
        await self._starter.admission.load()
        after, count = "", 0
        while found := await runs_to_recover(self._coordinator.store, after=after, limit=_AT_ONCE):
            count += await self._coordinator.residency.wake(one.id for one in found if one.status != "queued")
            after = found[-1].id
            await self._coordinator.durable()
        await self.reconcile()
        return count + await self._begin_with_functions()

    async def _begin_with_functions(self) -> int:
        """Begin tasks that waited for a process that has their function; gives how many (TSK-8)."""
        coordinator, count = self._coordinator, 0
        for wait in await waits_for_functions(coordinator.store):
            if self._has_function(wait.function):
                coordinator.bring(wait.run_id, FunctionFound(wait.token_id))
                count += 1
        return count

    async def reconcile(self) -> None:
        """Do what was to follow from what is durable.

        Tell callers, start calls, fire triggers, give out kept events, set timers.
        """
        await self._calls.reconcile()
        await self._triggers.reconcile()
        await self._outside.reconcile()
        await self.load_timers()

    async def resume(self, run_id: str) -> None:
        """Go on here with one run, its sub-workflows and what it has triggered, if they have not ended."""
        coordinator = self._coordinator
        if coordinator.tasks.mine is not None:
            coordinator.tasks.mine.add(run_id)
        was_live = coordinator.residency.has(run_id)
        run = await coordinator.residency.get(run_id)
        if run is not None:
            if was_live:
                coordinator.resume_work(run)
            for token in list(run.state.tokens.values()):
                if token.wait is not None and token.wait.get("kind") == "workflow_call":
                    await self._calls.ensure(run_id, token.id)
                elif waits_for_function(token) and self._has_function(str((token.wait or {})["function"])):
                    coordinator.take(run, FunctionFound(token.id))
            coordinator.residency.rest(run)
            # Whoever looks at it next must not find it waiting still.
            await coordinator.durable()
        else:
            if coordinator.tasks.mine is not None:
                coordinator.tasks.mine.discard(run_id)
                coordinator.tasks.were_mine.add(run_id)
            self._triggers.resume(run_id)
        for child in await children_of_run(coordinator.store, run_id):
            if not child.has_ended:
                await self.resume(child.id)
        if run is None:
            for triggered_id in await unfinished_triggered_by(coordinator.store, run_id):
                await self.resume(triggered_id)

    async def load_timers(self) -> int:
        """Take the timers into memory that are due soon; gives in how many milliseconds to look again at the latest.

        Those that are overdue fire at once (RET-3).
        """
        coordinator = self._coordinator
        now_ms = coordinator.clock.now_ms()
        due = await timers_due(coordinator.store, now_ms + WINDOW_MS, limit=_TIMERS_AT_ONCE)
        for timer in due:
            coordinator.timers.set(timer.run_id, timer.key, timer.due_ms)
        # With more than that, the rest is found once these are done.
        last_ms = due[-1].due_ms if len(due) == _TIMERS_AT_ONCE else now_ms + WINDOW_MS
        return max(0, last_ms - now_ms)

    def _is_wanted(self, header: RunHeader) -> bool:
        """Say whether a run may be in memory: not one that has ended, was set aside, or is held back."""
        coordinator = self._coordinator
        if header.id in coordinator.residency.released:
            return not header.has_ended
        return not (header.has_ended or header.is_quarantined or header.id in coordinator.residency.held_back)

    async def load(self, run_ids: Sequence[str]) -> list[LiveRun]:
        """Load runs that have not ended; of many, one that can't be loaded is told of and left out."""
        coordinator = self._coordinator
        try:
            loaded = await load_runs(
                coordinator.store, coordinator.store.dialect, run_ids, coordinator.programs.get, wanted=self._is_wanted
            )
            return [await self._starter.restored(one) for one in loaded]
        except _UNAVAILABLE:
            raise
        except Exception as error:
            # Rows that don't fit together are no wonder when another owner writes them.
            await coordinator.check_lease()
            if len(run_ids) == 1:
                log.exception("run %s can't be loaded", run_ids[0], exc_info=error, extra={"run_id": run_ids[0]})
                raise
        middle = len(run_ids) // 2
        found: list[LiveRun] = []
        for part in (run_ids[:middle], run_ids[middle:]):
            try:
                found += await self.load(part)
            except _UNAVAILABLE:
                raise
            except Exception:  # noqa: S112  # it was told of where it happened
                continue
        return found
