"""Verify: a run as its rows have it must be what its events fold to (EVT-2).

Events are read and folded page by page: a long run needs no more memory than what is live in it.
"""

from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from wonder.definitions.records.graph import WorkflowDef
from wonder.engine.decisions import RecordEvent
from wonder.engine.events import CONTEXT_SNAPSHOT
from wonder.engine.replay import Folding, UnknownEvent, comparable
from wonder.engine.restore import RunRow, Snapshot
from wonder.engine.state import ENDED_RUN
from wonder.language.targets import TargetUnwritable
from wonder.language.values import canonical_json
from wonder.storage.context_tables import load_context_plan
from wonder.storage.definitions import load_definition
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.loading import load_current
from wonder.storage.runs.reading import EVENTS_PER_PAGE, events_of_run, next_event, stored_ends
from wonder.storage.runs.snapshots import load_oldest_snapshot, load_snapshot
from wonder.storage.store import Store

_TRIES: Final = 10
_FAULTS_MAX: Final = 100
_FINAL_EVENTS: Final = ("workflow_completed", "workflow_failed", "workflow_cancelled")
_TOKEN_ENDS: Final = ("token_completed", "token_failed", "token_cancelled", "token_timed_out")
# What a fold raises at an event that does not follow from those before it.
_UNFIT: Final = (
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    msgspec.ValidationError,
    TargetUnwritable,
    UnknownEvent,
)


async def verify_run(store: Store, run_id: str) -> list[str]:
    """Compare a run with its events, from the first or the oldest kept snapshot on; gives all that differs.

    A run under way may be looked at too: the events that have come meanwhile are read until nothing more has changed.
    Raises NotFound.
    """
    header = await load_header(store, run_id)
    reading = _Reading(store, run_id)
    for _ in range(_TRIES):
        await reading.read(header)
        found = await reading.faults(header)
        newest = await load_header(store, run_id)
        if newest.sequence == header.sequence:
            return found if len(found) <= _FAULTS_MAX else [*found[:_FAULTS_MAX], "and more"]
        header = newest
    return [f"the run changed {_TRIES} times while it was read; look again when it is quieter, or pause it"]


class _Reading:
    """The events of a run, read so far."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._folding = Folding(run_id)
        self._is_begun = False
        """Whether the fold has had an event to begin with."""
        self._begins_behind = 0
        """The number of the last event that the fold leaves out, because it begins with a snapshot."""
        self._first = self._last = 0
        self._newest: Snapshot | None = None
        self._gaps: list[str] = []
        self._differences: list[str] = []
        self._ends: list[RecordEvent] = []
        self._ended_together: dict[str, str] = {}
        """Tokens that ended with one event, and how."""

    async def read(self, header: RunHeader) -> None:
        """Read on, up to the last event that the header knows of."""
        if not self._first:
            await self._begin()
        while self._last < header.sequence:
            limit = min(EVENTS_PER_PAGE, header.sequence - self._last)
            page = await events_of_run(self._store, self._run_id, after=self._last, limit=limit)
            if not page:
                following = await next_event(self._store, self._run_id, self._last)
                if following is None:
                    return
                page = await events_of_run(self._store, self._run_id, after=following - 1)
            for event in page:
                self._take(event)
            await self._compare_ends(page)

    async def faults(self, header: RunHeader) -> list[str]:
        """Say all that differs between the events that were read and the rows."""
        gaps = list(self._gaps)
        if self._first and self._last != header.sequence:
            gaps.append(f"the run is at event {header.sequence}, and its last one is {self._last}")
        if gaps:
            return gaps
        if not self._first and not self._is_begun:
            return ["the run has neither its first event nor a snapshot to begin with"]
        stored = await _stored(self._store, header)
        if not self._is_begun:
            faults = ["the run has tokens though it has not started"] if stored.tokens else []
            return faults + _faults_of_end(self._ends, header)
        faults = [*self._differences, *self._compared("", stored), *_faults_of_end(self._ends, header)]
        return faults + await self._faults_of_live_tokens()

    async def _begin(self) -> None:
        """Begin with the first event, or with a snapshot in the place of those that are not kept any more."""
        first = await next_event(self._store, self._run_id, 0)
        self._first = first or 0
        self._newest = await load_snapshot(self._store, self._run_id)
        if first == 1:
            return
        self._last = self._first - 1
        snapshot = await load_oldest_snapshot(self._store, self._run_id)
        if snapshot is None:
            self._first = 0
            return
        sequence = self._begins_behind = snapshot.run.sequence
        if self._newest is not None and self._newest.run.sequence <= sequence:
            self._newest = None
        type, metadata = CONTEXT_SNAPSHOT({"snapshot": msgspec.to_builtins(snapshot)})
        self._fold(RecordEvent(sequence, sequence, type, 0, None, None, None, metadata))

    def _take(self, event: RecordEvent) -> None:
        if event.sequence != self._last + 1 and len(self._gaps) < _FAULTS_MAX:
            self._gaps.append(f"events {self._last + 1} to {event.sequence - 1} are missing")
        self._last = event.sequence
        if event.type in _FINAL_EVENTS and len(self._ends) < _FAULTS_MAX:
            self._ends.append(event)
        if event.type == "tokens_ended":
            self._ended_together = dict.fromkeys(self._folding.tokens, str(event.metadata["status"]))
        # Behind a gap, or an event that did not fit, a fold would only find what follows from that.
        if event.sequence > self._begins_behind and not self._gaps and not self._differences:
            self._fold(event)
        if self._newest is not None and event.sequence == self._newest.run.sequence and self._is_begun:
            self._differences += self._compared(f"snapshot {event.sequence}: ", self._newest)
            self._newest = None

    def _fold(self, event: RecordEvent) -> None:
        self._is_begun = self._is_begun or event.type in ("workflow_started", "context_snapshot")
        try:
            self._folding.take(event)
        except _UNFIT as error:
            reason = f"{type(error).__name__}: {error}"
            self._differences.append(
                f"event {event.sequence}, {event.type}, does not follow from those before: {reason}"
            )

    def _compared(self, place: str, stored: Snapshot) -> list[str]:
        try:
            folded = self._folding.result()
        except _UNFIT as error:
            return [f"{place}the events add up to no run: {type(error).__name__}: {error}"]
        return _differences(place, folded, stored)

    async def _compare_ends(self, page: list[RecordEvent]) -> None:
        """Compare the tokens that these events made or ended, which no fold keeps, with their rows."""
        ends = {str(event.token_id): event.type.removeprefix("token_") for event in page if event.type in _TOKEN_ENDS}
        spawned = {str(event.token_id) for event in page if event.type == "token_spawned"}
        await self._compare_rows(list(dict.fromkeys([*ends, *spawned])), ends, spawned)
        together, self._ended_together = self._ended_together, {}
        ids = list(together)
        for first in range(0, len(ids), EVENTS_PER_PAGE):
            await self._compare_rows(ids[first : first + EVENTS_PER_PAGE], together, spawned)

    async def _compare_rows(self, ids: list[str], ends: dict[str, str], spawned: set[str]) -> None:
        if not ids or len(self._differences) > _FAULTS_MAX:
            return
        rows = await stored_ends(self._store, self._run_id, ids)
        for id in ids:
            if id not in rows:
                self._differences += [f"token {id} has events and no row"] if id in spawned else []
            elif id in ends and rows[id].status != ends[id]:
                self._differences.append(f"token {id} is {rows[id].status}, and by its events {ends[id]}")

    async def _faults_of_live_tokens(self) -> list[str]:
        """Compare the tokens whose end no event tells of with their rows."""
        ids, faults = list(self._folding.tokens), []
        for first in range(0, len(ids), EVENTS_PER_PAGE):
            rows = await stored_ends(self._store, self._run_id, ids[first : first + EVENTS_PER_PAGE])
            faults += [
                f"token {id} is {row.status}, and by its events live" for id, row in rows.items() if row.has_ended
            ]
        return faults


async def _stored(store: Store, header: RunHeader) -> Snapshot:
    version = (header.workflow_def_id, header.workflow_version)
    definition = await load_definition(store, WorkflowDef, *version)
    plan = await load_context_plan(store, definition)
    return (await load_current(store, store.dialect, [header], {version: plan}))[header.id]


def _differences(place: str, folded: Snapshot, stored: Snapshot) -> list[str]:
    one, other = _plain(folded), _plain(stored)
    faults = [
        f"{place}{name} is {_shown(other['run'][name])}, and by the events {_shown(one['run'][name])}"
        for name in one["run"]
        if canonical_json(one["run"][name]) != canonical_json(other["run"][name])
    ]
    return faults + [
        f"{place}{name} are {_shown(other[name])}, and by the events {_shown(one[name])}"
        for name in ("tokens", "groups", "branches")
        if canonical_json(one[name]) != canonical_json(other[name])
    ]


def _plain(snapshot: Snapshot) -> Any:
    """Give what can be compared, as JSON: of a run that has ended, nothing that only one that goes on would need."""
    found = comparable(snapshot)
    run: RunRow = found.run
    if run.status in ENDED_RUN:
        run = replace(run, timers={}, loops={}, timeout_left_ms=None)
    return msgspec.to_builtins(asdict(replace(found, run=run)))


def _shown(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= 1_000 else text[:1_000] + "…"


def _faults_of_end(ends: list[RecordEvent], header: RunHeader) -> list[str]:
    if not header.has_ended:
        return [f"the run has not ended, and event {event.sequence} says so" for event in ends]
    if len(ends) != 1:
        return [f"the run has ended, and {len(ends)} events say so"]
    if ends[0].type != f"workflow_{header.status}":
        return [f"the run is {header.status}, and by its last event {ends[0].type}"]
    if header.status == "completed" and canonical_json(ends[0].metadata["output"]) != canonical_json(header.output):
        return ["the run's output is not the one that its last event tells of"]
    return []
