"""Reading runs: lists with cursors, events, tokens, and the views for plain SQL."""

from typing import Any

import pytest

from support.engine_runs import workflow
from support.recorded_runs import PROJECT, RecordedPlayer, create_tables, new_plan
from support.stored_records import NOW, action, clock, new_id, task, workflow_def
from support.stores import in_views
from wonder.engine.facts import TaskCompleted
from wonder.storage.definitions import create_version
from wonder.storage.resource_errors import BadCursor, BadLimit, NotFound
from wonder.storage.runs.headers import children_of_run, load_header, load_headers
from wonder.storage.runs.listing import RunFilter, list_runs
from wonder.storage.runs.reading import events_of_run, tokens_of_run
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default

CHAIN = workflow({"a": {"output": {"state.n": "$.n"}}, "b": {}}, [{"from": "a", "to": "b"}])


async def players_of(store: Store, count: int, **fields: Any) -> list[RecordedPlayer]:
    id, plan = new_plan()
    await create_tables(store, plan)
    players = [RecordedPlayer(CHAIN, id, plan, **fields) for _ in range(count)]
    for player in players:
        player.start()
        await player.commit(store)
    return players


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    players = await players_of(store, 5)
    newest_first = [player.run.id for player in reversed(players)]
    seen, cursor = [], None
    for _ in range(3):
        page = await list_runs(store, PROJECT, limit=2, cursor=cursor)
        seen += [header.id for header in page.items]
        cursor = page.cursor
    assert seen == newest_first
    assert cursor is None
    # A run that is started while somebody pages does not shift the pages.
    first = await list_runs(store, PROJECT, limit=2)
    await players_of(store, 1)
    second = await list_runs(store, PROJECT, limit=2, cursor=first.cursor)
    assert [header.id for header in second.items] == newest_first[2:4]


async def test_a_list_of_runs_can_be_narrowed(store: Store) -> None:
    one, two = await players_of(store, 2, workflow_id="w1")
    (three,) = await players_of(store, 1, workflow_id="w2")
    two.fail("a")
    await two.commit(store)

    async def ids(**narrow: str) -> list[str]:
        return [header.id for header in (await list_runs(store, PROJECT, RunFilter(**narrow))).items]  # type: ignore[arg-type]  # each of them is a text

    assert await ids(status="failed") == [two.run.id]
    assert await ids(workflow_id="w1") == [two.run.id, one.run.id]
    assert await ids(workflow_id="w1", status="running") == [one.run.id]
    assert await ids(workflow_def_id=three.definition_id) == [three.run.id]
    assert (await list_runs(store, "another project")).items == []


async def test_bad_pages_are_refused(store: Store) -> None:
    with pytest.raises(BadLimit):
        await list_runs(store, PROJECT, limit=1_000)
    with pytest.raises(BadCursor):
        await list_runs(store, PROJECT, cursor="nonsense")


async def test_a_header_tells_how_a_run_ended(store: Store) -> None:
    (player,) = await players_of(store, 1)
    player.fail("a", "BROKEN")
    await player.commit(store)
    header = await load_header(store, player.run.id)
    assert (header.status, header.output, header.sequence) == ("failed", None, player.run.sequence)
    assert header.error == player.run.error
    with pytest.raises(NotFound, match="no run 'nobody'"):
        await load_header(store, "nobody")
    assert await load_headers(store, ["nobody", player.run.id]) == [header]
    assert await load_headers(store, []) == []


async def test_children_are_found_by_their_parent(store: Store) -> None:
    (parent,) = await players_of(store, 1)
    children = await players_of(store, 2, parent_run_id=parent.run.id)
    assert [header.id for header in await children_of_run(store, parent.run.id)] == [one.run.id for one in children]


async def test_evt_1_events_come_in_order_without_gaps_from_any_number_on(store: Store) -> None:
    (player,) = await players_of(store, 1)
    player.bring(TaskCompleted(player.token("a").id, {"n": 1}, tokens=12, cost_usd=0.5))
    await player.commit(store)
    events = await events_of_run(store, player.run.id)
    assert [event.sequence for event in events] == list(range(1, player.run.sequence + 1))
    expected = [(event.type, event.node_id, event.token_id, event.path_id) for event in player.events()]
    assert [(event.type, event.node_id, event.token_id, event.path_id) for event in events] == expected
    assert await events_of_run(store, player.run.id, after=4, limit=2) == events[4:6]
    assert await events_of_run(store, player.run.id, after=len(events)) == []
    (costly,) = [event for event in events if event.cost_usd is not None]
    assert (costly.type, costly.tokens, costly.cost_usd) == ("node_completed", 12, 0.5)


async def test_tokens_are_listed_in_the_order_in_which_they_were_made(store: Store) -> None:
    (player,) = await players_of(store, 1)
    player.complete("a", {"n": 1})
    await player.commit(store)
    first, second = await tokens_of_run(store, player.run.id)
    assert (first.node_id, first.status, first.ended_ms) == ("a", "completed", 1_000)
    assert (second.node_id, second.status, second.ended_ms) == ("b", "dispatched", None)
    assert second.parent_token_id == first.id
    assert await tokens_of_run(store, player.run.id, after=first.born) == [second]


async def test_the_views_name_what_the_tables_only_have_ids_of(store: Store) -> None:
    home = await ensure_default(store, clock=clock, new_id=new_id)
    async with store.transaction() as transaction:
        one = await create_version(transaction, action("act", home.project_id))
        two = await create_version(transaction, task("do", home.project_id, [(one.id, 1)]))
        record = workflow_def("flow", home.project_id, [(two.id, 1)])
        flow = await create_version(transaction, record)
    _, plan = new_plan()
    await create_tables(store, plan)
    node = record.nodes[0]
    player = RecordedPlayer(workflow({node.id: {}}, []), flow.id, plan)
    player.record.project_id = home.project_id
    player.start()
    await player.commit(store)
    player.fail(node.id, "BROKEN")
    player.now_ms = 1_767_323_045_006
    await player.commit(store)
    async with store.transaction() as transaction:
        await transaction.run(
            "UPDATE runs SET created_ms = $1, project_id = $2", [(1_767_323_045_006, home.project_id)]
        )
    run = "SELECT id, status, workflow, workspace_id, created_at FROM run_log"
    assert await store.query(run) == [
        (player.run.id, "failed", "flow", home.workspace_id, in_views(store, "2026-01-02T03:04:05.006Z")),
    ]
    assert NOW.startswith("2026-01-02T03:04:05")
    tokens = await store.query("SELECT workflow_run_id, node, status, created_at FROM token_log")
    assert tokens == [(player.run.id, "node0", "failed", in_views(store, "1970-01-01T00:00:01.000Z"))]
    events = await store.query(
        "SELECT sequence_number, id, workspace_id, project_id, workflow_def_id, node, message FROM event_log"
        " WHERE event_type = 'node_failed'"
    )
    ((number, id, *rest),) = events
    assert id == f"{player.run.id}-{number!r}"
    assert rest == [home.workspace_id, home.project_id, flow.id, "node0", "a node failed: BROKEN: it is BROKEN"]
