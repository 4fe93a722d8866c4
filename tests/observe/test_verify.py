"""Verify reads a run page by page, notices what was changed, and needs no more memory for a long run (EVT-2)."""

import tracemalloc
from typing import Any

import pytest

from support.checked_runs import update
from support.systems import bundle
from wonder.app.application import Application
from wonder.app.opening import open_wonder as opened
from wonder.coordinator.forking import load_run_at
from wonder.observe.verify import verify_run
from wonder.storage.queries import load_queries
from wonder.storage.runs import reading
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.reading import each_event, events_of_run
from wonder.storage.runs.tallies import tally_run
from wonder.storage.store import Store

SHORT, LONG = 300, 1_500


def looped(times: int) -> dict[str, Any]:
    """A node that runs again and again; of each time there are five events."""
    count = update(("state.n", "coalesce(state.n, 0) + 1"))
    again = {"from": "count", "to": "count", "ref": "again", "loop_config": {"max_iterations": times}}
    nodes = {"count": count, "end": update()}
    return bundle(f"loop-{times}", nodes, [again, {"from": "count", "to": "end", "priority": 1}])


async def run_loop(wonder: Application, times: int) -> str:
    """Run a loop to its end, and give the run's id."""
    run = await wonder.start(await wonder.deploy(looped(times)))
    assert (await run.wait()).status == "completed"
    return run.id


async def peak_of_going_back(store: Store, run_id: str) -> int:
    """Give how many bytes were in use at once while a run was taken back to its last event but three."""
    header = await load_header(store, run_id)
    tracemalloc.start()
    try:
        snapshot = await load_run_at(store, header, header.sequence - 3)
        assert len(snapshot.tokens) == 1
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def peak_of_verifying(store: Store, run_id: str) -> int:
    """Give how many bytes were in use at once while a run was verified."""
    tracemalloc.start()
    try:
        assert await verify_run(store, run_id) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def test_evt_2_a_run_five_times_as_long_is_verified_in_the_same_memory(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wonder.observe.verify.EVENTS_PER_PAGE", 100)
    async with opened(store_url) as wonder:
        store = wonder.store
        short, long = await run_loop(wonder, SHORT), await run_loop(wonder, LONG)
        await peak_of_verifying(store, short)  # what is loaded once
        assert await peak_of_verifying(store, long) < 1.5 * await peak_of_verifying(store, short)


async def test_ctl_19_a_run_five_times_as_long_is_forked_in_the_same_memory(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "EVENTS_PER_PAGE", 100)
    async with opened(store_url) as wonder:
        store = wonder.store
        short, long = await run_loop(wonder, SHORT), await run_loop(wonder, LONG)
        await peak_of_going_back(store, short)  # what is loaded once
        assert await peak_of_going_back(store, long) < 1.5 * await peak_of_going_back(store, short)


async def test_evt_2_what_differs_is_named_whatever_page_it_is_on(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wonder.observe.verify.EVENTS_PER_PAGE", 50)
    async with opened(store_url) as wonder:
        run_id, store = await run_loop(wonder, 100), wonder.store
        rows = await store.query("SELECT id FROM tokens WHERE run_id = $1 ORDER BY born LIMIT 3", run_id)
        failed, live, gone = (str(id) for (id,) in rows)
        async with store.transaction() as transaction:
            for change in (
                f"UPDATE tokens SET status = 'failed' WHERE id = '{failed}'",
                f"UPDATE tokens SET status = 'executing', ended_ms = NULL WHERE id = '{live}'",
                f"DELETE FROM tokens WHERE id = '{gone}'",
            ):
                await transaction.run(change)
        found = await verify_run(store, run_id)
        assert f"token {failed} is failed, and by its events completed" in found
        assert f"token {live} is executing, and by its events completed" in found
        assert f"token {gone} has events and no row" in found


async def test_evt_2_missing_events_are_named_however_many_they_are(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wonder.observe.verify.EVENTS_PER_PAGE", 50)
    async with opened(store_url) as wonder:
        run_id, store = await run_loop(wonder, 300), wonder.store
        rows = await store.query("SELECT first, last FROM event_turns WHERE run_id = $1 ORDER BY first", run_id)
        first, last = rows[len(rows) // 2]
        async with store.transaction() as transaction:
            await transaction.run(f"DELETE FROM event_turns WHERE run_id = '{run_id}' AND first = {first}")
        assert await verify_run(store, run_id) == [f"events {first} to {last} are missing"]


async def test_an_event_that_does_not_follow_from_those_before_is_named(store_url: str) -> None:
    async with opened(store_url) as wonder:
        run_id, store = await run_loop(wonder, 10), wonder.store
        (last,) = [event async for event in each_event(store, run_id) if event.type == "workflow_completed"]
        async with store.transaction() as transaction:
            cell = "CAST(replace(CAST(events AS TEXT), '\"token_spawned\"', '\"token_failed\"') AS {})"
            kind = "JSON" if store.dialect == "postgresql" else "TEXT"
            await transaction.run(f"UPDATE event_turns SET events = {cell.format(kind)} WHERE run_id = '{run_id}'")
        found = await verify_run(store, run_id)
        assert any("event 2, token_failed, does not follow from those before" in fault for fault in found)
        assert last.sequence > 2


async def test_events_are_given_one_by_one_from_any_number_on(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "EVENTS_PER_PAGE", 7)
    async with opened(store_url) as wonder:
        run_id, store = await run_loop(wonder, 20), wonder.store
        whole = await events_of_run(store, run_id, limit=1_000)
        assert [event async for event in each_event(store, run_id)] == whole
        assert [event async for event in each_event(store, run_id, after=10, limit=9)] == whole[10:19]
        assert [event async for event in each_event(store, run_id, limit=0)] == []
        tally = await tally_run(store, run_id, [str(whole[-3].token_id)])
        assert (tally.llm_tokens, tally.cost_usd, len(tally.executions)) == (0, 0.0, 1)


async def test_a_page_of_events_is_found_by_the_index_and_not_by_reading_all_before_it(store: Store) -> None:
    """On SQLite, which tells how it would read; 800 pages of a long run took 16 seconds."""
    if store.dialect != "sqlite":
        pytest.skip("PostgreSQL plans by the sizes of tables, which are small here")
    sql = load_queries("sqlite")["events_of_run"]
    plan = [str(row[-1]) for row in await store.query(f"EXPLAIN QUERY PLAN {sql}", "r", 10, 20)]
    assert any("run_id=? AND first>? AND first<?" in line for line in plan), plan
