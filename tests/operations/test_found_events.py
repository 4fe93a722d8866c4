"""EVT-1: events are found by type, node, token and time, in a run and across the runs of a project."""

from itertools import pairwise
from typing import Any

import pytest

from support.systems import bundle, calls, line, open_item, running, until, waits
from support.tenants import in_project
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.engine.events import EVENTS
from wonder.operations.catalogue import call
from wonder.operations.run_events import (
    EventsOfRun,
    UnknownEventType,
    UnknownNode,
    WhichEvents,
    find_project_events,
    list_events,
)
from wonder.operations.run_records import EventRecord
from wonder.storage.runs.events_across_runs import find_events
from wonder.storage.runs.finding_events import WantedEvents
from wonder.storage.runs.indexed_events import ROUTINE
from wonder.storage.store import Reader

FLOW = bundle("flow", {"one": calls("good"), "two": calls("maybe")}, line("one", "two"))
FAILS = bundle("fails", {"one": calls("bad")})
ASKS = bundle("asks", {"two": waits("human_input", {"prompt": "?", "schema": {}})})


def good() -> dict[str, int]:
    return {"n": 1}


def bad() -> None:
    raise ActionFailed("BAD", "it is bad")


async def everything(wonder: Application) -> list[tuple[str, EventRecord]]:
    """Read all events of all runs of the project, run by run."""
    rows = await wonder.store.query("SELECT id FROM runs WHERE project_id = $1", wonder.home.project_id)
    return [
        (str(run_id), event)
        for (run_id,) in rows
        async for event in list_events(wonder, EventsOfRun(run_id=str(run_id)))
    ]


async def some_runs(wonder: Application) -> None:
    """Start runs that complete, that fail and that wait, and some of another project."""
    names = [(await wonder.deploy(one)).name for one in (FLOW, FAILS, ASKS)]
    for name in [*names, *names[:2], names[0]]:
        run = await wonder.start(name)
        if name == "asks":
            await open_item(wonder, run)
        else:
            await run.wait()
    cancelled = await wonder.start("asks")
    await open_item(wonder, cancelled)
    await wonder.cancel(cancelled.id)


def included(event: EventRecord, given: dict[str, Any]) -> bool:
    return (
        event.event_type in given.get("types", EVENTS)
        and given.get("node") in (None, event.node)
        and given.get("token_id") in (None, event.token_id)
        and given.get("since_ms", 0) <= event.timestamp < given.get("until_ms", 2**53)
    )


async def test_evt_1_events_are_found_by_type_node_token_and_time(store_url: str) -> None:
    async with running(store_url, good=good, maybe=good, bad=bad) as wonder:
        await some_runs(wonder)
        await call(wonder, "projects.create", name="elsewhere")
        async with in_project(wonder, "elsewhere") as elsewhere:
            await some_runs(elsewhere)
        known = await until(lambda: _settled(wonder))
        times = sorted(event.timestamp for _, event in known)
        middle, late = times[len(times) // 2], times[-3]
        (failed,) = [event for _, event in known if event.event_type == "node_failed"][:1]
        for given in (
            {},
            {"types": ["node_failed"]},
            {"types": ["node_completed"]},
            {"types": ["workflow_failed", "human_input_requested", "token_completed", "workflow_cancelled"]},
            {"node": "two"},
            {"node": "one", "types": ["node_failed", "node_completed"]},
            {"node": "nowhere"},
            {"since_ms": middle},
            {"until_ms": middle},
            {"since_ms": middle, "until_ms": late, "types": ["node_failed", "token_dispatched"]},
            {"since_ms": times[-1] + 1},
            {"token_id": failed.token_id},
            {"token_id": failed.token_id, "types": ["node_failed"]},
            {"token_id": "nobody"},
        ):
            expected = {(run_id, one.sequence_number) for run_id, one in known if included(one, given)}
            found = [one async for one in find_project_events(wonder, WhichEvents(**given))]
            assert len(found) == len(expected), given
            assert {(one.run_id, one.sequence_number) for one in found} == expected, given
            # The start of a task has its true time, and is recorded with its end.
            recorded = [one.timestamp for one in found if one.event_type != "node_started"]
            assert all(newer >= older for newer, older in pairwise(recorded)), given
            first = [one async for one in find_project_events(wonder, WhichEvents(**given, limit=2))]
            assert first == found[:2]
            for run_id in {run_id for run_id, _ in known}:
                if given.get("node") == "nowhere" or (given.get("node") and not _has(known, run_id, given["node"])):
                    continue
                of_run = [one async for one in list_events(wonder, EventsOfRun(run_id=run_id, **given))]
                assert [one.sequence_number for one in of_run] == sorted(n for run, n in expected if run == run_id)


def _has(known: list[tuple[str, EventRecord]], run_id: str, node: str) -> bool:
    return any(event.node == node for run, event in known if run == run_id)


async def _settled(wonder: Application) -> list[tuple[str, EventRecord]] | None:
    """Give all events once nothing comes any more."""
    before = await everything(wonder)
    return before if len(before) == len(await everything(wonder)) else None


async def test_evt_1_what_can_not_be_found_is_told(store_url: str) -> None:
    async with running(store_url, bad=bad) as wonder:
        run = await wonder.start(await wonder.deploy(FAILS))
        await run.wait()
        with pytest.raises(UnknownEventType, match="there is no type of event 'node_fail'; did you mean 'node_failed'"):
            await call(wonder, "events.find", types=["node_fail"])
        with pytest.raises(UnknownNode, match="has no node 'on'; did you mean 'one'"):
            await call(wonder, "runs.events", run_id=run.id, node="on")
        assert await call(wonder, "events.find", limit=0) == await call(wonder, "runs.events", run_id=run.id, limit=0)


class Counting:
    """A reader that counts the rows it gives."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self.rows = reader, 0

    async def fetch(self, query: str, *given: Any) -> Any:
        rows = await self._reader.fetch(query, *given)
        self.rows += len(rows)
        return rows


async def test_evt_1_nothing_is_read_beyond_what_is_wanted(store_url: str) -> None:
    async with running(store_url, good=good, maybe=good, bad=bad) as wonder:
        flow, fails = await wonder.deploy(FLOW), await wonder.deploy(FAILS)
        await (await wonder.start(fails)).wait()
        for _ in range(30):
            await (await wonder.start(flow)).wait()
        reader: Any = Counting(wonder.store)
        home = wonder.home.project_id
        rare = WantedEvents(types=frozenset({"node_failed"}))
        assert len([one async for one in find_events(reader, home, rare)]) == 1
        assert reader.rows <= 3  # the row of the index, and that of the event
        reader.rows = 0
        async for one in find_events(reader, home, WantedEvents(types=frozenset({"node_completed"}))):
            assert one.event.type in ROUTINE
            break
        assert reader.rows <= 31 + 10  # the runs, and the newest of them
