"""Requests: a second process hands what it wants done to the one that runs the engine (CMD-5)."""

import asyncio

import pytest

from support.engine_runs import workflow
from support.recorded_runs import RecordedPlayer, create_tables, new_plan
from wonder.storage.opening import open_store
from wonder.storage.runs.errors import RequestUnanswered
from wonder.storage.runs.leases import claim_lease
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.requests import (
    KEPT_MS,
    Answer,
    Request,
    delete_old_answers,
    find_answer,
    pending_requests,
    put_request,
    wait_for_answer,
    withdraw_request,
)
from wonder.storage.store import Store


async def test_requests_are_taken_in_order_and_answered_once(store: Store) -> None:
    await put_request(store, "r1", "cancel", {"run_id": "a"}, 5)
    await put_request(store, "r2", "answer", {"item": "i", "value": [1.0, None]}, 6)
    assert await pending_requests(store) == [
        Request("r1", "cancel", {"run_id": "a"}, 5),
        Request("r2", "answer", {"item": "i", "value": [1.0, None]}, 6),
    ]
    assert [request.id for request in await pending_requests(store, after="r1")] == ["r2"]
    assert [request.id for request in await pending_requests(store, limit=1)] == ["r1"]
    batch = Batch()
    batch.answer_request("r1", 7, {"status": "cancelled"})
    batch.answer_request("r2", 7, error={"code": "NOT_FOUND"})
    await store.commit(batch.entries())
    assert await pending_requests(store) == []
    assert await find_answer(store, "r1") == Answer({"status": "cancelled"}, None)
    assert await find_answer(store, "r2") == Answer(None, {"code": "NOT_FOUND"})
    again = Batch()
    again.answer_request("r1", 9, "another answer")
    await store.commit(again.entries())
    assert await find_answer(store, "r1") == Answer({"status": "cancelled"}, None)


async def test_a_request_whose_owner_died_before_the_commit_is_still_there(store: Store) -> None:
    id, plan = new_plan()
    await create_tables(store, plan)
    lease = await claim_lease(store, "first")
    assert lease is not None
    await put_request(store, "r1", "start", {}, 5)
    player = RecordedPlayer(workflow({"a": {}}, []), id, plan)
    player.start()
    player.batch.answer_request("r1", 6, {"run_id": player.run.id})
    del player
    await lease.release()
    assert [request.id for request in await pending_requests(store)] == ["r1"]
    assert await find_answer(store, "r1") is None


async def test_one_process_waits_for_the_answer_of_another(store: Store, store_url: str) -> None:
    other = await open_store(store_url)

    async def own() -> None:
        for _ in range(2_000):
            if found := await pending_requests(other):
                break
            await asyncio.sleep(0.005)
        batch = Batch()
        batch.answer_request(found[0].id, 8, {"heard": found[0].payload})
        await other.commit(batch.entries())

    owner = asyncio.create_task(own())
    await put_request(store, "r1", "echo", "hello", 5)
    answer = await wait_for_answer(store, "r1", seconds=20, sleep=asyncio.sleep)
    assert answer == Answer({"heard": "hello"}, None)
    await owner
    await other.close()


async def test_waiting_for_an_answer_has_an_end(store: Store) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    await put_request(store, "r1", "echo", None, 5)
    with pytest.raises(RequestUnanswered, match="r1 waits") as unanswered:
        await wait_for_answer(store, "r1", seconds=2, sleep=sleep)
    assert (unanswered.value.id, unanswered.value.seconds) == ("r1", 2)
    assert sum(pauses) == pytest.approx(2)
    assert max(pauses) <= 0.25
    assert len(pauses) < 20


async def test_a_request_can_be_withdrawn_until_it_is_answered(store: Store) -> None:
    await put_request(store, "r1", "echo", None, 5)
    await put_request(store, "r2", "echo", None, 5)
    batch = Batch()
    batch.answer_request("r2", 6)
    await store.commit(batch.entries())
    async with store.transaction() as transaction:
        assert await withdraw_request(transaction, "r1")
        assert not await withdraw_request(transaction, "r2")
        assert not await withdraw_request(transaction, "r3")
    assert await find_answer(store, "r2") == Answer(None, None)


async def test_answers_that_nobody_came_for_are_forgotten_and_requests_never(store: Store) -> None:
    for number in (1, 2, 3):
        await put_request(store, f"r{number}", "echo", None, 5)
    batch = Batch()
    batch.answer_request("r1", 1_000)
    batch.answer_request("r2", 2_000)
    await store.commit(batch.entries())
    async with store.transaction() as transaction:
        assert await delete_old_answers(transaction, 1_500 + KEPT_MS) == 1
    assert await find_answer(store, "r1") is None
    assert await find_answer(store, "r2") == Answer(None, None)
    assert [request.id for request in await pending_requests(store)] == ["r3"]
