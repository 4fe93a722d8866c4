"""Recording runs: whatever happens to a run, its rows tell the same as its state, and each row is written once."""

from random import Random
from typing import Any

import pytest

from support.engine_runs import append, workflow
from support.random_runs import INPUT, random_fact, random_workflow
from support.recorded_runs import (
    SCHEMA,
    Program,
    RecordedPlayer,
    commit_batch,
    create_tables,
    in_memory,
    new_plan,
    rows_of,
    stored,
)
from support.recorded_runs import comparable as same_as
from wonder.engine import turn
from wonder.engine.decisions import RecordEvent
from wonder.engine.facts import RunQueued, TaskCompleted, TaskStarted, WorkerLost
from wonder.engine.fork import ForkRefused, fork, snapshot_at
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import take_snapshot
from wonder.engine.state import RunState
from wonder.storage.runs.event_rows import EVENTS_PER_ROW, EventRows, unpacked_events
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.loading import load_context, load_runs
from wonder.storage.runs.reading import events_of_run, tokens_of_run
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import Recorded
from wonder.storage.runs.snapshots import load_oldest_snapshot, load_snapshot
from wonder.storage.store import Store

LIMITS = Limits(foreach_limit=200, pure_nodes_max=20, nesting_max=4, singly_max=4)
TASK: dict[str, Any] = {"input": {"n": "$.state.n"}, "output": {"state.n": "$.n"}}
CHAIN = workflow({"a": TASK, "b": TASK, "c": {}}, [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}])
FAN = workflow(
    {"start": {"updates": []}, "each": {"output": {"state.n": "$.n"}}, "end": {}},
    [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
        {"from": "each", "to": "end", "join": {"sibling_group": "start", "merge": append("state.m", "_branch.output")}},
    ],
)


async def player_of(store: Store, compiled: Any, value: Any = None, schema: Any = SCHEMA) -> RecordedPlayer:
    """Start a run in a batch that is not committed yet."""
    id, plan = new_plan(schema)
    await create_tables(store, plan)
    player = RecordedPlayer(compiled, id, plan)
    player.start(value)
    return player


@pytest.mark.parametrize("first", range(0, 60, 6))
async def test_random_runs_are_the_same_out_of_their_rows_after_every_commit(
    store: Store, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several runs share each batch, and each batch takes several turns, every other time in parts."""
    if first % 12:
        monkeypatch.setattr(turn, "PART", 1 + first % 5)
    random = Random(first)
    id, plan = new_plan()
    await create_tables(store, plan)
    batch = Batch()
    players = []
    for seed in range(first, first + 6):
        player = RecordedPlayer(random_workflow(Random(seed)), id, plan, LIMITS, batch)
        player.start(INPUT)
        players.append(player)
    for _ in range(30):
        for player in players:
            for _ in range(random.randint(0, 4)):
                step(player, random)
        await commit_batch(batch, store)
        batch = Batch()
        assert await stored(store, players) == in_memory(players)
        for player in players:
            player.batch = batch
    for player in players:
        events = await events_of_run(store, player.run.id, limit=100_000)
        assert fold(events) == comparable(take_snapshot(player.run))


def step(player: RecordedPlayer, random: Random) -> None:
    player.now_ms += random.randint(0, 3)
    if not player.run.ended and len(player.run.tokens) < 100:
        fact = random_fact(random, player.run, player.now_ms)
        if fact is not None:
            player.bring(fact)


async def test_runs_that_were_loaded_go_on_and_are_recorded_like_before(store: Store) -> None:
    """Recovery: after each commit all runs leave memory, and come back out of their rows."""
    random = Random(7)
    id, plan = new_plan()
    await create_tables(store, plan)
    compiled = random_workflow(Random(11))
    players = [RecordedPlayer(compiled, id, plan, LIMITS) for _ in range(8)]
    for player in players:
        player.start(INPUT)

    async def program_of(_id: str, _version: int) -> Program:
        return Program(compiled, plan)

    for _ in range(25):
        for player in players:
            step(player, random)
            await player.commit(store)
        loaded = await load_runs(store, store.dialect, [player.run.id for player in players], program_of, LIMITS)
        for player, found in zip(players, loaded, strict=True):
            assert found.header.id == player.run.id
            player.run = found.run
            player.record = type(player.record)(found.run, plan, found.header.project_id, id)
        assert await stored(store, players) == in_memory(players)
    assert any(player.run.ended for player in players)


async def test_rows_per_node_of_a_chain(store: Store) -> None:
    player = await player_of(store, CHAIN)
    first = await player.commit(store)
    assert rows_of(first) == {"insert_run": 1, "insert_token": 1, "insert_events": 1, "context": 1, "add_run_count": 1}
    player.complete("a", {"n": 1})
    second = await player.commit(store)
    assert rows_of(second) == {"insert_token": 1, "move_token": 1, "insert_events": 1, "context": 1}
    player.complete("b", {"n": 1})
    player.complete("c")
    third = await player.commit(store)
    assert rows_of(third)["update_run"] == 1
    assert rows_of(third)["insert_token"] == 1, "made and ended in one batch"
    assert await stored(store, [player]) == in_memory([player])


async def test_a_run_that_starts_and_ends_in_one_batch_is_one_row(store: Store) -> None:
    pure = workflow(
        {"a": {"updates": [("state.n", 1)]}, "b": {"updates": [("state.n", 2), ("output.x", 5)]}},
        [{"from": "a", "to": "b"}],
    )
    player = await player_of(store, pure)
    batch = await player.commit(store)
    assert {"insert_run": 1, "insert_token": 2, "context": 1}.items() <= rows_of(batch).items()
    assert set(rows_of(batch)) == {"insert_run", "add_run_count", "insert_token", "insert_events", "context"}
    header = await load_header(store, player.run.id)
    assert (header.status, header.output, header.has_ended) == ("completed", {"x": 5}, True)
    assert (header.started_ms, header.completed_ms) == (1_000, 1_000)
    context = await load_context(store, player.plan, header)
    assert context == {"input": {}, "state": {"n": 2}, "output": {"x": 5}}
    assert [token.status for token in await tokens_of_run(store, player.run.id)] == ["completed"] * 2


async def test_a_fan_out_writes_no_row_per_branch_and_leaves_none_when_it_is_joined(store: Store) -> None:
    player = await player_of(store, FAN, {"items": [1, 2, 3]})
    opened = rows_of(await player.commit(store))
    assert opened["insert_group"] == 1
    assert "put_branch" not in opened
    for token in player.tokens("each")[:2]:
        player.bring(TaskCompleted(token.id, {"n": 1}))
    arrived = rows_of(await player.commit(store))
    assert (arrived["put_branch"], arrived["join_token"]) == (2, 2)
    assert await stored(store, [player]) == in_memory([player])
    player.bring(TaskCompleted(player.tokens("each")[-1].id, {"n": 1}))
    joined = rows_of(await player.commit(store))
    assert (joined["delete_group"], joined["delete_branches"], joined["move_token"]) == (1, 1, 3)
    assert "put_branch" not in joined
    for table in ("run_groups", "run_branches", "run_loops", "timers"):
        assert await store.query(f"SELECT count(*) FROM {table}") == [(0,)]
    tokens = [token for token in await tokens_of_run(store, player.run.id) if token.node_id == "each"]
    assert [(token.branch_index, token.branch_total) for token in tokens] == [(0, 3), (1, 3), (2, 3)]
    assert {token.fan_out_transition_id for token in tokens} == {"t0-id"}


async def test_a_group_that_opens_and_closes_in_one_batch_leaves_no_trace(store: Store) -> None:
    player = await player_of(store, FAN, {"items": []})
    batch = rows_of(await player.commit(store))
    assert not {"insert_group", "delete_group", "put_branch", "delete_branches"} & set(batch)
    assert await stored(store, [player]) == in_memory([player])


async def test_a_batch_is_not_changed_by_what_its_run_does_afterwards(store: Store) -> None:
    """The next batch fills while the last one is on its way to the disk."""
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}}
    loop = workflow(
        {"a": {"output": {"state.list[0]": "$.n", "state.last": "$.n"}}, "b": {"output": {"state.list[1]": "$.n"}}},
        [{"from": "a", "to": "b"}],
    )
    player = await player_of(store, loop, schema=schema)
    first, player.batch = player.batch, Batch()
    player.complete("a", {"n": 1})
    second, player.batch = player.batch, Batch()
    player.complete("b", {"n": 2})
    for batch in (first, second, player.batch):
        await store.commit(batch.entries())
    assert await stored(store, [player]) == in_memory([player])


async def test_a_queued_run_keeps_its_input_until_it_starts(store: Store) -> None:
    id, plan = new_plan()
    await create_tables(store, plan)
    player = RecordedPlayer(CHAIN, id, plan)
    player.bring(RunQueued())
    await player.commit(store)
    header = await load_header(store, player.run.id)
    assert (header.status, header.queued_input, header.sequence) == ("queued", {}, 1)
    player.start()
    batch = rows_of(await player.commit(store))
    assert (batch["update_run"], batch["context"]) == (1, 1)
    header = await load_header(store, player.run.id)
    assert (header.status, header.queued_input, header.started_ms) == ("running", None, 1_000)
    assert await stored(store, [player]) == in_memory([player])


async def test_ctl_1_a_token_that_executes_keeps_the_input_that_it_was_dispatched_with(store: Store) -> None:
    player = await player_of(store, CHAIN)
    await player.commit(store)
    token = player.token("a")
    player.bring(WorkerLost(token.id))
    player.bring(TaskStarted(token.id, 1_001))
    assert rows_of(player.batch)["update_token"] == 1
    await player.commit(store)
    assert await stored(store, [player]) == in_memory([player])
    (row,) = await tokens_of_run(store, player.run.id)
    assert (row.status, row.input) == ("executing", {})


@pytest.mark.parametrize(
    "value",
    [2**80, 10**5000, 1.0, "€ \U0001d11e", {"": [None, {}, []]}, -0.0],
    ids=["beyond 64 bits", "5,000 digits", "a float", "text", "nested", "minus zero"],
)
async def test_ctx_4_values_of_every_kind_come_back_in_context_tokens_and_events(store: Store, value: Any) -> None:
    echo = workflow({"a": {"output": {"state.n": "$"}}, "b": {"input": {"n": "$.state.n"}}}, [{"from": "a", "to": "b"}])
    player = await player_of(store, echo)
    player.complete("a", value)
    player.batch.snapshot(take_snapshot(player.run), player.now_ms)
    await player.commit(store)
    assert await stored(store, [player]) == in_memory([player])
    updated = [e for e in await events_of_run(store, player.run.id) if e.type == "context_updated"]
    assert updated[0].metadata["changes"] == [[["state", "n"], value]]
    found = await load_snapshot(store, player.run.id)
    assert found is not None
    assert same_as(found) == same_as(take_snapshot(player.run))


async def test_evt_2_snapshots_are_found_by_the_event_that_they_follow(store: Store) -> None:
    player = await player_of(store, FAN, {"items": [1, 2]})
    taken = []
    for token in [None, *player.tokens("each")]:
        if token is not None:
            player.bring(TaskCompleted(token.id, {"n": 1}))
        taken.append(take_snapshot(player.run))
        player.batch.snapshot(taken[-1], player.now_ms)
        player.batch.snapshot(taken[-1], player.now_ms)
        await player.commit(store)
    assert await load_snapshot(store, player.run.id) == taken[2]
    assert await load_oldest_snapshot(store, player.run.id) == taken[0]
    assert await load_snapshot(store, player.run.id, taken[1].run.sequence) == taken[1]
    assert await load_snapshot(store, player.run.id, taken[1].run.sequence + 1) == taken[1]
    assert await load_snapshot(store, player.run.id, taken[0].run.sequence - 1) is None
    assert await load_oldest_snapshot(store, "nobody") is None


async def test_an_empty_batch_says_so_and_has_no_entries(store: Store) -> None:
    batch = Batch()
    assert batch.is_empty
    assert batch.entries() == []
    player = await player_of(store, CHAIN)
    assert not player.batch.is_empty


async def test_ctl_19_a_fork_is_stored_as_it_begins_and_as_it_goes_on(store: Store) -> None:
    id, plan = new_plan()
    await create_tables(store, plan)
    forks = 0
    for seed in range(40):
        random = Random(seed)
        player = RecordedPlayer(random_workflow(random), id, plan, LIMITS)
        player.start(INPUT)
        for _ in range(12):
            step(player, random)
        after = random.randint(1, player.run.sequence)
        new = RecordedPlayer(player.compiled, id, plan, LIMITS, forked_from_run_id=player.run.id)
        try:
            snapshot = snapshot_at(player.events(), after)
        except ForkRefused:
            continue
        decisions = fork(new.run, snapshot, now_ms=new.now_ms, new_id=new.new_id)
        new.batch.add(new.record, decisions, new.now_ms)
        for _ in range(3):
            await new.commit(store)
            assert await stored(store, [new]) == in_memory([new])
            for _ in range(3):
                step(new, random)
        forks += 1
    assert forks > 20


def test_events_of_one_turn_make_any_number_of_rows() -> None:
    """They were divided by a function that called itself for each row: 250,000 events were too many."""
    count = EVENTS_PER_ROW * 1_001 + 1
    rows = EventRows()
    rows.add(_record(), [RecordEvent(number, 1, "node_started", 0, None, None, None, {}) for number in range(count)])
    ((_, written),) = rows.entries()
    firsts = range(0, count, EVENTS_PER_ROW)
    assert [row[1:3] for row in written] == [(first, min(first + EVENTS_PER_ROW, count) - 1) for first in firsts]
    numbers = [event.sequence for event in unpacked_events([(row[3],) for row in written], -1, count)]
    assert numbers == list(range(count))


def test_events_of_several_turns_share_rows() -> None:
    events = [RecordEvent(number, 1, "node_started", 0, None, None, None, {}) for number in range(1, 601)]
    rows, record = EventRows(), _record()
    for first, last in [(0, 100), (100, 249), (249, 251), (251, 600)]:
        rows.add(record, events[first:last])
    ((_, written),) = rows.entries()
    assert all(1 <= row[2] - row[1] + 1 <= EVENTS_PER_ROW for row in written)  # type: ignore[operator]
    assert unpacked_events([(row[3],) for row in written], 0, 600) == events


def _record() -> Recorded:
    return Recorded(RunState("run", CHAIN), new_plan()[1], "project", "definition")
