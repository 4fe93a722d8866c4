"""Scheduling: starts runs at the times that schedules have planned, each in the commit that moves its schedule on."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.ends import End
from wonder.coordinator.errors import (
    CommitFailed,
    EngineStopped,
    InputRefused,
    ProjectArchived,
    RunNotLive,
    WorkflowDisabled,
)
from wonder.coordinator.outside import Outside
from wonder.coordinator.starting import Starter
from wonder.definitions.planning import planned_times
from wonder.definitions.records.workflows import Workflow
from wonder.engine.schedules import ScheduleState, decide_turn
from wonder.errors import WonderError
from wonder.language.schedules import Zone, fill_input, show_time
from wonder.language.values import BadValue
from wonder.storage.errors import (
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    LeaseLost,
    StoreClosed,
)
from wonder.storage.named_resources import load_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.errors import IdempotencyKeyReused
from wonder.storage.runs.recording import Batch
from wonder.storage.schedules import (
    StoredSchedule,
    due_schedules,
    has_firing,
    live_firings,
    load_schedule,
    next_schedule_due,
)
from wonder.storage.store import Entry
from wonder.storage.zones import find_zone

# New schedules are found at the next look; with none due, it is one question that an index answers.
LOOK_MS = 1_000
_AT_ONCE = 200
# So many runs one schedule starts in a turn, of those that it catches up with.
_STARTS_AT_ONCE = 20
_FIRINGS_SEEN = 1_000
# A schedule on which we fail ourselves must not keep the others from their turn.
_AFTER_ERROR_MS = 10_000
# What the author, or who set up the workflow, has to mend: the planned time is over with it.
_REFUSALS = (WorkflowDisabled, ProjectArchived, InputRefused, NotFound, BadValue)
# The database's fault: all schedules wait for it.
_UNAVAILABLE = (
    CommitFailed,
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    LeaseLost,
    StoreClosed,
)

log = logging.getLogger("wonder.coordinator")

Also = Callable[[Batch, str], None]
"""Puts something into the commit that starts a run."""


class UnknownZone(WonderError):
    """A schedule has a time zone that this machine does not know, though the one that stored it did."""

    code = "UNKNOWN_ZONE"

    def __init__(self, name: str) -> None:
        super().__init__(f"this machine knows no time zone {name!r}; install the package tzdata, or a newer one")
        self.name = name


class Scheduler:
    """Starts the runs of all schedules of a database; only who has its lease writes anything (INV-5)."""

    def __init__(self, coordinator: Coordinator, starter: Starter, outside: Outside) -> None:
        self._coordinator, self._starter, self._outside = coordinator, starter, outside
        # What one schedule does is decided by what the turn before it has stored.
        self._turns = asyncio.Lock()
        self._awaited: dict[str, End] = {}

    async def look(self) -> int:
        """Start what is due, and say in how many milliseconds to look again."""
        coordinator = self._coordinator
        coordinator.check_running()
        async with self._turns:
            now_ms = coordinator.clock.now_ms()
            due = await due_schedules(coordinator.store.unsettled, now_ms, limit=_AT_ONCE)
            # All at once, so that their runs go into few commits.
            outcomes = await asyncio.gather(*(self._take_turn(one, now_ms) for one in due), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        if len(due) == _AT_ONCE:
            return 0
        soonest_ms = await next_schedule_due(coordinator.store.unsettled, now_ms)
        return LOOK_MS if soonest_ms is None else max(0, min(soonest_ms - coordinator.clock.now_ms(), LOOK_MS))

    async def fire(self, schedule_id: str, also: Also | None = None, *, is_ours: bool = True) -> str:
        """Start a run of a schedule now, paused or not, whatever else runs; gives its id. Raises as a start does."""
        coordinator = self._coordinator
        async with self._turns:
            stored = await load_schedule(coordinator.store, schedule_id)
            if stored is None:
                raise NotFound("schedule", schedule_id)
            at_ms = await self._free_moment(stored)
            mark = f"by hand {at_ms}"
            return await self._start(stored, at_ms, stored.state, _zone(stored), mark, also, is_ours=is_ours)

    async def _free_moment(self, stored: StoredSchedule) -> int:
        """Give the time for which a run stands that was not planned: now, or the next moment that no other run has."""
        coordinator, id = self._coordinator, stored.schedule.id
        times, at_ms = planned_times(stored.schedule, _zone(stored)), coordinator.clock.now_ms()
        while times.before(at_ms + 1) == at_ms or await has_firing(coordinator.store, id, at_ms):
            at_ms += 1
        return at_ms

    async def _take_turn(self, stored: StoredSchedule, now_ms: int) -> None:
        name = stored.schedule.name
        try:
            await self._turn(stored, now_ms)
        except (EngineStopped, *_UNAVAILABLE):
            raise
        except Exception as error:
            if not isinstance(error, WonderError):
                log.exception("the schedule %s can't be dealt with", name)
            message = f"{type(error).__name__}: {error}"
            log.warning("schedule %s is tried again in %d ms: %s", name, _AFTER_ERROR_MS, message)
            # What was written before the error may not be in the same commit: one row, one change.
            await asyncio.wait([self._coordinator.commits.durable()])
            # Read anew: some of its runs may have been started before the error.
            now = await load_schedule(self._coordinator.store, stored.schedule.id)
            if now is not None:
                again_ms = now_ms + _AFTER_ERROR_MS
                failed = replace(now.state, due_ms=again_ms, last_error=message, last_error_ms=now_ms)
                await self._move(now, failed)

    async def _turn(self, stored: StoredSchedule, now_ms: int) -> None:
        schedule, coordinator = stored.schedule, self._coordinator
        zone = _zone(stored)
        firings = await live_firings(coordinator.store, schedule.id, limit=_FIRINGS_SEEN)
        live = [firing for firing in firings if not firing.has_ended]
        times = planned_times(schedule, zone)
        turn = decide_turn(schedule, times, stored.state, live=len(live), now_ms=now_ms)
        for firing in firings:
            if firing.has_ended:
                coordinator.commits.batch.write(stored.closed(firing.planned_ms))
        if turn.cancels_live:
            for firing in live:
                await self._cancel(firing.run_id, schedule.name)
        state = turn.state
        for place, planned_ms in enumerate(turn.starts):
            if place == _STARTS_AT_ONCE:
                return  # What is left is due at once, and others have their turn before it.
            if place and not await self._is_as_read(stored):
                return  # What was changed or paused meanwhile is for another turn to decide.
            # What a start has to tell of itself is kept by those behind it.
            told = replace(
                turn.state_after(place),
                started=state.started,
                failed=state.failed,
                last_planned_ms=state.last_planned_ms,
                last_run_id=state.last_run_id,
                last_error=state.last_error,
                last_error_ms=state.last_error_ms,
            )
            state = await self._start_planned(stored, planned_ms, told, zone)
        if not turn.starts:
            await self._move(stored, turn.state)
        if turn.state.queued:
            await self._await_ends(schedule.id)

    async def _is_as_read(self, stored: StoredSchedule) -> bool:
        now = await load_schedule(self._coordinator.store, stored.schedule.id)
        return now is not None and now.revision == stored.revision

    async def _await_ends(self, schedule_id: str) -> None:
        """Go on with what a schedule has queued as soon as the runs have ended that it waits for."""
        coordinator = self._coordinator
        for firing in await live_firings(coordinator.store, schedule_id, limit=_FIRINGS_SEEN):
            if firing.run_id not in self._awaited:
                self._awaited[firing.run_id] = end = coordinator.ends.of(firing.run_id)
                end.add_done_callback(partial(self._hear_end, schedule_id, firing.run_id))
        # Looked at again: one that ended before we asked to be told is not told of.
        for firing in await live_firings(coordinator.store, schedule_id, limit=_FIRINGS_SEEN):
            if firing.has_ended and firing.run_id in self._awaited:
                coordinator.ends.forget(firing.run_id, self._awaited[firing.run_id])

    def _hear_end(self, schedule_id: str, run_id: str, end: End) -> None:
        self._awaited.pop(run_id, None)
        if end.cancelled() or end.exception() is None:
            self._coordinator.spawn(self._go_on(schedule_id))

    async def _go_on(self, schedule_id: str) -> None:
        async with self._turns:
            stored = await load_schedule(self._coordinator.store, schedule_id)
            if stored is not None and not stored.paused and stored.state.queued:
                await self._take_turn(stored, self._coordinator.clock.now_ms())

    async def _start_planned(
        self, stored: StoredSchedule, planned_ms: int, state: ScheduleState, zone: Zone
    ) -> ScheduleState:
        """Start the run of a planned time, or note why it can't be; gives the state that was stored with it."""
        now_ms = self._coordinator.clock.now_ms()
        try:
            run_id = await self._start(stored, planned_ms, state, zone, show_time(planned_ms))
        except _REFUSALS as error:
            failed = state.failed + 1
            state = replace(
                state, failed=failed, last_error=str(error), last_error_ms=now_ms, last_planned_ms=planned_ms
            )
            log.warning("schedule %s could not start a run: %s", stored.schedule.name, error)
            await self._move(stored, state)
            return state
        except IdempotencyKeyReused as error:
            # The run of that time is there, from before the schedule was given another input.
            state = _started(state, planned_ms, error.run_id)
            await self._move(stored, state, stored.fired(planned_ms, error.run_id, now_ms))
            return state
        return _started(state, planned_ms, run_id)

    async def _start(
        self,
        stored: StoredSchedule,
        planned_ms: int,
        state: ScheduleState,
        zone: Zone,
        mark: str,
        also: Also | None = None,
        *,
        is_ours: bool = True,
    ) -> str:
        schedule, coordinator = stored.schedule, self._coordinator
        workflow = await load_resource(coordinator.store, Workflow, schedule.workflow_id)

        def note(batch: Batch, run_id: str) -> None:
            batch.write(stored.fired(planned_ms, run_id, coordinator.clock.now_ms()))
            batch.write(stored.move(_started(state, planned_ms, run_id)))
            if also:
                also(batch, run_id)

        run_input = fill_input(schedule.input, planned_ms, zone, schedule.name)
        key = f"schedule {schedule.id} {mark}"
        starting = self._starter.start(workflow, run_input, idempotency_key=key, also=note, is_ours=is_ours)
        return (await starting).run_id

    async def _cancel(self, run_id: str, name: str) -> None:
        try:
            await self._outside.cancel(run_id, f"the schedule {name!r} starts the next run")
        except RunNotLive:
            return  # it has ended meanwhile

    async def _move(self, stored: StoredSchedule, state: ScheduleState, *others: Entry) -> None:
        for entry in (stored.move(state), *others):
            self._coordinator.commits.batch.write(entry)
        self._coordinator.commits.touch()
        await self._coordinator.durable()


def _started(state: ScheduleState, planned_ms: int, run_id: str) -> ScheduleState:
    return replace(state, started=state.started + 1, last_planned_ms=planned_ms, last_run_id=run_id)


def _zone(stored: StoredSchedule) -> Zone:
    zone = find_zone(stored.schedule.time_zone)
    if zone is None:
        raise UnknownZone(stored.schedule.time_zone)
    return zone
