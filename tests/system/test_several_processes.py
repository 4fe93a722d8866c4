"""Several processes on one database: one runs the engine, the others ask it, and take over when it is gone."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from engine_program import DEFINITION, ITEMS, LEASE_MS

from support.nursery import Nursery, last_told
from support.systems import assert_sound, bundle, open_item, running, until, waits
from wonder.app.opening import open_wonder
from wonder.app.results import RequestRefused
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import check_lease, claim_lease, read_lease
from wonder.storage.runs.requests import find_answer, put_request
from wonder.storage.store import Store


async def effect(name: Any, key: str) -> dict[str, Any]:
    return {"name": name}


async def test_cmd_5_another_process_starts_answers_cancels_and_lists(
    store_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    """CMD-5: what it wants is a row that the owner of the engine picks up."""
    printed = tmp_path / "printed"
    async with running(store_url, effect=effect) as wonder:
        await wonder.deploy(DEFINITION)
        process_id = nursery.start(printed, "use", store_url, "from-outside")
        assert await asyncio.to_thread(nursery.wait, process_id) == 0, printed.read_text()
        lines = printed.read_text().splitlines()
        assert lines[0] == "engine False"
        told = last_told(lines)
        assert told["output"]["all"] == ITEMS
        assert told["ended"] == ["completed", "cancelled"]
        assert told["refused"] == "IDEMPOTENCY_KEY_REUSED"
        assert told["statuses"] == ["cancelled", "completed", "completed"]
        assert await wonder.store.query("SELECT count(*) FROM requests WHERE answered_ms IS NULL") == [(0,)]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("dance", {}),
        ("cancel", {"project_id": "p", "order": {}}),
        ("cancel", []),
        ("start", {"project_id": "p", "order": {"workflow_id": "nothing", "input": {}}}),
        ("start", {"workflow_id": "nothing", "input": {}}),
        ("answer", {"project_id": "p", "order": {"item_id": 7}}),
        ("event", None),
    ],
    ids=str,
)
async def test_a_request_that_makes_no_sense_is_refused_and_not_tried_again(
    store_url: str, kind: str, payload: Any
) -> None:
    """CMD-5."""
    async with running(store_url) as wonder:
        store = wonder.store
        await put_request(store, "request", kind, payload, 0)
        answer = await until(lambda: find_answer(store, "request"), 5)
        assert answer.error["code"]


async def test_a_client_hears_why_it_was_refused(store_url: str) -> None:
    """CMD-5: the same errors, with the code of the owner's."""
    async with running(store_url) as owner, open_wonder(store_url) as client:
        assert client.engine is None
        await owner.deploy(
            bundle("asks", {"ask": waits("human_input", {"prompt": "?", "schema": {"type": "integer"}})})
        )
        run = await client.start("asks")
        item = await open_item(client, run)
        with pytest.raises(RequestRefused) as refused:
            await client.answer(item.id, "seven")
        assert refused.value.reason_code == "INPUT_REFUSED"
        with pytest.raises(RequestRefused) as refused:
            await client.cancel("nothing")
        assert refused.value.reason_code == "NOT_FOUND"
        await client.answer(item.id, 7)
        assert (await run.wait()).status == "completed"


async def test_a_client_takes_over_when_the_owner_closes(store_url: str) -> None:
    """CMD-5: with no owner, whoever is there runs the engine."""
    async with open_wonder(store_url) as client:
        pass
    async with open_wonder(store_url) as owner, open_wonder(store_url) as client:
        assert client.engine is None
        workflow = await owner.deploy(bundle("asks", {"ask": waits("human_input", {"prompt": "?", "schema": {}})}))
        run = await client.start(workflow)
        item = await open_item(client, run)
        await owner.claim.leave()

        async def has_taken_over() -> bool:
            return client.engine is not None

        await until(has_taken_over, 60)
        await client.answer(item.id, 7)
        async with asyncio.timeout(60):
            assert (await run.wait()).status == "completed"
    await assert_sound(store_url)


async def test_a_client_takes_over_when_the_owner_is_killed(store_url: str, tmp_path: Path, nursery: Nursery) -> None:
    """INV-1: at once on SQLite, after the lease has run out on PostgreSQL."""
    printed = tmp_path / "printed"
    process_id = nursery.start(printed, "work", store_url, str(tmp_path), "result", "4")
    assert await asyncio.to_thread(nursery.wait, process_id) == -signal.SIGKILL
    functions = {"tests:effect": effect}
    async with open_wonder(store_url, functions=functions, lease_ms=LEASE_MS) as wonder:
        await until(lambda: _has_engine(wonder))
        assert wonder.engine
        for (run_id,) in await wonder.store.query("SELECT id FROM runs WHERE completed_ms IS NULL"):
            await wonder.cancel(str(run_id))
    await assert_sound(store_url)


async def _has_engine(wonder: Any) -> bool:
    return wonder.engine is not None


async def test_an_owner_that_was_stopped_beyond_its_lease_writes_nothing_when_it_wakes(
    fresh_postgres_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    """INV-5: on PostgreSQL, where a lease runs out; on SQLite a process that is stopped still holds its lock."""
    printed = tmp_path / "printed"
    await (await open_store(fresh_postgres_url)).close()
    process_id = nursery.start(printed, "work", fresh_postgres_url, str(tmp_path), "never", "0")
    store = await open_store(fresh_postgres_url)
    try:

        async def is_under_way() -> bool:
            return await store.query("SELECT count(*) FROM tokens WHERE ended_ms IS NOT NULL") > [(2,)]

        await until(is_under_way)
        await _stop_between_transactions(store, process_id)
        first = await read_lease(store)
        assert first
        async with open_wonder(fresh_postgres_url, functions={"tests:effect": effect}, lease_ms=LEASE_MS) as wonder:
            await until(lambda: _has_engine(wonder))
            taken = await read_lease(store)
            assert taken
            assert taken.epoch > first.epoch
            os.kill(process_id, signal.SIGCONT)
            # The old owner goes on as a client: its runs are ended by the new one, and it hears of it.
            assert await asyncio.to_thread(nursery.wait, process_id) == 0, printed.read_text()
            kept = await read_lease(store)
            assert kept
            assert kept.owner_id == taken.owner_id
    finally:
        await store.close()
    results = last_told(printed.read_text().splitlines())["results"]
    assert len(results) == 3
    await assert_sound(fresh_postgres_url)


async def _stop_between_transactions(store: Store, process_id: int) -> None:
    """Stop a process where it holds no lock: otherwise the server ends its transaction first, which takes a while."""
    others = "datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
    while True:
        os.kill(process_id, signal.SIGSTOP)
        await asyncio.sleep(0.02)
        if await store.query(f"SELECT count(*) FROM pg_stat_activity WHERE {others}") == [(0,)]:
            return
        os.kill(process_id, signal.SIGCONT)
        await asyncio.sleep(0.005)


async def test_a_claim_does_not_wait_for_an_owner_that_stopped_in_the_middle_of_a_commit(store: Store) -> None:
    """INV-5: its commit may still succeed, so the lease is not free, however long ago it ran out."""
    lease = await claim_lease(store, "owner", lease_ms=1)
    assert lease
    if store.dialect == "sqlite":
        assert await claim_lease(store, "other") is None
        return
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        await asyncio.sleep(0.01)
        async with asyncio.timeout(60):
            assert await claim_lease(store, "other") is None
    assert await claim_lease(store, "other")
