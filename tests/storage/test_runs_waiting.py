"""What runs wait for, as it is stored: timers, questions to people, events from outside, sub-workflows."""

import re
from typing import Any

import pytest

from support.engine_runs import workflow
from support.recorded_runs import PROJECT, RecordedPlayer, create_tables, in_memory, new_plan, rows_of, stored
from wonder.engine.facts import CancelRequested, ChildEnded, EventArrived, InputGiven, PauseRequested, TaskCompleted
from wonder.storage.errors import ConstraintViolated
from wonder.storage.queries import load_queries
from wonder.storage.resource_errors import BadLimit, NotFound
from wonder.storage.runs.outside import (
    AwaitedEvent,
    KeptEvent,
    OutsideEvent,
    WaitingToken,
    awaited_events_kept,
    delete_expired_events,
    has_come_before,
    next_kept_events,
    waiting_for_event,
)
from wonder.storage.runs.reading import (
    DueTimer,
    EndedChild,
    LiveRun,
    active_run_counts,
    ended_children,
    inbox_of_run,
    live_runs,
    load_inbox_item,
    open_inbox,
    runs_to_recover,
    timers_due,
)
from wonder.storage.runs.recording import Batch
from wonder.storage.store import Store

ASK = workflow({"a": {"kind": "human_input", "prompt": "well?", "schema": {"type": "integer"}}}, [])
SLEEP = workflow({"a": {"kind": "sleep", "ms": 50}}, [])
CALL = workflow({"a": {"kind": "workflow_call", "workflow_def_id": "w"}}, [])
TASK = workflow({"a": {}}, [])


def wait_for(event: str, key: str | None = None) -> Any:
    return workflow({"a": {"kind": "wait_for_event", "event": event, "key": key}}, [])


async def begun(store: Store, compiled: Any, count: int = 1, **fields: Any) -> list[RecordedPlayer]:
    """Start runs and commit each."""
    id, plan = new_plan()
    await create_tables(store, plan)
    players = [RecordedPlayer(compiled, id, plan, **fields) for _ in range(count)]
    for player in players:
        player.start()
        await player.commit(store)
    return players


async def test_timers_come_soonest_first_and_go_with_what_set_them(store: Store) -> None:
    one, two, three = await begun(store, SLEEP, 3)
    keys = [f"sleep:{player.token('a').id}" for player in (one, two, three)]
    async with store.transaction() as transaction:
        await transaction.execute_many("put_timer", [(two.run.id, keys[1], 900), (one.run.id, "other", 5_000)])
    due = [DueTimer(two.run.id, keys[1], 900), DueTimer(one.run.id, keys[0], 1_050)]
    assert await timers_due(store, 1_050, limit=2) == due
    assert await timers_due(store, 899) == []
    assert len(await timers_due(store, 10_000)) == 4
    one.fire("sleep")
    assert rows_of(one.batch)["delete_timer"] == 1
    await one.commit(store)
    assert keys[0] not in [timer.key for timer in await timers_due(store, 10_000)]


async def test_ret_3_a_timer_that_is_set_again_is_one_timer(store: Store) -> None:
    limited = workflow({"a": {}}, [], timeout_ms=100, on_timeout="human_gate")
    (player,) = await begun(store, limited)
    assert await timers_due(store, 9_999) == [DueTimer(player.run.id, "workflow", 1_100)]
    player.fire("workflow")
    await player.commit(store)
    assert await timers_due(store, 9_999) == []
    assert await stored(store, [player]) == in_memory([player])
    (item,) = (await open_inbox(store, PROJECT)).items
    assert (item.kind, item.token_id, item.run_id) == ("timeout", None, player.run.id)


async def test_act_4_a_question_is_open_until_it_is_answered(store: Store) -> None:
    one, two = await begun(store, ASK, 2)
    first, second = (await open_inbox(store, PROJECT)).items
    assert (first.run_id, second.run_id) == (one.run.id, two.run.id)
    assert (first.prompt, first.schema, first.status, first.due_ms) == ("well?", {"type": "integer"}, "open", None)
    one.bring(InputGiven(one.token("a").id, first.id, 7, "ada"))
    one.batch.keep_answer(first.id, 7)
    await one.commit(store)
    assert [item.id for item in (await open_inbox(store, PROJECT)).items] == [second.id]
    closed = await load_inbox_item(store, first.id)
    assert (closed.status, closed.answer, closed.answered_by, closed.closed_ms) == ("answered", 7, "ada", 1_000)
    assert await inbox_of_run(store, one.run.id) == [closed]
    with pytest.raises(NotFound):
        await load_inbox_item(store, "nothing")


async def test_ctl_10_a_question_that_is_withdrawn_stays_withdrawn(store: Store) -> None:
    (player,) = await begun(store, ASK)
    (item,) = (await open_inbox(store, PROJECT)).items
    player.bring(CancelRequested())
    await player.commit(store)
    assert (await load_inbox_item(store, item.id)).status == "withdrawn"
    late = Batch()
    late.keep_answer(item.id, 5)
    late.add(player.record, player.bring(InputGiven("gone", item.id, 5)), 9)
    await store.commit(late.entries())
    found = await load_inbox_item(store, item.id)
    assert (found.status, found.answer) == ("withdrawn", None)


async def test_the_inbox_comes_in_pages(store: Store) -> None:
    players = await begun(store, ASK, 5)
    seen, cursor = [], None
    for expected in (2, 2, 1):
        page = await open_inbox(store, PROJECT, limit=2, cursor=cursor)
        assert len(page.items) == expected
        seen += [item.run_id for item in page.items]
        cursor = page.cursor
    assert cursor is None
    assert seen == [player.run.id for player in players]
    assert (await open_inbox(store, "another project")).items == []
    with pytest.raises(BadLimit):
        await open_inbox(store, PROJECT, limit=0)


async def test_an_event_finds_all_that_wait_for_its_project_name_and_key(store: Store) -> None:
    one, two = await begun(store, wait_for("paid", "7"), 2)
    (other,) = await begun(store, wait_for("paid", "8"))
    (bare,) = await begun(store, wait_for("paid"))
    waiting = [WaitingToken(player.run.id, player.token("a").id) for player in (one, two, other, bare)]
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "paid", "7")) == waiting[:2]
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "paid", "8")) == waiting[2:3]
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "paid", None)) == waiting[3:]
    assert await waiting_for_event(store, AwaitedEvent("another project", "paid", "7")) == []
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "Paid", "7")) == []
    one.bring(EventArrived(one.token("a").id, {"amount": 5}))
    two.bring(CancelRequested())
    for player in (one, two):
        assert rows_of(player.batch)["delete_event_wait"] == 1
        await player.commit(store)
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "paid", "7")) == []
    assert await waiting_for_event(store, AwaitedEvent(PROJECT, "paid", "8")) == waiting[2:3]


def outside(id: str, sender_id: str | None = None, key: str | None = None, expires_ms: int = 100) -> OutsideEvent:
    return OutsideEvent(
        id=id,
        project_id=PROJECT,
        event="paid",
        payload={"of": id},
        arrived_ms=1,
        expires_ms=expires_ms,
        key=key,
        sender_id=sender_id,
    )


async def test_an_event_with_none_waiting_is_kept_for_the_first_that_comes(store: Store) -> None:
    batch = Batch()
    batch.keep_event(outside("e1"), used=False)
    batch.keep_event(outside("e2"), used=False)
    batch.keep_event(outside("e3", key="k"), used=False)
    await store.commit(batch.entries())
    assert await next_kept_events(store, AwaitedEvent(PROJECT, "paid", None), 50, limit=1) == [
        KeptEvent("e1", {"of": "e1"})
    ]
    assert await next_kept_events(store, AwaitedEvent(PROJECT, "paid", "k"), 50, limit=1) == [
        KeptEvent("e3", {"of": "e3"})
    ]
    assert await next_kept_events(store, AwaitedEvent(PROJECT, "paid", None), 100, limit=1) == [], "it has expired"
    batch = Batch()
    batch.use_event("e1", 51)
    await store.commit(batch.entries())
    assert await next_kept_events(store, AwaitedEvent(PROJECT, "paid", None), 52, limit=1) == [
        KeptEvent("e2", {"of": "e2"})
    ]
    async with store.transaction() as transaction:
        assert await delete_expired_events(transaction, 99) == 0
        assert await delete_expired_events(transaction, 100) == 3


async def test_of_many_awaited_events_it_is_asked_at_once_which_are_kept(store: Store) -> None:
    batch = Batch()
    batch.keep_event(outside("e1"), used=False)
    batch.keep_event(outside("e2", key="k"), used=False)
    batch.keep_event(outside("e3", key="k"), used=False)
    batch.keep_event(outside("e4", sender_id="s", key="used"), used=True)
    batch.keep_event(outside("e5", key="old", expires_ms=50), used=False)
    batch.keep_event(outside("e6", key='"ü\\ 😀'), used=False)
    await store.commit(batch.entries())
    bare, keyed, odd = (AwaitedEvent(PROJECT, "paid", key) for key in (None, "k", '"ü\\ 😀'))
    nothing = [AwaitedEvent(PROJECT, "paid", key) for key in ("used", "old", "K", "0")]
    nothing += [AwaitedEvent(PROJECT, "Paid", "k"), AwaitedEvent("another project", "paid", "k")]
    assert await awaited_events_kept(store, [bare, keyed, odd, *nothing], 50) == {bare, keyed, odd}
    assert await awaited_events_kept(store, nothing, 50) == set()
    assert await awaited_events_kept(store, [], 50) == set()
    kept = await next_kept_events(store, keyed, 50, limit=5)
    assert [event.id for event in kept] == ["e2", "e3"]


async def test_the_id_of_a_sender_makes_an_event_count_once_until_it_expires(store: Store) -> None:
    batch = Batch()
    batch.keep_event(outside("e1", "s1"), used=True)
    batch.keep_event(outside("e2", "s2"), used=False)
    batch.keep_event(outside("e3"), used=True)
    await store.commit(batch.entries())
    assert await has_come_before(store, PROJECT, "s1")
    assert await has_come_before(store, PROJECT, "s2")
    assert not await has_come_before(store, PROJECT, "s3")
    assert not await has_come_before(store, "another project", "s1")
    assert await store.query("SELECT count(*) FROM kept_events") == [(2,)], "what is used and has no sender is not kept"
    assert await next_kept_events(store, AwaitedEvent(PROJECT, "paid", None), 50, limit=1) == [
        KeptEvent("e2", {"of": "e2"})
    ]
    twice = Batch()
    twice.keep_event(outside("e4", "s1"), used=False)
    with pytest.raises(ConstraintViolated):
        await store.commit(twice.entries())
    async with store.transaction() as transaction:
        await delete_expired_events(transaction, 200)
    assert not await has_come_before(store, PROJECT, "s1")


async def test_a_sub_workflow_that_ended_while_its_caller_waits_is_found(store: Store) -> None:
    (parent,) = await begun(store, CALL)
    token = parent.token("a")
    assert token.wait is not None
    (child,) = await begun(store, TASK, parent_run_id=parent.run.id, parent_token_id=token.id, depth=1)
    assert await ended_children(store) == []
    child.complete("a")
    await child.commit(store)
    assert await ended_children(store) == [
        EndedChild(child.run.id, parent.run.id, token.id, "completed", {}, None),
    ]
    parent.bring(ChildEnded(token.id, str(token.wait["child_run_id"]), "completed", {}))
    await parent.commit(store)
    assert await ended_children(store) == []


async def test_recovery_finds_what_a_process_had_to_move_on_and_leaves_what_waits(store: Store) -> None:
    (running,) = await begun(store, TASK)
    (waiting,) = await begun(store, ASK)
    (paused,) = await begun(store, TASK)
    (idle,) = await begun(store, ASK)
    (done,) = await begun(store, TASK)
    for player in (paused, idle):
        player.bring(PauseRequested())
        await player.commit(store)
    done.bring(TaskCompleted(done.token("a").id, {}))
    await done.commit(store)
    to_recover = [LiveRun(running.run.id, "running"), LiveRun(paused.run.id, "paused")]
    assert await runs_to_recover(store) == to_recover
    assert await runs_to_recover(store, after=running.run.id, limit=1) == to_recover[1:]
    live = [(running, "running"), (waiting, "waiting"), (paused, "paused"), (idle, "paused")]
    assert await live_runs(store) == [LiveRun(player.run.id, status) for player, status in live]
    assert await active_run_counts(store) == {PROJECT: 3}


async def test_a_parked_run_is_loaded_without_a_look_at_all_the_others(store: Store) -> None:
    """DESIGN 2: as a join with a list of unknown length, PostgreSQL would read whole tables that it knows little of."""
    if store.dialect == "sqlite":
        pytest.skip("SQLite looks up each of a list by itself")
    (player,) = await begun(store, wait_for("paid", "7"))
    names = ["headers", "live_tokens", "groups", "branches", "loops", "timers"]
    queries = [load_queries("postgresql")[f"{name}_of_runs"] for name in names]
    async with store.transaction() as transaction:
        # So few rows are read as a whole otherwise, whatever the question.
        await transaction.run("SET LOCAL enable_seqscan = off")
        for sql in [*queries, *player.plan.select_many("postgresql")]:
            rows = await transaction.query("EXPLAIN " + sql.replace("$1", "'[\"run00001\"]'"))
            plan = "\n".join(str(line) for (line,) in rows)
            assert re.search(r"Index Cond: .*\b(run_)?id = ANY", plan), plan
            # What triggered a run is looked up for each by its key, and is no list.
            plan = plan.replace("Nested Loop Left Join", "", 1) if "triggered_runs_pkey" in plan else plan
            assert "Join" not in plan
            assert "Nested Loop" not in plan
