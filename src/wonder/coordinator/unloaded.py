"""Runs that are ended or set aside without being loaded: they are too large for that, or too dangerous (CTL-16)."""

from collections.abc import Callable

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import RunNotLive
from wonder.coordinator.starting import Starter
from wonder.engine import limits
from wonder.engine.decisions import EndRun, RecordEvent
from wonder.engine.events import TOKENS_ENDED, WORKFLOW_CANCELLED, WORKFLOW_PAUSED
from wonder.engine.facts import CancelRequested, ChildEnded
from wonder.engine.state import CANCELLED
from wonder.storage.runs.headers import RunHeader, load_headers
from wonder.storage.runs.reading import count_live_tokens, live_children, workflow_timer
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import QUARANTINED

Also = Callable[[Batch], None]


class Unloaded:
    """Ends runs by their rows alone, and pauses them so that nobody loads them."""

    def __init__(self, coordinator: Coordinator, starter: Starter) -> None:
        self._coordinator, self._starter = coordinator, starter
        self._loaded_max = limits.ended_singly_max

    async def cancel(self, run_id: str, reason: str | None = None, also: Also | None = None) -> bool:
        """Cancel a run that is not in memory if it is large or quarantined; durable when this returns.

        False if it is neither, or is in memory: then it is cancelled like any other. Raises RunNotLive.
        """
        ended: list[RunHeader] = []

        async def end() -> None:
            ended.extend(await self._end(run_id, reason, also))

        if not await self._coordinator.residency.without_loading(run_id, end) or not ended:
            return False
        (header,) = ended
        coordinator, how = self._coordinator, EndRun(CANCELLED)
        coordinator.ends.tell(run_id, how)
        if header.parent_run_id is None:
            self._starter.admission.free_place(header.project_id, run_id)
        elif header.parent_token_id is not None:
            coordinator.bring(header.parent_run_id, ChildEnded(header.parent_token_id, run_id, CANCELLED))
        await self._cancel_children(run_id)
        return True

    async def set_aside(self, run_id: str) -> None:
        """Pause a run as quarantined, without loading it; nothing happens if it has ended or a person is asked."""
        await self._coordinator.residency.without_loading(run_id, lambda: self._set_aside(run_id))

    async def _end(self, run_id: str, reason: str | None, also: Also | None) -> list[RunHeader]:
        coordinator = self._coordinator
        headers = await load_headers(coordinator.store, [run_id])
        if not headers or headers[0].has_ended:
            raise RunNotLive(run_id)
        if coordinator.facts_log.untaken_of([run_id]):
            return []  # Its rows lack what was logged.
        (header,) = headers
        count = await count_live_tokens(coordinator.store, run_id)
        if count <= self._loaded_max and header.paused_reason != QUARANTINED:
            return []
        keeps_input = (await self._starter.settings(header.project_id)).record_io != "none"
        now_ms, first = coordinator.clock.now_ms(), header.sequence + 1
        told = [TOKENS_ENDED({"status": CANCELLED, "count": count})] if count else []
        told.append(WORKFLOW_CANCELLED({"reason": reason}))
        events = [
            RecordEvent(first + place, first, type, now_ms, None, None, None, metadata)
            for place, (type, metadata) in enumerate(told)
        ]
        coordinator.commits.batch.end_unloaded(header, events, EndRun(CANCELLED), now_ms, keeps_input=keeps_input)
        await self._store(also)
        return headers

    async def _set_aside(self, run_id: str) -> None:
        coordinator = self._coordinator
        headers = await load_headers(coordinator.store, [run_id])
        if not headers or headers[0].has_ended or headers[0].is_quarantined or headers[0].gate_item_id is not None:
            return
        (header,) = headers
        due_ms, now_ms = await workflow_timer(coordinator.store, run_id), coordinator.clock.now_ms()
        left_ms = header.timeout_left_ms if due_ms is None else max(0, due_ms - now_ms)
        number = header.sequence + 1
        type, metadata = WORKFLOW_PAUSED({"reason": QUARANTINED, "left_ms": left_ms})
        event = RecordEvent(number, number, type, now_ms, None, None, None, metadata)
        coordinator.commits.batch.pause_unloaded(header, event, QUARANTINED, left_ms)
        await self._store(None)

    async def _store(self, also: Also | None) -> None:
        if also:
            also(self._coordinator.commits.batch)
        self._coordinator.commits.touch()
        await self._coordinator.durable()

    async def _cancel_children(self, run_id: str) -> None:
        """Cancel the sub-workflows of a run that has ended; those that are missed are found when an engine begins."""
        after = ""
        while page := await live_children(self._coordinator.store, run_id, after=after):
            for child_id in page:
                await self._coordinator.bring_and_wait(child_id, CancelRequested("its parent was cancelled"))
            after = page[-1]
            await self._coordinator.durable()
