"""Verify: a run as its rows have it must be what its events fold to (EVT-2)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from wonder.context.plan import plan_context, table_prefix
from wonder.definitions.records.graph import WorkflowDef
from wonder.engine.decisions import RecordEvent
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import RunRow, Snapshot
from wonder.engine.state import ENDED_RUN
from wonder.language.values import canonical_json
from wonder.storage.definitions import load_definition
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.loading import load_current
from wonder.storage.runs.looking import events_of_run, tokens_of_run
from wonder.storage.runs.snapshots import load_oldest_snapshot, load_snapshot
from wonder.storage.store import Store

_TRIES: Final = 10
_FINAL_EVENTS: Final = ("workflow_completed", "workflow_failed", "workflow_cancelled")
_TOKEN_ENDS: Final = ("token_completed", "token_failed", "token_cancelled", "token_timed_out")


async def verify_run(store: Store, run_id: str) -> list[str]:
    """Compare a run with its events, from the first or the oldest kept snapshot on; gives all that differs.

    A run under way may be looked at too: it is read again until nothing has changed meanwhile. Raises NotFound.
    """
    for _ in range(_TRIES):
        header = await load_header(store, run_id)
        found = await _verify(store, header)
        if (await load_header(store, run_id)).sequence == header.sequence:
            return found
    return [f"the run changed {_TRIES} times while it was read; look again when it is quieter, or pause it"]


async def _verify(store: Store, header: RunHeader) -> list[str]:
    events = await _all_events(store, header.id)
    faults = _faults_in_sequence(events, header)
    if faults:
        return faults
    stored = await _stored(store, header)
    begun = await _beginning(store, header, events)
    if begun is None:
        return ["the run has neither its first event nor a snapshot to begin with"]
    if not any(event.type in ("workflow_started", "context_snapshot") for event in begun):
        faults += ["the run has tokens though it has not started"] if stored.tokens else []
        return faults + _faults_of_end(events, header)
    faults += _differences("", fold(begun, header.id), stored)
    newest = await load_snapshot(store, header.id)
    if newest is not None and begun is events:
        until = [event for event in events if event.sequence <= newest.run.sequence]
        faults += _differences(f"snapshot {newest.run.sequence}: ", fold(until, header.id), newest)
    return faults + _faults_of_end(events, header) + await _faults_of_tokens(store, header, events)


async def _all_events(store: Store, run_id: str) -> list[RecordEvent]:
    events: list[RecordEvent] = []
    while page := await events_of_run(store, run_id, after=events[-1].sequence if events else 0):
        events += page
    return events


def _faults_in_sequence(events: Sequence[RecordEvent], header: RunHeader) -> list[str]:
    faults = []
    for before, event in pairwise(events):
        if event.sequence != before.sequence + 1:
            faults.append(f"events {before.sequence + 1} to {event.sequence - 1} are missing")
    if events and events[-1].sequence != header.sequence:
        faults.append(f"the run is at event {header.sequence}, and its last one is {events[-1].sequence}")
    return faults


async def _stored(store: Store, header: RunHeader) -> Snapshot:
    version = (header.workflow_def_id, header.workflow_version)
    definition = await load_definition(store, WorkflowDef, *version)
    plan = plan_context(
        table_prefix(*version),
        input_schema=definition.input_schema,
        context_schema=definition.context_schema,
        output_schema=definition.output_schema,
    )
    return (await load_current(store, store.dialect, [header], {version: plan}))[header.id]


async def _beginning(store: Store, header: RunHeader, events: list[RecordEvent]) -> list[RecordEvent] | None:
    """Give the events to fold: all, or a snapshot in the place of those that are not kept any more."""
    if events and events[0].sequence == 1:
        return events
    snapshot = await load_oldest_snapshot(store, header.id)
    if snapshot is None:
        return None
    sequence = snapshot.run.sequence
    told = {"snapshot": msgspec.to_builtins(snapshot)}
    first = RecordEvent(sequence, sequence, "context_snapshot", 0, None, None, None, told)
    return [first, *(event for event in events if event.sequence > sequence)]


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


def _faults_of_end(events: Sequence[RecordEvent], header: RunHeader) -> list[str]:
    ends = [event for event in events if event.type in _FINAL_EVENTS]
    if not header.has_ended:
        return [f"the run has not ended, and event {event.sequence} says so" for event in ends]
    if len(ends) != 1:
        return [f"the run has ended, and {len(ends)} events say so"]
    if ends[0].type != f"workflow_{header.status}":
        return [f"the run is {header.status}, and by its last event {ends[0].type}"]
    if header.status == "completed" and canonical_json(ends[0].metadata["output"]) != canonical_json(header.output):
        return ["the run's output is not the one that its last event tells of"]
    return []


async def _faults_of_tokens(store: Store, header: RunHeader, events: Sequence[RecordEvent]) -> list[str]:
    """Compare the tokens that have ended, which no fold keeps, with the events of their ends."""
    ends = {event.token_id: event.type.removeprefix("token_") for event in events if event.type in _TOKEN_ENDS}
    spawned = {event.token_id for event in events if event.type == "token_spawned"}
    faults, after = [], -(2**62)
    while page := await tokens_of_run(store, header.id, after=after):
        after = page[-1].born
        for token in page:
            if token.id in spawned and (token.ended_ms is not None) != (token.id in ends):
                faults.append(f"token {token.id} is {token.status}, and by its events {ends.get(token.id, 'live')}")
            elif token.id in ends and token.status != ends[token.id]:
                faults.append(f"token {token.id} is {token.status}, and by its events {ends[token.id]}")
            spawned.discard(token.id)
    return faults + [f"token {token_id} has events and no row" for token_id in spawned]
