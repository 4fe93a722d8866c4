"""A copy of an SQLite file: of one moment, with what its journal has, whoever runs the engine (INV-2)."""

import asyncio
from pathlib import Path

import pytest

from support.journals import INSERT, NUMBERS, Owner, inherited_at, opened_at
from wonder.storage.backup_errors import BackupFailed
from wonder.storage.sqlite import backup as sqlite_backup
from wonder.storage.sqlite.backup import copy_database
from wonder.storage.sqlite.damage import Known, Left, look_at
from wonder.storage.sqlite.entries import files_of


def unseen(done: int, of: int) -> None:
    """Look at no progress."""


async def test_inv_2_what_a_killed_process_left_in_its_journal_is_copied_with_it(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"a", b"b")
    await owner.close()
    copy_database(owner.path, tmp_path / "copy.db", unseen)
    assert await inherited_at(tmp_path / "copy.db") == [b"a", b"b"]
    assert await inherited_at(owner.path) == [b"a", b"b"]


async def test_inv_2_a_copy_waits_for_the_commit_that_brings_the_journal_to_the_tables(
    owner: Owner, tmp_path: Path
) -> None:
    owner.log_all(b"a")
    copying = asyncio.create_task(asyncio.to_thread(copy_database, owner.path, tmp_path / "copy.db", unseen))
    await asyncio.sleep(0.2)
    assert not (tmp_path / "copy.db").exists(), "its tables lack what was acknowledged"
    await owner.settle(2)
    await copying
    await owner.close()
    assert files_of(tmp_path / "copy.db") == []
    assert await inherited_at(tmp_path / "copy.db") == []
    copy = await opened_at(tmp_path / "copy.db")
    assert [number for (number,) in await copy.query(NUMBERS)] == [0, 2]
    await copy.close()


async def test_a_copy_is_of_one_moment_while_others_write(owner: Owner, tmp_path: Path) -> None:
    await owner.store.commit([(INSERT, [(number,) for number in range(10, 200_000)])], fence=owner.lease.fence)
    seen: list[int] = []

    def write(done: int, of: int) -> None:
        seen.append(done)
        if len(seen) < 5:
            future = asyncio.run_coroutine_threadsafe(owner.settle(1_000_000 + len(seen)), loop)
            future.result(10)

    loop = asyncio.get_running_loop()
    await asyncio.to_thread(copy_database, owner.path, tmp_path / "copy.db", write)
    await owner.close()
    copy = await opened_at(tmp_path / "copy.db")
    numbers = [number for (number,) in await copy.query(NUMBERS)]
    await copy.close()
    assert numbers == [0, *range(10, 200_000)]


async def test_a_copy_of_an_engine_that_can_t_write_to_its_tables_is_refused(
    owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_backup, "_SETTLE_SECONDS", 0.1)
    owner.log_all(b"a")
    with pytest.raises(BackupFailed, match="has not written its last results"):
        await asyncio.to_thread(copy_database, owner.path, tmp_path / "copy.db", unseen)
    await owner.close()
    assert not (tmp_path / "copy.db").exists()


async def test_a_copy_is_for_its_owner_alone(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"a")
    await owner.close()
    copy_database(owner.path, tmp_path / "copy.db", unseen)
    modes = {path.stat().st_mode & 0o777 for path in [tmp_path / "copy.db", *files_of(tmp_path / "copy.db")]}
    assert modes == {0o600}


async def test_inv_2_an_engine_that_closes_while_a_backup_begins_is_not_taken_for_damage(
    owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It frees the lock before it says that it needs its journal no more: between both, a backup reads the tables."""
    owner.log_all(b"logged")
    await owner.settle(1)
    owner.lease.abandon()
    loop, looks = asyncio.get_running_loop(), 0

    def look_late(database: Path, known: Known) -> Left:
        nonlocal looks
        looks += 1
        if looks == 2:  # The first one for which it has the lock.
            asyncio.run_coroutine_threadsafe(owner.store.close(), loop).result(20)
        return look_at(database, known)

    monkeypatch.setattr(sqlite_backup, "look_at", look_late)
    await asyncio.to_thread(copy_database, owner.path, tmp_path / "copy.db", unseen)
    assert await inherited_at(tmp_path / "copy.db") == []
