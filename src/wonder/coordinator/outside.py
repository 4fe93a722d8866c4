"""What comes from outside: events, and orders to cancel, pause or resume a run (CTL-16)."""

from collections.abc import Callable

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import RunNotLive, RunQuarantined, TtlRefused
from wonder.coordinator.kept_events import KeptEvents, awaits
from wonder.coordinator.orders import EVENT_TTL_SECONDS
from wonder.coordinator.unloaded import Unloaded
from wonder.engine.facts import (
    CancelRequested,
    EventArrived,
    Fact,
    PauseRequested,
    ResumeRequested,
)
from wonder.language.keys import check_key
from wonder.language.values import JsonValue, check_value
from wonder.storage.runs.deaths import forget_deaths
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.outside import AwaitedEvent, OutsideEvent, has_come_before, waiting_for_event
from wonder.storage.runs.recording import Batch

TTL_SECONDS_MAX = 3_155_760_000  # a century, as for all lengths of time

Also = Callable[[Batch], None]
"""Puts something into the commit that carries an order out."""


class Outside:
    """The ways into a run from outside."""

    def __init__(self, coordinator: Coordinator, unloaded: Unloaded, kept_events: KeptEvents) -> None:
        self._coordinator, self._unloaded, self._kept = coordinator, unloaded, kept_events

    async def reconcile(self) -> None:
        """Give kept events to the tokens that wait for them, where a process ended or a commit failed in between."""
        await self._kept.reconcile()

    async def cancel(self, run_id: str, reason: str | None = None, also: Also | None = None) -> None:
        """End a run with all that is live in it; durable when this returns. Raises RunNotLive."""
        check_value(reason)
        if not await self._unloaded.cancel(run_id, reason, also):
            await self._order(run_id, CancelRequested(reason), also)

    async def pause(self, run_id: str, reason: str = "requested", also: Also | None = None) -> None:
        """Let a run dispatch nothing more; raises RunNotLive."""
        check_value(reason)
        await self._order(run_id, PauseRequested(reason), also)

    async def resume(self, run_id: str, also: Also | None = None) -> None:
        """Let a paused run go on, and a quarantined one be taken up again; raises RunNotLive."""
        coordinator, was_quarantined = self._coordinator, await is_quarantined(self._coordinator, run_id)
        coordinator.residency.released.add(run_id)
        try:
            await self._order(run_id, ResumeRequested(), lambda batch: _release(batch, run_id, also))
        finally:
            coordinator.residency.released.discard(run_id)
        if was_quarantined:
            # What came for it meanwhile was not heard: timers, events, the ends of sub-workflows.
            coordinator.spawn(
                coordinator.background.insist(f"run {run_id} can't catch up", coordinator.effects.catch_up)
            )

    async def send_event(
        self,
        project_id: str,
        event: str,
        key: str | None,
        payload: JsonValue,
        *,
        sender_id: str | None = None,
        ttl_seconds: int = EVENT_TTL_SECONDS,
        also: Also | None = None,
    ) -> int:
        """Wake all that wait for an event, or keep it for the first that comes; say how many it woke.

        Raises BadValue, KeyRefused or TtlRefused before anything is changed: the commit is shared with others.
        """
        check_value(payload)
        check_key("the name of the event", event)
        if key is not None:
            check_key("the key of the event", key)
        if sender_id is not None:
            check_key("the id of the event", sender_id)
        if not 0 <= ttl_seconds <= TTL_SECONDS_MAX:
            raise TtlRefused(ttl_seconds, TTL_SECONDS_MAX)
        coordinator = self._coordinator
        async with self._kept.lock:
            await coordinator.durable()
            if sender_id is not None and await has_come_before(coordinator.store, project_id, sender_id):
                if also:
                    also(coordinator.commits.batch)
                    coordinator.commits.touch()
                    await coordinator.durable()
                return 0
            awaited = AwaitedEvent(project_id, event, key)
            waiting = await waiting_for_event(coordinator.store, awaited)
            now_ms = coordinator.clock.now_ms()
            sent = OutsideEvent(
                id=coordinator.new_id(),
                project_id=project_id,
                event=event,
                key=key,
                payload=payload,
                arrived_ms=now_ms,
                expires_ms=now_ms + ttl_seconds * 1_000,
                sender_id=sender_id,
            )
            runs = {run.id: run for run in await coordinator.residency.hold(token.run_id for token in waiting)}
            # From here on nothing is waited for: all of it is one commit.
            woken = 0
            for run_id, token_id in waiting:
                if run_id in runs and awaits(runs[run_id], token_id, awaited):
                    coordinator.take(runs[run_id], EventArrived(token_id, payload))
                    woken += 1
            for run in runs.values():
                coordinator.residency.let_go(run)
            coordinator.commits.batch.keep_event(sent, used=woken > 0)
            if also:
                also(coordinator.commits.batch)
            coordinator.commits.touch()
            await coordinator.durable()
            return woken

    async def _order(self, run_id: str, fact: Fact, also: Also | None) -> None:
        coordinator = self._coordinator
        run = await coordinator.residency.get(run_id)
        if run is None or run.state.ended:
            if await is_quarantined(self._coordinator, run_id):
                raise RunQuarantined(run_id)
            raise RunNotLive(run_id)
        if also:
            also(coordinator.commits.batch)
            coordinator.commits.touch()
        coordinator.take(run, fact)
        coordinator.residency.rest(run)
        await coordinator.durable()


async def is_quarantined(coordinator: Coordinator, run_id: str) -> bool:
    """Say whether a run was set aside, so that nothing can be done with it until it is resumed."""
    if coordinator.residency.has(run_id):
        return False
    headers = await load_headers(coordinator.store, [run_id])
    return bool(headers) and headers[0].is_quarantined


def _release(batch: Batch, run_id: str, also: Also | None) -> None:
    """Have the deaths forgotten that a run is resumed after, along with what else is to be stored."""
    batch.write(forget_deaths(run_id))
    if also:
        also(batch)
