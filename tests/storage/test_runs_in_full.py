"""Rows keep what they should: events of long turns, branches that change again, snapshots, the first closing."""

from support.engine_runs import append, workflow
from support.recorded_runs import SCHEMA, RecordedPlayer, create_tables, in_memory, new_plan, stored
from wonder.engine.facts import TaskCompleted
from wonder.engine.restore import take_snapshot
from wonder.storage.runs.event_rows import EVENTS_PER_ROW
from wonder.storage.runs.reading import events_of_run, inbox_of_run
from wonder.storage.runs.snapshots import load_snapshot
from wonder.storage.store import Store

WIDE = workflow(
    {"start": {"updates": []}, "each": {}}, [{"from": "start", "to": "each", "foreach": {"collection": "input.items"}}]
)
LOOP = workflow(
    {"again": {}, "end": {}},
    [
        {"from": "again", "to": "again", "loop_config": {"max_iterations": 5}},
        {"from": "again", "to": "end", "priority": 1},
    ],
)

BRANCHES = workflow(
    {"start": {"updates": []}, "each": {"output": {"state.n": "$.n"}}, "then": {}, "end": {}},
    [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
        {"from": "each", "to": "then"},
        {"from": "then", "to": "end", "join": {"sibling_group": "start", "merge": append("state.m", "_branch.output")}},
    ],
)


async def test_evt_1_a_turn_with_more_events_than_a_row_takes_keeps_all_of_them(store: Store) -> None:
    id, plan = new_plan(SCHEMA)
    await create_tables(store, plan)
    player = RecordedPlayer(WIDE, id, plan)
    player.start({"items": list(range(EVENTS_PER_ROW + 7))})
    await player.commit(store)
    events = await events_of_run(store, player.run.id, limit=100_000)
    assert len(events) > 2 * EVENTS_PER_ROW
    assert [event.sequence for event in events] == list(range(1, player.run.sequence + 1))


async def test_evt_2_a_snapshot_keeps_how_often_loops_were_taken(store: Store) -> None:
    id, plan = new_plan(SCHEMA)
    await create_tables(store, plan)
    player = RecordedPlayer(LOOP, id, plan)
    player.start()
    player.bring(TaskCompleted(player.token("again").id, {}))
    player.bring(TaskCompleted(player.token("again").id, {}))
    taken = take_snapshot(player.run)
    assert [count for count, _ in taken.run.loops.values()] == [2]
    player.batch.snapshot(taken, player.now_ms)
    await player.commit(store)
    assert await load_snapshot(store, player.run.id) == taken


async def test_ctl_12_a_branch_that_wrote_before_it_arrived_is_stored_as_it_is_after_each_commit(store: Store) -> None:
    id, plan = new_plan(SCHEMA)
    await create_tables(store, plan)
    player = RecordedPlayer(BRANCHES, id, plan)
    player.start({"items": [1, 2, 3]})
    for name in ("each@0.2", "each@0.0", "then@0.2", "then@0.0"):
        player.bring(TaskCompleted(player.token(name).id, {"n": 1}))
        await player.commit(store)
        assert await stored(store, [player]) == in_memory([player])


async def test_act_4_of_two_that_close_a_question_the_first_counts_whoever_they_are(store: Store) -> None:
    id, plan = new_plan(SCHEMA)
    await create_tables(store, plan)
    player = RecordedPlayer(workflow({"ask": {"kind": "human_input", "prompt": "?"}}, []), id, plan)
    player.start()
    await player.commit(store)
    (item,) = await inbox_of_run(store, player.run.id)
    await store.commit([("close_inbox_item", [(item.id, "withdrawn", None, None, 2_000)])])
    await store.commit([("close_inbox_item", [(item.id, "answered", "{}", "somebody", 3_000)])])
    (closed,) = await inbox_of_run(store, player.run.id)
    assert (closed.status, closed.answered_by) == ("withdrawn", None)
