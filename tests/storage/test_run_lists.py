"""CMD-10, CMD-14: lists by every filter, whose pages look at few runs, and counts that are kept with each commit."""

from collections import Counter
from typing import Any

import pytest

from support.engine_runs import workflow
from support.recorded_runs import PROJECT, RecordedPlayer, commit_batch, create_tables, new_plan
from wonder.engine.decisions import RecordEvent
from wonder.engine.events import WORKFLOW_PAUSED
from wonder.engine.facts import CancelRequested, PauseRequested, TaskCompleted
from wonder.storage.migrate import known_migrations
from wonder.storage.runs import listing
from wonder.storage.runs.counting import counts_of_project
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.listing import RunFilter, list_runs
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import QUARANTINED
from wonder.storage.store import Store

CHAIN = workflow({"a": {}, "b": {}}, [{"from": "a", "to": "b"}])


async def many_runs(store: Store) -> list[RecordedPlayer]:
    """Runs of two workflows with every status, some of them called by the first one; the oldest first."""
    players: list[RecordedPlayer] = []
    for number in range(2):
        id, plan = new_plan()
        await create_tables(store, plan)
        for place in range(9):
            called_by = {"parent_run_id": players[0].run.id} if players and place % 3 == 0 else {}
            player = RecordedPlayer(CHAIN, id, plan, **called_by)
            players.append(player)
            if place:
                player.start()
            match place:
                case 2:
                    player.bring(PauseRequested())
                case 3 | 4:
                    player.fail("a", "BROKEN" if place == 3 else "LATE")
                case 5:
                    player.bring(CancelRequested())
                case 6 | 7:
                    player.bring(TaskCompleted(player.tokens("a")[0].id, {}, cost_usd=0.5 * place))
                    player.complete("b")
            await player.commit(store)
            if place == 8:
                await quarantine(store, player, number)
    return players


async def quarantine(store: Store, player: RecordedPlayer, number: int) -> None:
    """Set a run aside as an engine does that finds it has killed its process again and again."""
    header, batch = await load_header(store, player.run.id), Batch()
    type, metadata = WORKFLOW_PAUSED({"reason": QUARANTINED, "left_ms": None})
    event = RecordEvent(header.sequence + 1, header.sequence + 1, type, number, None, None, None, metadata)
    batch.pause_unloaded(header, event, QUARANTINED, None)
    await commit_batch(batch, store)


async def listed(store: Store, limit: int = 3, **wanted: Any) -> tuple[list[str], int]:
    """Give the ids of all pages, and the number of pages."""
    found, cursor, pages = list[str](), None, 0
    while pages == 0 or cursor is not None:
        page = await list_runs(store, PROJECT, RunFilter(**wanted), limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += [header.id for header in page.items]
        cursor, pages = page.cursor, pages + 1
    return found, pages


async def every_header(store: Store) -> list[RunHeader]:
    return (await list_runs(store, PROJECT, limit=200)).items


@pytest.mark.parametrize("portions", [(1, 1), (2, 3), (200, 800)])
async def test_cmd_10_every_filter_finds_what_a_look_at_every_run_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch, portions: tuple[int, int]
) -> None:
    monkeypatch.setattr(listing, "PORTIONS", portions)
    players = await many_runs(store)
    runs = await every_header(store)
    assert [header.id for header in runs] == [player.run.id for player in reversed(players)]
    costs = {player.run.id: cost for player in players if (cost := cost_of(player))}
    of = players[0].definition_id
    cases: list[tuple[dict[str, Any], Any]] = [
        *(({"status": status}, lambda run, status=status: shown(run) == status) for status in STATUSES),
        ({"workflow_def_id": of}, lambda run: run.workflow_def_id == of),
        ({"workflow_def_id": of, "version": 2}, lambda run: False),
        ({"workflow_def_id": of, "version": 1}, lambda run: run.workflow_def_id == of),
        ({"workflow_def_id": of, "status": "failed"}, lambda run: run.workflow_def_id == of and run.error),
        ({"workflow_def_id": of, "status": "paused"}, lambda run: run.workflow_def_id == of and shown(run) == "paused"),
        ({"error_code": "LATE"}, lambda run: run.error and run.error.code == "LATE"),
        ({"error_code": "LATE", "status": "failed"}, lambda run: run.error and run.error.code == "LATE"),
        ({"error_code": "LATE", "status": "completed"}, lambda run: False),
        ({"error_code": "x" * 300}, lambda run: False),
        ({"error": "BROKEN"}, lambda run: run.error and run.error.code == "BROKEN"),
        ({"node": "a", "status": "failed"}, lambda run: run.error),
        ({"parent_run_id": players[0].run.id}, lambda run: run.parent_run_id),
        ({"cost_min_usd": 3.2}, lambda run: costs.get(run.id, 0) >= 3.2),
        ({"retried": True}, lambda run: False),
        ({"since_ms": 1_001}, lambda run: run.created_ms >= 1_001),
        ({"tag": "none"}, lambda run: False),
    ]
    for wanted, fits in cases:
        ids, _ = await listed(store, **wanted)
        assert ids == [run.id for run in runs if fits(run)], wanted


STATUSES = ("queued", "running", "paused", QUARANTINED, "failed", "cancelled", "completed", "waiting")


def shown(run: RunHeader) -> str:
    return QUARANTINED if run.is_quarantined else run.status


def cost_of(player: RecordedPlayer) -> float:
    return sum(one.cost_usd or 0.0 for one in player.decisions if isinstance(one, RecordEvent))


async def test_cmd_10_a_page_looks_at_a_bounded_number_of_runs_and_its_cursor_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PORTIONS", (2, 2))
    await many_runs(store)
    first = await list_runs(store, PROJECT, RunFilter(retried=True), limit=5)
    assert first.items == []
    assert first.cursor is not None, "18 runs are there, and 4 were looked at"
    assert await listed(store, limit=5, retried=True) == ([], 5)
    # What an index has exactly needs no second look.
    monkeypatch.setattr(listing, "PORTIONS", (1, 1))
    assert len((await list_runs(store, PROJECT, RunFilter(status="failed"), limit=4)).items) == 4


async def test_cmd_14_counts_are_kept_with_every_status_that_runs_come_to(store: Store) -> None:
    await many_runs(store)
    counted = {(one.workflow_def_id, one.status): one.runs for one in await counts_of_project(store, PROJECT)}
    assert counted == Counter((run.workflow_def_id, shown(run)) for run in await every_header(store))
    assert await store.fetch("checker_miscounted_runs") == []
    assert await store.fetch("checker_misfiled_runs") == []
    async with store.transaction() as transaction:
        await transaction.run("UPDATE runs SET status = 'completed' WHERE status = 'failed'")
    assert len(await store.fetch("checker_miscounted_runs")) == 4
    assert len(await store.fetch("checker_misfiled_runs")) == 4


async def test_cmd_14_migrations_count_and_file_the_runs_that_are_there(store: Store) -> None:
    await many_runs(store)
    tables = ("run_counts", "run_failures", "run_costs")
    before = {table: await rows_of(store, table) for table in tables}
    assert all(before.values())
    insertions = [
        statement
        for migration in known_migrations(store.dialect)
        if migration.name in ("run_lists", "run_counts")
        for statement in migration.sql.split(";\n")
        if statement.lstrip().startswith("INSERT")
    ]
    assert len(insertions) == 3
    async with store.transaction() as transaction:
        for table in tables:
            await transaction.run(f"DELETE FROM {table}")
        for statement in insertions:
            await transaction.run(statement)
    assert {table: await rows_of(store, table) for table in tables} == before


async def rows_of(store: Store, table: str) -> set[Any]:
    counted = " WHERE runs <> 0" if table == "run_counts" else ""
    return set(await store.query(f"SELECT * FROM {table}{counted}"))
