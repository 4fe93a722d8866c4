"""Events across the runs of a project by type, node and time, newest first (EVT-1).

Events of the rarer types are found by their index. All others are found by the runs that were under way at the time:
these are opened one by one, those that ended last first, and their events are merged. Nothing is read ahead of a reader
who has enough.
"""

import heapq
from collections.abc import AsyncIterator, Collection
from itertools import count
from typing import Final, NamedTuple

from msgspec.structs import replace

from wonder.engine.decisions import RecordEvent
from wonder.storage.pages import LAST
from wonder.storage.runs.cells import number, number_or_none, text
from wonder.storage.runs.event_rows import unpacked_events
from wonder.storage.runs.finding_events import FOR_EVER, WantedEvents
from wonder.storage.runs.indexed_events import INDEXED, ROUTINE
from wonder.storage.runs.reading import events_of_run
from wonder.storage.store import Reader
from wonder.storage.ulids import ulid_of

# Few at a time: as many runs as were under way at once are open at once.
_ROWS_PER_PAGE: Final = 10
_INDEXED_PER_PAGE: Final = 100
_RUNS_PER_PAGE: Final = 200
# By so much a clock may have been set back while a run was under way, without its events being missed.
_CLOCK_STEP_MS: Final = 600_000


class RunOfEvents(NamedTuple):
    """A run in which events were found, and the definition that it follows."""

    id: str
    workflow_def_id: str
    workflow_version: int


class FoundEvent(NamedTuple):
    """An event, and its run."""

    run: RunOfEvents
    event: RecordEvent


class _Dated(NamedTuple):
    """A found event, and when it was recorded at the latest, which is what the order goes by."""

    at_ms: int
    found: FoundEvent


Definitions = Collection[tuple[str, int]]


async def find_events(
    reader: Reader, project_id: str, wanted: WantedEvents, definitions: Definitions | None = None
) -> AsyncIterator[FoundEvent]:
    """Give the wanted events of a project, newest first; with `definitions`, only those of runs that follow one."""
    types = INDEXED | ROUTINE if wanted.types is None else wanted.types
    sources = [_indexed(reader, project_id, type, wanted) for type in sorted(types & INDEXED)]
    if routine := types & ROUTINE:
        sources.append(_routine(reader, project_id, replace(wanted, types=routine), definitions))
    heads: list[tuple[_Dated, AsyncIterator[_Dated]]] = []
    for source in sources:
        first = await anext(source, None)
        if first is not None:
            heads.append((first, source))
    while heads:
        place = max(range(len(heads)), key=lambda number: _order(heads[number][0]))
        head, source = heads[place]
        yield head.found
        following = await anext(source, None)
        if following is None:
            del heads[place]
        else:
            heads[place] = (following, source)


async def run_of_token(reader: Reader, project_id: str, token_id: str) -> RunOfEvents | None:
    """Find the run of a project that a token belongs to."""
    for id, definition_id, version in await reader.fetch("run_of_token", project_id, token_id):
        return RunOfEvents(text(id), text(definition_id), number(version))
    return None


def _order(one: _Dated) -> tuple[int, str, int]:
    return one.at_ms, one.found.run.id, one.found.event.sequence


async def _indexed(reader: Reader, project_id: str, type: str, wanted: WantedEvents) -> AsyncIterator[_Dated]:
    """Give the wanted events of one type that has an index."""
    since_ms = wanted.since_ms or 0
    before: tuple[int, str, int] = (FOR_EVER if wanted.until_ms is None else wanted.until_ms, "", 0)
    while rows := await reader.fetch("indexed_events_before", project_id, type, since_ms, *before, _INDEXED_PER_PAGE):
        for run_id, sequence, at_ms, node_id, token_id, definition_id, version in rows:
            before = (number(at_ms), text(run_id), number(sequence))
            if wanted.node_ids is not None and node_id not in wanted.node_ids:
                continue
            if wanted.token_id is not None and token_id != wanted.token_id:
                continue
            # Not there where the run has just been removed.
            for event in await events_of_run(reader, text(run_id), after=number(sequence) - 1, limit=1):
                run = RunOfEvents(text(run_id), text(definition_id), number(version))
                yield _Dated(number(at_ms), FoundEvent(run, event))


async def _routine(
    reader: Reader, project_id: str, wanted: WantedEvents, definitions: Definitions | None
) -> AsyncIterator[_Dated]:
    """Give the wanted events of types that have no index, out of the runs that were under way."""
    # What is first on the heap is the newest: an event, or the end of a run that was not opened.
    heap: list[tuple[int, int, RunOfEvents, _Dated | None, AsyncIterator[_Dated] | None]] = []
    numbers = count()
    since_ms = wanted.since_ms or 0
    async for run, last_ms in _live_runs(reader, project_id, wanted.until_ms):
        if last_ms >= since_ms:
            heapq.heappush(heap, (-last_ms, next(numbers), run, None, None))
    ended = _ended_runs(reader, project_id, wanted)
    following = await anext(ended, None)
    while heap or following:
        if following and (not heap or following[1] >= -heap[0][0]):
            heapq.heappush(heap, (-following[1], next(numbers), following[0], None, None))
            following = await anext(ended, None)
            continue
        _, _, run, head, source = heapq.heappop(heap)
        if definitions is not None and (run.workflow_def_id, run.workflow_version) not in definitions:
            continue
        if head is not None:
            yield head
        source = source or _backwards(reader, run, wanted)
        head = await anext(source, None)
        if head is not None:
            heapq.heappush(heap, (-head.at_ms, next(numbers), run, head, source))


async def _live_runs(reader: Reader, project_id: str, until_ms: int | None) -> AsyncIterator[tuple[RunOfEvents, int]]:
    before = LAST if until_ms is None else ulid_of(until_ms)
    while rows := await reader.fetch("live_runs_before", project_id, before, _RUNS_PER_PAGE):
        for id, definition_id, version, last_ms in rows:
            before = text(id)
            yield RunOfEvents(before, text(definition_id), number(version)), number_or_none(last_ms) or 0


async def _ended_runs(reader: Reader, project_id: str, wanted: WantedEvents) -> AsyncIterator[tuple[RunOfEvents, int]]:
    below = LAST if wanted.until_ms is None else ulid_of(wanted.until_ms)
    before: tuple[int, str] = (FOR_EVER, "")
    while rows := await reader.fetch(
        "ended_runs_before", project_id, wanted.since_ms or 0, *before, below, _RUNS_PER_PAGE
    ):
        for id, definition_id, version, completed_ms in rows:
            before = (number(completed_ms), text(id))
            yield RunOfEvents(text(id), text(definition_id), number(version)), number(completed_ms)


async def _backwards(reader: Reader, run: RunOfEvents, wanted: WantedEvents) -> AsyncIterator[_Dated]:
    """Give the wanted events of a run, the last ones first."""
    before, at_ms = FOR_EVER, FOR_EVER
    while rows := await reader.fetch("event_rows_before", run.id, before, _ROWS_PER_PAGE, wanted.needles):
        for first, _, packed in rows:
            before = number(first)
            events = unpacked_events([(packed,)], 0, FOR_EVER)
            # The start of a task is recorded with its end: the order goes by the row.
            at_ms = min(at_ms, events[-1].at_ms)
            if at_ms < (wanted.since_ms or 0) - _CLOCK_STEP_MS:
                return
            for event in reversed(events):
                if wanted.includes(event):
                    yield _Dated(at_ms, FoundEvent(run, event))
