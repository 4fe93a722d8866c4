"""Kept events: a token that comes to wait for an event that has come already is given it (`wait_for_event`)."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.live import LiveRun
from wonder.engine.decisions import AwaitEvent
from wonder.engine.facts import EventArrived
from wonder.engine.waits import timers_of_event_wait
from wonder.storage.runs.outside import AwaitedEvent, KeptEvent, awaited_events_kept, next_kept_events
from wonder.storage.runs.reconciling import EventWait, waits_with_kept_event

_AT_ONCE = 1_000
_WHAT = "kept events can't be looked for"

log = logging.getLogger("wonder.coordinator")


class KeptEvents:
    """Gives out events that came before they were waited for, each to one token, the oldest to the first.

    Tokens that come to wait are looked at many at a time: one task for each would be most of what a parked run costs.
    Until a token was looked at, its time is not over: an event that had come must not lose against a slow look.
    """

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self.lock = asyncio.Lock()
        """Held by whoever keeps an event or looks for one: an event and a token must not miss each other."""
        self._begun: deque[EventWait] = deque()
        self._looking = False

    async def reconcile(self) -> None:
        """Give out what should have been, where a process ended or a commit failed in between."""
        coordinator = self._coordinator
        waits = await waits_with_kept_event(coordinator.store, coordinator.clock.now_ms())
        self._hold_timers(waits)
        for first in range(0, len(waits), _AT_ONCE):
            await self._give_out_apart(waits[first : first + _AT_ONCE])

    def begin_to_wait(self, run: LiveRun, order: AwaitEvent) -> None:
        wait = EventWait(run.project_id, run.id, order.token_id, order.event, order.key)
        self._begun.append(wait)
        self._hold_timers([wait])
        if not self._looking:
            self._looking = True
            self._coordinator.spawn(self._look())

    async def _look(self) -> None:
        try:
            while self._begun:
                await self._look_at([self._begun.popleft() for _ in range(min(len(self._begun), _AT_ONCE))])
        finally:
            self._looking = False

    async def _look_at(self, waits: Sequence[EventWait]) -> None:
        found = await self._coordinator.background.insist(_WHAT, lambda: self._with_kept(waits))
        self._free_timers(set(waits).difference(found))
        if found:
            await self._give_out_apart(found)

    async def _with_kept(self, waits: Sequence[EventWait]) -> list[EventWait]:
        """Find those for which an event is kept; whatever is sent from then on sees the others waiting."""
        coordinator = self._coordinator
        async with self.lock:
            # Whoever sent an event may have gone before it was durable.
            await coordinator.durable()
            wanted = {wait.awaited for wait in waits}
            kept = await awaited_events_kept(coordinator.store, wanted, coordinator.clock.now_ms())
        return [wait for wait in waits if wait.awaited in kept]

    async def _give_out_apart(self, waits: Sequence[EventWait]) -> None:
        """Give out all at once, or, if that fails, to each token by itself: one that can't have it holds up nobody."""
        coordinator = self._coordinator
        try:
            await self._give_out(waits)
        except EngineStopped:
            raise
        except Exception as error:
            log.warning("%d kept events can't be given out at once: %s", len(waits), error)
            for wait in waits:
                coordinator.spawn(self._give_out_alone(wait))
        else:
            self._free_timers(waits)

    async def _give_out_alone(self, wait: EventWait) -> None:
        await self._coordinator.background.insist(_WHAT, lambda: self._give_out([wait]))
        self._free_timers([wait])

    async def _give_out(self, waits: Sequence[EventWait]) -> None:
        coordinator = self._coordinator
        async with self.lock:
            # An event that was used in a commit that is under way would be found again.
            await coordinator.durable()
            while waits:
                kept = await self._kept_for(waits)
                first, waits = _share(waits, kept)
                # As many as there are events; one that waits no longer leaves its event to the next.
                runs = {run.id: run for run in await coordinator.residency.hold(wait.run_id for wait in first)}
                for wait in first:
                    if wait.run_id in runs and awaits(runs[wait.run_id], wait.token_id, wait.awaited):
                        self._give(runs[wait.run_id], wait, kept[wait.awaited].popleft())
                for run in runs.values():
                    coordinator.residency.let_go(run)
                await coordinator.durable()

    async def _kept_for(self, waits: Sequence[EventWait]) -> dict[AwaitedEvent, deque[KeptEvent]]:
        coordinator, counts = self._coordinator, dict.fromkeys((wait.awaited for wait in waits), 0)
        for wait in waits:
            counts[wait.awaited] += 1
        now_ms = coordinator.clock.now_ms()
        return {
            awaited: deque(await next_kept_events(coordinator.store, awaited, now_ms, limit=count))
            for awaited, count in counts.items()
        }

    def _hold_timers(self, waits: Iterable[EventWait]) -> None:
        for wait in waits:
            self._coordinator.timers.hold(wait.run_id, timers_of_event_wait(wait.token_id))

    def _free_timers(self, waits: Iterable[EventWait]) -> None:
        for wait in waits:
            self._coordinator.timers.free(wait.run_id, timers_of_event_wait(wait.token_id))

    def _give(self, run: LiveRun, wait: EventWait, kept: KeptEvent) -> None:
        coordinator = self._coordinator
        coordinator.commits.batch.use_event(kept.id, coordinator.clock.now_ms())
        coordinator.take(run, EventArrived(wait.token_id, kept.payload))


def awaits(run: LiveRun, token_id: str, awaited: AwaitedEvent) -> bool:
    """Say whether a token still waits for an event of this name and key."""
    token = run.state.tokens.get(token_id)
    wait = token.wait if token else None
    if wait is None or wait.get("kind") != "wait_for_event":
        return False
    return (wait.get("event"), wait.get("key") or None) == (awaited.event, awaited.key or None)


def _share(
    waits: Sequence[EventWait], kept: Mapping[AwaitedEvent, Sequence[KeptEvent]]
) -> tuple[list[EventWait], list[EventWait]]:
    """Part waits into those that come first at their events, and those that come next if one of these waits no more."""
    left = {awaited: len(events) for awaited, events in kept.items()}
    first, next_ones = [], []
    for wait in waits:
        left[wait.awaited] -= 1
        if left[wait.awaited] >= 0:
            first.append(wait)
        elif kept[wait.awaited]:
            next_ones.append(wait)
    return first, next_ones
