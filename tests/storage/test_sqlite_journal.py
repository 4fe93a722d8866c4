"""The journal of SQLite: small commits in quick succession are durable at once, and in the tables a moment later."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.tasks import until
from wonder.storage import sqlite
from wonder.storage.check import check_database
from wonder.storage.errors import (
    ConstraintViolated,
    DatabaseFailed,
    DatabaseNewer,
    DiskFull,
    LeaseLost,
    ValueRefused,
)
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.sqlite import ENTRY_ROWS, SqliteStore
from wonder.storage.sqlite_journal import ENTRY_BYTES, SLOTS
from wonder.storage.store import Entry

INSERT = "INSERT INTO things (number, text) VALUES ($1, $2)"
NUMBERS = "SELECT number FROM things ORDER BY number"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the database is; nothing is written to its tables just because time has passed."""
    monkeypatch.setattr(sqlite, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(sqlite, "APPLY_SECONDS", 60.0)
    return tmp_path / "app.db"


@pytest.fixture(params=[0.0, 60.0], ids=["by the writer", "at once"])
async def store(
    request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SqliteStore]:
    """A store that takes all commits for slow, or all for fast."""
    monkeypatch.setattr(sqlite, "FAST_SECONDS", request.param)
    opened = await opened_at(path)
    async with opened.transaction() as transaction:
        await transaction.run("CREATE TABLE things (number INTEGER PRIMARY KEY, text TEXT) STRICT")
    yield opened
    await opened.close()


@pytest.fixture
async def lease(store: SqliteStore) -> Lease:
    """The right to write, with a commit just made, upon which others follow."""
    claimed = await claim_lease(store, "first")
    assert claimed is not None
    await store.commit([(INSERT, [(0, "")])], fence=claimed.fence)
    return claimed


async def opened_at(path: Path) -> SqliteStore:
    store = await open_store(f"sqlite:///{path}")
    assert isinstance(store, SqliteStore)
    return store


async def put(store: SqliteStore, lease: Lease, *numbers: int, text: str = "") -> None:
    await store.commit([(INSERT, [(number, text) for number in numbers])], fence=lease.fence, deferrable=True)


async def numbers(store: SqliteStore) -> list[object]:
    return [number for (number,) in await store.query(NUMBERS)]


def in_tables(path: Path) -> list[object]:
    """Look as a program would that knows nothing of Wonder."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [number for (number,) in connection.execute(NUMBERS)]
    finally:
        connection.close()


async def test_who_wrote_an_entry_reads_it_at_once(store: SqliteStore, lease: Lease, path: Path) -> None:
    await put(store, lease, 1)
    assert in_tables(path) == [0]
    assert await numbers(store) == [0, 1]
    assert in_tables(path) == [0, 1]


async def test_others_read_it_a_moment_later(
    store: SqliteStore, lease: Lease, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "APPLY_SECONDS", 0.02)
    for number in (1, 2):
        await put(store, lease, number)
        await until(lambda number=number: in_tables(path) == [*range(number + 1)])


async def test_an_entry_changes_one_page(store: SqliteStore, lease: Lease, path: Path) -> None:
    for number in range(1, SLOTS):
        await put(store, lease, number)
    assert await numbers(store) == [*range(SLOTS)]
    log = path.with_name(path.name + "-wal")
    await put(store, lease, 100)
    with log.open("rb") as file:
        before = file.read()
    await put(store, lease, 101)
    frame = 24 + 4_096
    after = log.read_bytes()
    assert sum(after[at : at + frame] != before[at : at + frame] for at in range(32, len(after), frame)) == 1


async def test_what_a_process_left_is_there_when_the_file_is_opened_again(
    store: SqliteStore, lease: Lease, path: Path, tmp_path: Path
) -> None:
    await put(store, lease, 1)
    await put(store, lease, 2)
    left = tmp_path / "left.db"
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    assert in_tables(left) == [0]
    for _ in range(2):
        other = await opened_at(left)
        assert in_tables(left) == await numbers(other) == [0, 1, 2]
        await other.close()


async def test_inv_5_who_takes_the_lease_over_sees_all_and_goes_on_from_there(
    store: SqliteStore, lease: Lease, path: Path
) -> None:
    other = await opened_at(path)
    await put(store, lease, 1)
    lease.abandon()
    claimed = await claim_lease(other, "second")
    assert claimed is not None
    assert in_tables(path) == [0, 1]
    with pytest.raises(LeaseLost):
        await put(store, lease, 2)
    await put(other, claimed, 3)
    await put(other, claimed, 4)
    assert await numbers(store) == await numbers(other) == [0, 1, 3, 4]
    await claimed.release()
    await other.close()


async def test_entries_that_another_process_brought_to_the_tables_are_not_written_twice(
    store: SqliteStore, lease: Lease, path: Path
) -> None:
    other = await opened_at(path)
    await put(store, lease, 1)
    async with other.transaction() as transaction:
        assert await transaction.query(NUMBERS) == [(0,), (1,)]
    await put(store, lease, 2)
    assert await numbers(store) == [0, 1, 2]
    await other.close()


async def test_more_commits_than_the_journal_has_place_for_are_kept_in_order(store: SqliteStore, lease: Lease) -> None:
    for number in range(1, 5 * SLOTS):
        await put(store, lease, number)
        if number % 7 == 0:
            delete = "DELETE FROM things WHERE number = $1"
            await store.commit([(delete, [(number,)])], fence=lease.fence, deferrable=True)
    await store.commit([(INSERT, [(1_000, "")])], fence=lease.fence)
    assert await numbers(store) == [number for number in range(5 * SLOTS) if number % 7 or not number] + [1_000]


@pytest.mark.parametrize("text", ["x" * ENTRY_BYTES, "\x00", "é" * 100])
async def test_whatever_a_commit_holds_is_kept(store: SqliteStore, lease: Lease, text: str) -> None:
    await put(store, lease, 1, text=text)
    await put(store, lease, *range(2, 3 + ENTRY_ROWS))
    assert await store.query("SELECT text FROM things WHERE number = 1") == [(text,)]
    assert len(await numbers(store)) == 3 + ENTRY_ROWS


async def test_a_commit_that_fails_takes_no_entry_with_it(store: SqliteStore, lease: Lease) -> None:
    await put(store, lease, 1)
    with pytest.raises(ConstraintViolated):
        await store.commit([(INSERT, [(2, ""), (1, "")])], fence=lease.fence)
    await put(store, lease, 3)
    assert await numbers(store) == [0, 1, 3]


async def test_a_transaction_that_is_left_with_an_error_takes_no_entry_with_it(
    store: SqliteStore, lease: Lease, path: Path
) -> None:
    await put(store, lease, 1)
    with pytest.raises(ConstraintViolated):
        async with store.transaction() as transaction:
            await transaction.run(INSERT, [(1, "")])
    assert in_tables(path) == [0, 1]
    await put(store, lease, 2)
    assert await numbers(store) == [0, 1, 2]


async def test_commits_at_the_same_time_take_no_place_from_each_other(store: SqliteStore, lease: Lease) -> None:
    await asyncio.gather(*[put(store, lease, number) for number in range(1, 2 * SLOTS)])
    assert await numbers(store) == [*range(2 * SLOTS)]


async def test_a_commit_that_nobody_waits_for_any_more_is_kept(store: SqliteStore, lease: Lease, path: Path) -> None:
    given_up = asyncio.create_task(put(store, lease, 1))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    await put(store, lease, 2)
    found = await numbers(store)
    assert found in ([0, 1, 2], [0, 2])
    assert in_tables(path) == found


async def test_who_reads_does_not_wait_for_a_transaction(store: SqliteStore, lease: Lease) -> None:
    await put(store, lease, 1)
    async with store.transaction() as transaction, asyncio.timeout(5):
        await transaction.run(INSERT, [(2, "")])
        assert await numbers(store) == [0, 1]
    assert await numbers(store) == [0, 1, 2]


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1])
async def test_a_number_that_sqlite_can_not_hold_is_refused_at_once(
    store: SqliteStore, lease: Lease, number: int
) -> None:
    with pytest.raises(ValueRefused):
        await put(store, lease, number)
    assert await numbers(store) == [0]


async def test_a_file_of_a_newer_wonder_is_left_as_it_is(store: SqliteStore, lease: Lease, path: Path) -> None:
    row = (9_999, "from the future", "0" * 64, "2030-01-01T00:00:00.000000Z", "9.9")
    await store.commit([("record_migration", [row])])
    await put(store, lease, 1)
    with pytest.raises(DatabaseNewer):
        await opened_at(path)
    assert in_tables(path) == [0]


async def test_closing_brings_all_to_the_tables(store: SqliteStore, lease: Lease, path: Path) -> None:
    await put(store, lease, 1)
    await store.close()
    assert in_tables(path) == [0, 1]


@pytest.mark.parametrize(
    ("unfit", "why"),
    [
        ((INSERT, [(0, "")]), "UNIQUE constraint failed"),
        ((INSERT, [(1,)]), "Incorrect number of bindings"),
        ((INSERT, [("text", "")]), "datatype mismatch"),
        (("INSERT INTO missing VALUES ($1)", [(1,)]), "no such table"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
async def test_what_the_tables_refuse_holds_up_nothing_and_is_named(
    store: SqliteStore, lease: Lease, caplog: pytest.LogCaptureFixture, unfit: Entry, why: str
) -> None:
    await put(store, lease, 1)
    await store.commit([unfit], fence=lease.fence, deferrable=True)
    await put(store, lease, 2)
    with caplog.at_level(logging.ERROR):
        assert await numbers(store) == [0, 1, 2]
    assert why in caplog.text
    (finding,) = await check_database(store)
    assert "of the journal could not be written to the tables; restore a backup" in finding.message
    with pytest.raises(DatabaseFailed, match="could not be written to the tables"):
        await put(store, lease, 3)
    await put(store, lease, 4)
    assert await numbers(store) == [0, 1, 2, 4]


async def test_what_can_not_be_written_to_the_tables_yet_is_tried_again(
    store: SqliteStore, lease: Lease, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True

    def commit_rows(*given: Any) -> None:
        if full:
            raise DiskFull("the disk is full")
        real(*given)

    real = store._commit_rows
    monkeypatch.setattr(store, "_commit_rows", commit_rows)
    monkeypatch.setattr(sqlite, "APPLY_SECONDS", 0.01)
    monkeypatch.setattr(sqlite, "APPLY_AGAIN_SECONDS", 0.01)
    await put(store, lease, 1)
    with pytest.raises(DiskFull):
        await numbers(store)
    await asyncio.sleep(0.05)
    full = False
    await until(lambda: in_tables(path) == [0, 1])
