"""The journal of SQLite: a few bytes are durable at once, beside tables that have what they stand for only later."""

import asyncio
import os
import random
import shutil
import time
from pathlib import Path

import apsw
import pytest

from support.journals import INSERT, Owner, copied, entries_in, file_of, inherited_at, slots_of
from wonder.storage.errors import ConstraintViolated, LeaseLost
from wonder.storage.sqlite import commits as sqlite_commits
from wonder.storage.sqlite import entries as sqlite_entries
from wonder.storage.sqlite.commits import FEW_ROWS
from wonder.storage.sqlite.durable_file import BLOCK, shut
from wonder.storage.sqlite.entries import ENTRY_BYTES, SLOT_BYTES, SLOTS, files_of, path_for


async def test_an_entry_is_one_write_beside_the_database(owner: Owner) -> None:
    owner.log_all(b"1")
    # The migrations made the log long, so its write-back may still be changing the database file.
    await owner.written_back()
    log, journal = owner.path.with_name(f"{owner.path.name}-wal"), file_of(owner.path)
    assert journal.name == f"{owner.path.name}-facts-{owner.lease.epoch}"
    tables, log_before, slots = owner.path.read_bytes(), log.read_bytes(), slots_of(journal)
    owner.log_all(b"2")
    assert (owner.path.read_bytes(), log.read_bytes()) == (tables, log_before)
    assert sum(before != after for before, after in zip(slots, slots_of(journal), strict=True)) == 1
    assert journal.stat().st_size == SLOTS * SLOT_BYTES + BLOCK


async def test_what_a_process_left_is_given_in_order_until_a_commit_settles_it(owner: Owner, tmp_path: Path) -> None:
    bodies = [b"one", b"", os.urandom(3 * SLOT_BYTES), b"four"]
    owner.log_all(*bodies)
    left = copied(owner.path, tmp_path / "left.db")
    for _ in range(3):
        assert await inherited_at(left) == bodies
    other = await Owner.of(left)
    assert other.inherited == bodies
    # What was left stays until it is settled, also beside commits that do not settle it.
    await other.store.commit([(INSERT, [(1,)])], fence=other.lease.fence, settles=False)
    assert await inherited_at(copied(left, tmp_path / "again.db")) == bodies
    await other.settle(2)
    assert files_of(left) == []
    await other.close()
    assert await inherited_at(left) == []


async def test_entries_that_are_settled_are_given_to_nobody_and_those_after_them_are(
    owner: Owner, tmp_path: Path
) -> None:
    owner.log_all(b"1", b"2")
    await owner.settle()
    assert await inherited_at(copied(owner.path, tmp_path / "settled.db")) == []
    owner.log_all(b"3")
    assert await inherited_at(copied(owner.path, tmp_path / "ahead.db")) == [b"3"]


async def test_more_entries_than_places_are_kept_over_many_rounds(owner: Owner, tmp_path: Path) -> None:
    chance = random.Random(7)
    for turn, count in enumerate([SLOTS, 3, SLOTS // 8, 1, SLOTS // 4, SLOTS, 2]):
        longest = SLOT_BYTES // 2 if count == SLOTS else 3 * SLOT_BYTES
        bodies = [chance.randbytes(chance.randrange(longest)) for _ in range(count)]
        owner.log_all(*bodies)
        assert await inherited_at(copied(owner.path, tmp_path / f"left{turn}.db")) == bodies
        await owner.settle()


async def test_inv_5_who_takes_the_lease_over_is_given_all_and_the_one_before_can_log_nothing(owner: Owner) -> None:
    owner.log_all(b"1")
    owner.lease.abandon()
    other = await Owner.of(owner.path)
    assert other.inherited == [b"1"]
    with pytest.raises(LeaseLost):
        owner.log(b"late")
    assert not owner.log(b"later")
    with pytest.raises(LeaseLost):
        await owner.settle()
    await other.settle()
    assert not owner.log(b"latest")
    other.log_all(b"2")
    assert [file.name for file in files_of(owner.path)] == [f"{owner.path.name}-facts-{other.lease.epoch}"]
    other.lease.abandon()
    assert await inherited_at(owner.path) == [b"2"]
    await other.close()


async def test_inv_5_what_an_owner_still_writes_when_it_is_replaced_is_given_to_nobody(
    owner: Owner, tmp_path: Path
) -> None:
    """It may write many entries where it can't see that its file is shut, and the file may turn up at any time."""
    owner.log_all(b"1")
    other = await Owner.of(copied(owner.path, tmp_path / "taken.db"))
    assert other.inherited == [b"1"]
    owner.log_all(b"late", b"later", b"latest")
    await other.settle()
    other.log_all(b"2")
    shutil.copy(file_of(owner.path), path_for(other.path, owner.lease.epoch))
    assert len(files_of(other.path)) == 2
    assert await inherited_at(copied(other.path, tmp_path / "left.db")) == [b"2"]
    await other.settle()
    assert await inherited_at(copied(other.path, tmp_path / "settled.db")) == []
    await other.close()


@pytest.mark.parametrize("is_shut", [False, True], ids=["just before", "just after"])
async def test_inv_5_an_entry_that_comes_when_the_file_is_shut_is_refused_or_inherited(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, is_shut: bool
) -> None:
    owner.log_all(b"1")
    owner.lease.abandon()
    was_logged = []

    def shut_then(path: Path, at: int, last: int | None = None) -> None:
        if is_shut:
            shut(path, at)
        if last is None:
            was_logged.append(owner.could_log(b"2"))
        shut(path, at, last)

    monkeypatch.setattr(sqlite_entries, "shut", shut_then)
    other = await Owner.of(owner.path)
    assert was_logged == [not is_shut]
    assert other.inherited == [b"1", b"2"] if was_logged[0] else other.inherited[:1] == [b"1"]
    await other.close()


async def test_inv_5_an_owner_that_was_replaced_before_its_first_entry_can_log_nothing(owner: Owner) -> None:
    owner.lease.abandon()
    other = await Owner.of(owner.path)
    await other.close()
    assert not owner.could_log(b"late")


async def test_inv_5_what_an_owner_writes_when_it_is_replaced_is_given_to_nobody_before_the_next_settles_either(
    owner: Owner,
) -> None:
    owner.log_all(b"1")
    owner.lease.abandon()
    second = await Owner.of(owner.path)
    assert not owner.could_log(b"late")
    await second.close()
    assert await inherited_at(owner.path) == second.inherited == [b"1"]


@pytest.mark.parametrize("limit", ["FAST_SECONDS", "QUICK_SECONDS"])
async def test_nothing_is_logged_on_a_slow_disk_or_a_while_after_the_last_commit(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(sqlite_commits, limit, 0.0)
    assert_refused(owner)


async def test_what_is_more_than_one_fact_is_logged_whenever_the_last_commit_was(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_commits, "QUICK_SECONDS", 0.0)
    owner.log_all(b"x" * (SLOT_BYTES + 1))
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 0.0)
    assert_refused(owner, b"x" * (SLOT_BYTES + 1))


async def test_a_disk_that_was_slow_is_looked_at_again_where_all_commits_are_large(owner: Owner) -> None:
    """None of them says how long a small one takes; without a look nothing would be logged while the load lasts."""
    commits, many = owner.store._commits, range(1, FEW_ROWS + 2)
    commits._seconds, commits._last = 1_000.0, time.monotonic()
    await owner.settle(*many)
    assert_refused(owner)
    commits._last -= sqlite_commits.LOOK_SECONDS
    await owner.settle(*[number + 1_000 for number in many])
    owner.log_all(b"1")
    assert await owner.numbers() == [0, *many, *[number + 1_000 for number in many]]
    owner.lease.abandon()
    assert await inherited_at(owner.path) == [b"1"]


async def test_a_look_at_the_disk_that_fails_fails_no_commit(owner: Owner) -> None:
    commits, refused = owner.store._commits, iter([False, True])
    connection = owner.store._writer.lend()
    assert connection
    connection.set_commit_hook(lambda: next(refused, False))
    commits._seconds, commits._last = 1_000.0, 0.0
    await owner.settle(*range(1, FEW_ROWS + 2))
    assert next(refused, None) is None
    commits._seconds = 0.0
    # Nobody knows which number the tables have, until the next commit says it.
    assert_refused(owner)
    await owner.settle(1_000)
    owner.log_all(b"1")
    assert await owner.numbers() == [*range(FEW_ROWS + 2), 1_000]
    owner.lease.abandon()
    assert await inherited_at(owner.path) == [b"1"]


async def test_a_look_at_the_disk_waits_for_nobody_and_is_rare_also_where_it_fails(owner: Owner) -> None:
    """What was committed is durable; who waits for that must not wait for another process as well."""
    commits, connection, looks = owner.store._commits, owner.store._writer.lend(), list[int]()
    assert connection
    rival = apsw.Connection(str(owner.path))

    def rival_is_next() -> bool:
        looks.append(len(looks))
        return False

    def lock(_connection: apsw.Connection, _name: str, _pages: int) -> int:
        rival.execute("BEGIN IMMEDIATE")
        return apsw.SQLITE_OK

    connection.set_commit_hook(rival_is_next)
    connection.set_wal_hook(lock)
    commits._seconds, commits._last = 1_000.0, 0.0
    async with asyncio.timeout(20):  # the store waits for others for 30 seconds
        await owner.settle(*range(1, FEW_ROWS + 2))
    rival.execute("ROLLBACK")
    connection.set_wal_hook(None)
    await owner.settle(*range(1_001, FEW_ROWS + 1_002))
    rival.close()
    assert len(looks) == 2, "a second look so soon"
    assert commits._seconds == 1_000.0


async def test_nothing_is_logged_that_has_no_place(owner: Owner) -> None:
    assert_refused(owner, b"x" * (ENTRY_BYTES + 1))
    for bodies in ([b"x"] * SLOTS, [b"x" * ENTRY_BYTES], [b"x", b"x" * (ENTRY_BYTES - SLOT_BYTES)]):
        owner.log_all(*bodies)
        assert_refused(owner)
        await owner.settle()
    owner.log_all(b"x")
    assert_refused(owner, b"x" * (ENTRY_BYTES - SLOT_BYTES + 1))


async def test_nothing_is_logged_between_a_claim_and_the_first_commit_that_settles(owner: Owner) -> None:
    owner.log_all(b"1")
    owner.lease.abandon()
    other = await Owner.of(owner.path)
    assert_refused(other)
    await other.store.commit([], fence=other.lease.fence, settles=False)
    assert_refused(other)
    await other.settle()
    other.log_all(b"2")
    await other.close()


@pytest.mark.parametrize("settles", [None, False])
async def test_nothing_is_logged_upon_a_commit_that_does_not_settle(owner: Owner, settles: bool | None) -> None:
    owner.log_all(b"1")
    await owner.store.commit([(INSERT, [(1,)])], settles=settles)
    assert_refused(owner)
    await owner.settle()
    owner.log_all(b"2")


async def test_nothing_is_logged_in_a_transaction_or_upon_one(owner: Owner) -> None:
    async with owner.store.transaction() as transaction:
        assert_refused(owner)
        await transaction.run(INSERT, [(1,)])
        assert_refused(owner)
    assert_refused(owner)
    await owner.settle()
    owner.log_all(b"1")


async def test_nothing_is_logged_in_a_closed_store(owner: Owner) -> None:
    await owner.store.close()
    assert_refused(owner)


async def test_a_settling_commit_that_fails_settles_nothing(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1", b"2")
    with pytest.raises(ConstraintViolated):
        await owner.settle(0)
    assert_refused(owner)
    assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == [b"1", b"2"]
    before = max(entries_in(file_of(owner.path)).values())
    await owner.settle(1)
    owner.log_all(b"3")
    assert await inherited_at(copied(owner.path, tmp_path / "later.db")) == [b"3"]
    assert before.number < max(entries_in(file_of(owner.path)).values()).anchor


def assert_refused(owner: Owner, body: bytes = b"refused") -> None:
    """See that nothing is logged."""
    before = [slots_of(file) for file in files_of(owner.path)]
    assert owner.log(body) is False
    assert [slots_of(file) for file in files_of(owner.path)] == before
