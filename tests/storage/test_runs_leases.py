"""The lease: one process writes, and one that was replaced can write nothing any more (INV-5)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from support.engine_runs import workflow
from support.recorded_runs import RecordedPlayer, create_tables, new_plan
from support.systems import until
from wonder.storage.errors import DatabaseBusy, LeaseLost, WriteRefused
from wonder.storage.opening import open_store
from wonder.storage.queries import load_queries
from wonder.storage.runs.leases import FileLock, Lease, claim_lease, is_held, lock_path, read_lease
from wonder.storage.runs.starting import insert_runs
from wonder.storage.store import Store

HOLDER = """
import asyncio, sys
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import claim_lease

async def hold():
    store = await open_store(sys.argv[1])
    lease = await claim_lease(store, "other process", lease_ms=3_000)
    print(lease.epoch, flush=True)
    await asyncio.sleep(60)

asyncio.run(hold())
"""


def start(*command: str) -> "subprocess.Popen[str]":
    """Start another process."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def take(store: Store, owner_id: str, lease_ms: int = 15_000) -> Lease:
    """Claim a lease that must be free."""
    lease = await claim_lease(store, owner_id, lease_ms=lease_ms)
    assert lease is not None
    return lease


async def run_out(store: Store, lease: Lease) -> None:
    """Let others claim a lease whose owner does not know of it."""
    if store.dialect == "sqlite":
        lease.abandon()
    else:
        async with store.transaction() as transaction:
            await transaction.run("UPDATE leases SET deadline_ms = 0")


async def test_a_lease_has_one_owner_until_it_is_released(store: Store) -> None:
    assert not await is_held(store)
    assert await read_lease(store) is None
    first = await take(store, "first")
    assert await is_held(store)
    assert await claim_lease(store, "second") is None
    row = await read_lease(store)
    assert row is not None
    assert (row.owner_id, row.epoch, row.deadline_ms is None) == ("first", 1, store.dialect == "sqlite")
    await first.release()
    assert not await is_held(store)
    second = await take(store, "second")
    assert second.epoch == 2
    await first.release()
    assert await is_held(store), "releasing what is another's now changes nothing"
    await second.release()


async def test_leases_of_other_names_are_apart(store: Store) -> None:
    engine = await take(store, "first")
    other = await claim_lease(store, "second", name="archiver")
    assert other is not None
    assert (engine.epoch, other.epoch) == (1, 1)
    await engine.release()
    await other.release()


async def test_inv_5_a_commit_of_a_replaced_owner_fails_and_writes_nothing(store: Store) -> None:
    id, plan = new_plan()
    await create_tables(store, plan)
    first = await take(store, "first")
    one, two = (RecordedPlayer(workflow({"a": {}}, []), id, plan) for _ in range(2))
    one.start()
    await store.commit(one.batch.entries(), fence=first.fence)
    await run_out(store, first)
    second = await take(store, "second")
    two.start()
    with pytest.raises(LeaseLost):
        await store.commit(two.batch.entries(), fence=first.fence)
    with pytest.raises(LeaseLost):
        await insert_runs(store, [two.new_run], fence=first.fence)
    with pytest.raises(LeaseLost):
        await first.renew()
    assert await store.query("SELECT id FROM runs") == [(one.run.id,)]
    assert await store.query("SELECT DISTINCT run_id FROM events") == [(one.run.id,)]
    await store.commit(two.batch.entries(), fence=second.fence)
    assert await store.query("SELECT count(*) FROM runs") == [(2,)]
    await second.release()


async def test_an_owner_that_renews_keeps_its_lease(store: Store) -> None:
    lease = await take(store, "first")
    for _ in range(4):
        async with store.transaction() as transaction:
            await transaction.run("UPDATE leases SET deadline_ms = 0")
        await lease.renew(60_000)
        assert await claim_lease(store, "second") is None
    await store.commit([], fence=lease.fence)
    await lease.release()


async def test_a_lease_that_ran_out_and_nobody_claimed_can_still_be_used_and_renewed(store: Store) -> None:
    lease = await take(store, "first")
    async with store.transaction() as transaction:
        await transaction.run("UPDATE leases SET deadline_ms = 0")
    await store.commit([], fence=lease.fence)
    await lease.renew()
    assert await is_held(store)
    await lease.release()


async def test_of_many_that_claim_at_once_one_gets_the_lease(store: Store, store_url: str) -> None:
    stores = [await open_store(store_url) for _ in range(3)]
    claims = await asyncio.gather(*(claim_lease(one, f"owner{n}") for n, one in enumerate(stores * 4)))
    winners = [lease for lease in claims if lease is not None]
    assert len(winners) == 1
    assert winners[0].epoch == 1
    await winners[0].release()
    for one in stores:
        await one.close()


async def test_a_claim_waits_for_a_commit_that_has_passed_the_fence(store: Store, store_url: str) -> None:
    """Otherwise the new owner would load runs that the old one is still writing."""
    if store.dialect == "sqlite":
        pytest.skip("SQLite has one writer at a time by itself")
    first = await take(store, "first")
    other = await open_store(store_url)

    async def push_aside() -> None:
        async with other.transaction() as transaction:
            await transaction.run("SET LOCAL lock_timeout = 1")
            await transaction.run("UPDATE leases SET deadline_ms = 0")

    async with store.transaction() as transaction:
        assert await transaction.fetch(first.fence.query, *first.fence.parameters)
        with pytest.raises(DatabaseBusy):
            await push_aside()
    await push_aside()
    await other.close()
    await first.release()


async def test_the_lease_of_a_process_that_was_killed_is_free_at_once_or_when_it_runs_out(
    store: Store, store_url: str
) -> None:
    with start(sys.executable, "-c", HOLDER, store_url) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "1\n"
        assert await claim_lease(store, "ours") is None
        process.kill()
        await asyncio.to_thread(process.wait)
    if store.dialect == "postgresql":
        lease = await until(lambda: claim_lease(store, "ours"))
    else:
        lease = await take(store, "ours")
    assert lease.epoch == 2
    await lease.release()


async def test_the_lock_is_one_however_the_file_is_named_and_outlives_children(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "app.db")
    linked = await open_store(f"sqlite:///{tmp_path}/link.db")
    lease = await take(store, "first")
    assert lock_path(linked) == lock_path(store) == tmp_path / "app.db.lock"
    assert await claim_lease(linked, "second") is None
    with start("sleep", "30") as child:
        await lease.release()
        again = await take(linked, "second")
        child.kill()
    await again.release()
    await store.close()
    await linked.close()


async def test_looking_who_has_the_lease_does_not_keep_others_from_claiming_it(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    probe = FileLock.take(lock_path(store), shared=True)
    assert probe is not None
    claim = asyncio.create_task(claim_lease(store, "first"))
    await asyncio.sleep(0.01)
    probe.free()
    probe.free()
    lease = await claim
    assert lease is not None
    await lease.release()
    await store.close()


async def test_a_lock_file_that_can_not_be_opened_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "app.db.lock").mkdir()
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    with pytest.raises(WriteRefused, match="lock file"):
        await claim_lease(store, "first")
    await store.close()


async def test_inv_5_an_owner_that_stopped_in_the_middle_of_a_statement_is_replaced(fresh_postgres_url: str) -> None:
    """INV-5: for the server it is not idle, so that nothing but a claim ends its transaction."""
    store = await open_store(fresh_postgres_url)
    lease = await take(store, "stopped", lease_ms=100)
    connection = await asyncpg.connect(fresh_postgres_url)
    stopped = asyncio.Event()

    async def rows() -> AsyncIterator[bytes]:
        stopped.set()
        await asyncio.sleep(60)
        yield b""

    try:
        await connection.execute("BEGIN")
        assert await connection.fetch(load_queries("postgresql")[lease.fence.query], *lease.fence.parameters)
        copying = asyncio.create_task(connection.copy_to_table("requests", source=rows()))
        await stopped.wait()
        await asyncio.sleep(0.15)
        # A commit may take that long: whoever claims for a minute waits for a minute.
        assert await claim_lease(store, "next", lease_ms=60_000) is None
        assert not await store.fetch("lease_is_unlocked", "engine")
        assert await until(lambda: claim_lease(store, "next", lease_ms=100), seconds=60)
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
        assert connection.is_closed()
    finally:
        connection.terminate()
        await store.close()
