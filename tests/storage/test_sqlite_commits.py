"""Commits on SQLite: by the writer's thread, or without changing threads where that is quicker."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from wonder.storage.errors import ConstraintViolated, LeaseLost, StoreClosed
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import claim_lease
from wonder.storage.sqlite import commits as sqlite_commits
from wonder.storage.sqlite.commits import FEW_ROWS
from wonder.storage.sqlite.store import SqliteStore

INSERT = "INSERT INTO things (number) VALUES ($1)"


@pytest.fixture(params=[0.0, 60.0], ids=["by the writer", "at once"])
async def things(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SqliteStore]:
    """A store that takes all commits for slow, or all for fast."""
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", request.param)
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    assert isinstance(store, SqliteStore)
    async with store.transaction() as transaction:
        await transaction.run("CREATE TABLE things (number INTEGER PRIMARY KEY, thread TEXT)")
    yield store
    await store.close()


async def numbers(store: SqliteStore) -> list[object]:
    return [number for (number,) in await store.query("SELECT number FROM things ORDER BY number")]


async def test_commits_of_few_and_of_many_rows_are_kept_in_order(things: SqliteStore) -> None:
    await asyncio.gather(*(things.commit([(INSERT, [(number,)])]) for number in range(20)))
    await things.commit([(INSERT, [(100 + number,) for number in range(FEW_ROWS + 1)])])
    await things.commit([("DELETE FROM things WHERE number >= $1", [(100,)]), (INSERT, [(100,)])])
    assert await numbers(things) == [*range(20), 100]


async def test_a_commit_that_fails_leaves_nothing_and_the_next_one_works(things: SqliteStore) -> None:
    lease = await claim_lease(things, "first")
    assert lease is not None
    await things.commit([(INSERT, [(1,)])], fence=lease.fence)
    with pytest.raises(ConstraintViolated):
        await things.commit([(INSERT, [(2,), (1,)])], fence=lease.fence)
    await lease.release()
    other = await claim_lease(things, "second")
    assert other is not None
    with pytest.raises(LeaseLost):
        await things.commit([(INSERT, [(3,)])], fence=lease.fence)
    await things.commit([(INSERT, [(4,)])], fence=other.fence)
    assert await numbers(things) == [1, 4]
    await other.release()


async def test_commits_wait_for_a_transaction_and_for_other_commits(things: SqliteStore) -> None:
    async with things.transaction() as transaction:
        waiting = asyncio.create_task(things.commit([(INSERT, [(2,)])]))
        await asyncio.sleep(0.01)
        await transaction.run(INSERT, [(1,)])
        assert not waiting.done()
    await waiting
    assert await numbers(things) == [1, 2]


async def test_the_loop_goes_on_while_another_process_keeps_the_file_locked(
    things: SqliteStore, tmp_path: Path
) -> None:
    other = await open_store(f"sqlite:///{tmp_path}/app.db")
    async with other.transaction() as transaction:
        waiting = asyncio.create_task(things.commit([(INSERT, [(2,)])]))
        for _ in range(10):
            await asyncio.wait_for(asyncio.sleep(0.01), 20)
        assert not waiting.done()
        await transaction.run(INSERT, [(1,)])
    await asyncio.wait_for(waiting, 60)
    await things.commit([(INSERT, [(3,)])])
    assert await numbers(things) == [1, 2, 3]
    await other.close()


async def test_a_closed_store_refuses(things: SqliteStore) -> None:
    await things.close()
    with pytest.raises(StoreClosed):
        await things.commit([(INSERT, [(1,)])])


async def test_a_store_learns_how_fast_its_disk_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    assert isinstance(store, SqliteStore)
    async with store.transaction() as transaction:
        await transaction.run("CREATE TABLE things (number INTEGER PRIMARY KEY)")
    threads: list[str] = []

    def watch() -> bool:
        threads.append(threading.current_thread().name)
        return False  # which lets it be committed

    await store._writer.submit(lambda connection: connection.set_commit_hook(watch))
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", store._commits._seconds / 2)
    clock = iter(range(10_000))
    monkeypatch.setattr(sqlite_commits, "time", SimpleNamespace(monotonic=lambda: next(clock) // 2 * 1e-6))
    for number in range(20):
        await store.commit([(INSERT, [(number,)])])
    assert threads[0].startswith("wonder-writer")
    assert threads[-1] == threading.current_thread().name
    await store.commit([(INSERT, [(100 + number,) for number in range(FEW_ROWS + 1)])])
    assert threads[-1].startswith("wonder-writer")
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 0.0)
    await store.commit([(INSERT, [(1_000,)])])
    assert threads[-1].startswith("wonder-writer")
    assert await numbers(store) == [*range(20), *range(100, 101 + FEW_ROWS), 1_000]
    await store.close()
