"""What comes from outside: answers of people, events, and orders to cancel, pause or resume a run (CTL-16, ACT-4)."""

from collections.abc import Callable
from typing import Any

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import InputRefused, ItemClosed, RunNotLive, RunQuarantined, TtlRefused
from wonder.coordinator.kept_events import KeptEvents, awaits
from wonder.coordinator.live import LiveRun
from wonder.coordinator.orders import EVENT_TTL_SECONDS
from wonder.coordinator.unloaded import Unloaded
from wonder.engine.control import check_answer
from wonder.engine.facts import (
    CancelRequested,
    EventArrived,
    Fact,
    GateAnswered,
    InputGiven,
    PauseRequested,
    ResumeRequested,
)
from wonder.language.keys import check_key
from wonder.language.schemas import Schema, compile_validator
from wonder.language.values import JsonValue, check_value
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.deaths import forget_deaths
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.outside import AwaitedEvent, OutsideEvent, has_come_before, waiting_for_event
from wonder.storage.runs.reading import InboxItem, load_inbox_item
from wonder.storage.runs.recording import Batch
from wonder.storage.spending import extension_entry

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
        coordinator, was_quarantined = self._coordinator, await self._is_quarantined(run_id)
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

    async def answer(self, item_id: str, value: JsonValue, by: str | None = None, also: Also | None = None) -> None:
        """Answer an inbox item; raises ItemClosed, or InputRefused, which changes nothing."""
        check_value(value)
        check_value(by)
        try:
            item = await load_inbox_item(self._coordinator.store, item_id)
        except NotFound:
            raise ItemClosed(item_id) from None
        coordinator = self._coordinator
        run = await coordinator.residency.get(item.run_id) if item.status == "open" else None
        if run is None:
            if item.status == "open" and await self._is_quarantined(item.run_id):
                raise RunQuarantined(item.run_id)
            raise ItemClosed(item_id)
        try:
            fact = _gate_fact(run, item, value, by) if item.token_id is None else _answer_fact(run, item, value, by)
            coordinator.commits.batch.keep_answer(item_id, value)
            _extend_budgets(coordinator.commits.batch, item, value, coordinator.clock.now_ms())
            if also:
                also(coordinator.commits.batch)
            coordinator.take(run, fact)
        finally:
            coordinator.residency.rest(run)
        await coordinator.durable()

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

    async def _is_quarantined(self, run_id: str) -> bool:
        if self._coordinator.residency.has(run_id):
            return False
        headers = await load_headers(self._coordinator.store, [run_id])
        return bool(headers) and headers[0].is_quarantined

    async def _order(self, run_id: str, fact: Fact, also: Also | None) -> None:
        coordinator = self._coordinator
        run = await coordinator.residency.get(run_id)
        if run is None or run.state.ended:
            if await self._is_quarantined(run_id):
                raise RunQuarantined(run_id)
            raise RunNotLive(run_id)
        if also:
            also(coordinator.commits.batch)
            coordinator.commits.touch()
        coordinator.take(run, fact)
        coordinator.residency.rest(run)
        await coordinator.durable()


def _release(batch: Batch, run_id: str, also: Also | None) -> None:
    """Have the deaths forgotten that a run is resumed after, along with what else is to be stored."""
    batch.write(forget_deaths(run_id))
    if also:
        also(batch)


def _extend_budgets(batch: Batch, item: InboxItem, value: Any, now_ms: int) -> None:
    """Add to the budgets that refused a call what a person gives them, with the answer that says so (RES-6)."""
    if item.kind == "budget" and value["decision"] == "extend":
        refused: Any = item.input
        scope_ids = [budget["id"] for budget in refused["budgets"]]
        batch.extend_budgets(extension_entry(scope_ids, value["extend_cents"], now_ms))


def _answer_fact(run: LiveRun, item: InboxItem, value: JsonValue, by: str | None) -> Fact:
    token = run.state.tokens.get(item.token_id or "")
    # A token that was answered may live on, at a join: the answer that came second must hear that it is none.
    if token is None or token.wait is None or token.wait.get("item_id") != item.id:
        raise ItemClosed(item.id)
    if faults := check_answer(token, value):
        raise InputRefused("the answer", faults)
    return InputGiven(token.id, item.id, value, by)


def _gate_fact(run: LiveRun, item: InboxItem, value: JsonValue, by: str | None) -> Fact:
    if run.state.gate_item_id != item.id:
        raise ItemClosed(item.id)
    schema = item.schema
    assert isinstance(schema, dict | bool)
    checked: Schema = schema
    if faults := compile_validator(checked).faults(value):
        raise InputRefused("the answer", faults)
    assert isinstance(value, dict)
    return GateAnswered(item.id, value["decision"], value.get("extend_ms"), by)  # type: ignore[arg-type]  # checked
