"""Who reads or changes tables has them settled first, and what is done while an entry is on its way to the disk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.journals import INSERT, NUMBERS, Owner, copied, entries_in, file_of, inherited_at
from wonder.storage.errors import DatabaseFailed
from wonder.storage.sqlite.commits import FEW_ROWS
from wonder.storage.sqlite.durable_file import DurableFile
from wonder.storage.sqlite.store import SqliteStore


async def begin_transaction(store: SqliteStore) -> object:
    async with store.transaction() as transaction:
        return await transaction.query(NUMBERS)


USES: dict[str, Callable[[SqliteStore], Awaitable[object]]] = {
    "fetch": lambda store: store.fetch("journal_end"),
    "fetch_named": lambda store: store.fetch_named("journal_end"),
    "query": lambda store: store.query(NUMBERS),
    "transaction": begin_transaction,
    "commit": lambda store: store.commit([("DELETE FROM things WHERE number = $1", [(0,)])]),
}


class Settling:
    """Settles the tables for a store, with a row for each time."""

    def __init__(self, owner: Owner, *, works: bool = True) -> None:
        self.owner, self.works, self.count = owner, works, 0
        owner.store.settle_by(self)

    async def __call__(self) -> None:
        self.count += 1
        if self.works:
            await self.owner.settle(self.count)


@pytest.mark.parametrize("use", USES)
async def test_tables_are_settled_before_anybody_uses_them_and_only_if_they_are_not(
    owner: Owner, tmp_path: Path, use: str
) -> None:
    settling = Settling(owner)
    await USES[use](owner.store)
    assert settling.count == 0
    await owner.settle()
    owner.log_all(b"1", b"2")
    await USES[use](owner.store)
    await USES[use](owner.store)
    assert settling.count == 1
    assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == []


@pytest.mark.parametrize("use", ["query", "transaction"])
async def test_who_asks_after_an_entry_is_told_what_has_been_settled_for_it(owner: Owner, use: str) -> None:
    Settling(owner)
    owner.log_all(b"1")
    assert await USES[use](owner.store) == [(0,), (1,)]


async def test_who_reads_what_is_never_logged_has_nothing_settled(owner: Owner) -> None:
    settling, unsettled = Settling(owner), owner.store.unsettled
    owner.log_all(b"1")
    assert await unsettled.query(NUMBERS) == [(0,)]
    assert len(await unsettled.fetch("journal_end")) == len(await unsettled.fetch_named("journal_end")) == 1
    assert settling.count == 0


async def test_nothing_is_looked_up_at_once_while_tables_are_not_settled(owner: Owner) -> None:
    assert owner.store.look_up("journal_end") == await owner.store.fetch("journal_end")
    owner.log_all(b"1")
    assert owner.store.look_up("journal_end") is None
    await owner.settle()
    assert owner.store.look_up("journal_end") == await owner.store.fetch("journal_end")


@pytest.mark.parametrize("settles", [True, False])
async def test_a_commit_of_who_logs_has_nothing_settled_before_it(owner: Owner, settles: bool) -> None:
    settling = Settling(owner)
    owner.log_all(b"1")
    await owner.store.commit([(INSERT, [(100,)])], fence=owner.lease.fence, settles=settles)
    assert settling.count == 0
    assert await owner.numbers() == ([0, 100] if settles else [0, 1, 100])


@pytest.mark.parametrize("use", USES)
async def test_tables_that_can_not_be_settled_hold_up_nobody(owner: Owner, tmp_path: Path, use: str) -> None:
    settling = Settling(owner, works=False)
    owner.log_all(b"1")
    async with asyncio.timeout(20):
        await USES[use](owner.store)
    assert settling.count
    assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == [b"1"]


async def test_nobody_is_held_up_where_nobody_settles(owner: Owner) -> None:
    owner.log_all(b"1")
    async with asyncio.timeout(20):
        for use in USES.values():
            await use(owner.store)
    assert await owner.numbers() == []


async def test_a_transaction_has_entries_settled_that_came_while_others_were(owner: Owner, tmp_path: Path) -> None:
    async def settle() -> None:
        await owner.settle()
        if more:
            owner.log_all(more.pop())

    more = [b"2"]
    owner.store.settle_by(settle)
    owner.log_all(b"1")
    async with owner.store.transaction():
        assert more == []
        assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == []


async def test_a_settling_commit_that_nobody_waits_for_any_more_settles_nothing_that_came_later(
    owner: Owner, tmp_path: Path
) -> None:
    may_go_on = asyncio.Event()
    loop = asyncio.get_running_loop()
    held = owner.store._writer.submit(lambda _: asyncio.run_coroutine_threadsafe(may_go_on.wait(), loop).result())
    given_up = asyncio.create_task(owner.settle(1))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    was_logged = owner.log(b"1")
    may_go_on.set()
    await held
    await owner.store._writer.submit(lambda _: None)
    left = await inherited_at(copied(owner.path, tmp_path / "left.db"))
    assert left == ([b"1"] if was_logged else [])


async def test_a_settling_commit_that_waits_for_another_settles_nothing_that_came_later(
    owner: Owner, tmp_path: Path
) -> None:
    async def settle_and_log() -> bool:
        await owner.settle(*range(10, 11 + FEW_ROWS))
        return owner.log(b"1")

    first = asyncio.create_task(settle_and_log())
    await asyncio.sleep(0)
    second = asyncio.create_task(owner.settle(1))
    was_logged = await first
    await second
    left = await inherited_at(copied(owner.path, tmp_path / "left.db"))
    assert left == ([b"1"] if was_logged else [])


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
async def test_a_write_that_fails_is_told_and_its_number_never_given_again(
    owner: Owner, tmp_path: Path, is_written: bool
) -> None:
    def fail(file: DurableFile, place: int, content: bytes) -> None:
        write(file, place, content)
        if not is_written:
            file_of(owner.path).write_bytes(before)
        raise OSError(5, "Input/output error")

    owner.log_all(b"1")
    write, before = DurableFile.write, file_of(owner.path).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DurableFile, "write", fail)
        with pytest.raises(DatabaseFailed, match=r"can't be written: .*Input/output error"):
            owner.log(b"2")
    assert not owner.log(b"3")
    left = await inherited_at(copied(owner.path, tmp_path / "left.db"))
    assert left == ([b"1", b"2"] if is_written else [b"1"])
    before_it, *failed = sorted(entries_in(file_of(owner.path)).values())
    assert len(failed) == is_written
    # Whatever is wrong with the file, the tables may take it from here on.
    await owner.settle()
    assert not owner.log(b"4")
    owner.lease.abandon()
    other = await Owner.of(owner.path)
    assert other.inherited == []
    await other.settle()
    other.log_all(b"5")
    last = max(entries_in(file_of(owner.path)).values())
    assert last.number > last.anchor > before_it.number + 1
    await other.close()
