"""The files of SQLite's journal: only what belongs to a database is taken from them, and only what is whole."""

import os
import shutil
import stat
from pathlib import Path

import apsw
import pytest

from support.journals import INSERT, Owner, copied, entries_in, file_of, inherited_at, opened_at
from wonder.storage.errors import JournalDamaged, WriteRefused
from wonder.storage.sqlite import damage as sqlite_damage
from wonder.storage.sqlite import durable_file
from wonder.storage.sqlite import entries as sqlite_entries
from wonder.storage.sqlite.durable_file import shut
from wonder.storage.sqlite.entries import (
    ENTRY_BYTES,
    SLOT_BYTES,
    SLOTS,
    entry_of,
    files_of,
    page_of,
    path_for,
    slots_for,
)


def test_an_entry_is_read_as_it_was_written() -> None:
    for body in (b"", b"x", os.urandom(ENTRY_BYTES)):
        page = page_of(7, 5, body)
        assert (slots_for(len(body)) - 1) * SLOT_BYTES < len(page) <= slots_for(len(body)) * SLOT_BYTES
        assert entry_of(page) == entry_of(page + b"what was there before") == (7, 5, body)
        assert entry_of(b"before" + page, len(b"before")) == (7, 5, body)
        assert entry_of(b"before" + page) is None
    assert slots_for(ENTRY_BYTES) == SLOTS


def test_a_part_of_an_entry_is_none() -> None:
    page = page_of(7, 5, b"body" * 100)
    for cut in range(len(page)):
        assert entry_of(page[:cut]) is None
        assert entry_of(page[:cut] + bytes(SLOT_BYTES - cut)) is None
        changed = page[:cut] + bytes([page[cut] ^ 1]) + page[cut + 1 :]
        assert entry_of(changed) is None


def test_only_files_with_a_number_are_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    for name in ("app.db-facts-7", "app.db-facts-12", "app.db-facts-", "app.db-facts-7x", "xapp.db-facts-7"):
        (tmp_path / name).touch()
    assert {file.name for file in files_of(path)} == {"app.db-facts-7", "app.db-facts-12"}
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert set(files_of(link)) == set(files_of(path))
    assert path_for(link, 7) == tmp_path / "app.db-facts-7"


async def test_the_last_entry_is_not_there_if_it_was_torn(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1", b"2" * (3 * SLOT_BYTES))
    left = copied(owner.path, tmp_path / "left.db")
    (second,) = [at for at, entry in entries_in(file_of(left)).items() if entry.body.startswith(b"2")]
    with file_of(left).open("r+b") as file:
        file.seek(second + 2 * SLOT_BYTES - 1)
        file.write(b"torn")
    assert await inherited_at(left) == [b"1"]


async def test_what_an_entry_holds_is_never_taken_for_an_entry(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1")
    (first,) = entries_in(file_of(owner.path)).values()
    before = b"x" * (SLOT_BYTES - len(page_of(0, 0, b"")))
    body = before + page_of(first.number + 2, first.anchor, b"inside")
    owner.log_all(body)
    assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == [b"1", body]


async def test_a_journal_of_another_database_is_left_alone(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1")
    path = tmp_path / "other.db"
    await (await opened_at(path)).close()
    shutil.copy(file_of(owner.path), path_for(path, 1))
    other = await Owner.of(path)
    assert other.inherited == []
    await other.settle()
    assert files_of(path) == []
    await other.close()


async def test_of_a_journal_beside_an_older_copy_only_what_follows_upon_that_is_taken(
    owner: Owner, tmp_path: Path
) -> None:
    owner.log_all(b"1")
    older = copied(owner.path, tmp_path / "older.db", with_journal=False)
    owner.log_all(b"2")
    journal = path_for(older, owner.lease.epoch)
    shutil.copy(file_of(owner.path), journal)
    assert await inherited_at(older) == [b"1", b"2"]
    await owner.settle(1)
    owner.log_all(b"3")
    shutil.copy(file_of(owner.path), journal)
    assert {entry.body for entry in entries_in(journal).values()} == {b"2", b"3"}
    with pytest.raises(JournalDamaged, match="the tables are older than the journal"):
        await inherited_at(older)


async def test_tables_that_a_transaction_has_changed_are_no_ground_for_entries(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1")
    older = copied(owner.path, tmp_path / "older.db", with_journal=False)
    async with owner.store.transaction() as transaction:
        await transaction.run("DELETE FROM things")
    assert not owner.log(b"2")
    await owner.settle()
    owner.log_all(b"3")
    shutil.copy(file_of(owner.path), path_for(older, owner.lease.epoch))
    with pytest.raises(JournalDamaged, match="the tables are older than the journal"):
        await inherited_at(older)


async def test_closing_leaves_a_file_only_where_something_is_not_settled(owner: Owner) -> None:
    owner.log_all(b"1")
    await owner.close()
    assert file_of(owner.path).name == f"{owner.path.name}-facts-{owner.lease.epoch}"
    other = await Owner.of(owner.path)
    assert other.inherited == [b"1"]
    await other.settle()
    other.log_all(b"2")
    await other.settle()
    assert files_of(owner.path)
    await other.close()
    assert files_of(owner.path) == []


async def test_a_file_that_is_removed_by_its_owner_just_now_keeps_nobody_from_the_lease(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.log_all(b"1")
    await owner.settle()
    owner.lease.abandon()

    def shut_late(path: Path, at: int, last: int | None = None) -> None:
        path.unlink(missing_ok=True)
        shut(path, at, last)

    reads: list[Path] = []

    def read_while_it_closes(path: Path) -> dict[Path, bytes]:
        reads.append(path)
        if len(reads) == 1:
            # What the owner says before it removes the file.
            connection = apsw.Connection(str(path))
            connection.execute("UPDATE journal SET in_use = 0, file_epoch = NULL, last_number = NULL, last_slot = NULL")
            connection.close()
        return sqlite_entries.read_files(path)

    monkeypatch.setattr(sqlite_entries, "shut", shut_late)
    monkeypatch.setattr(sqlite_damage, "read_files", read_while_it_closes)
    assert await inherited_at(owner.path) == []
    assert len(reads) == 2


async def test_entries_of_the_table_that_was_there_before_are_brought_to_the_tables(owner: Owner) -> None:
    sql = INSERT.replace("$1", "?1").encode()
    body = b"\x91\x92\xd9" + bytes([len(sql)]) + sql + b"\x92\x91\x07\x91\x09"
    async with owner.store.transaction() as transaction:
        ((end,),) = await transaction.fetch("journal_end")
        assert isinstance(end, int)
        await transaction.run(
            "INSERT INTO journal (slot, number, length, body) VALUES ($1, $2, $3, $4)",
            [(1, end + 1, len(body), body + b"\0" * 9), (2, end - 1, 4, b"done")],
        )
    await owner.close()
    for _ in range(2):
        other = await Owner.of(owner.path)
        assert await other.numbers() == [0, 7, 9]
        assert other.inherited == []
        await other.settle()
        await other.close()


async def test_where_there_can_be_no_file_nothing_is_logged_and_all_else_goes_on(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable_file, "_create", refuse)
    for number in (1, 2):
        assert not owner.log(b"1")
        await owner.settle(number)
    assert caplog.text.count("No space left on device") == 1
    assert await owner.numbers() == [0, 1, 2]


async def test_of_a_file_that_there_is_no_room_for_nothing_stays(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:5_000]))
    assert not owner.log(b"1")
    assert files_of(owner.path) == []


async def test_who_may_read_the_database_may_read_its_journal_and_nobody_else(owner: Owner) -> None:
    owner.log_all(b"1")
    assert stat.S_IMODE(file_of(owner.path).stat().st_mode) == 0o600


async def test_a_link_in_the_place_of_a_journal_or_lock_is_not_written_through(tmp_path: Path) -> None:
    """Whoever can make names in a database's folder must not have other files of its user changed."""
    victim, path = tmp_path / "victim", tmp_path / "app.db"
    content = b"v" * (SLOTS + 2) * SLOT_BYTES
    victim.write_bytes(content)
    path_for(path, 7).symlink_to(victim)
    os.mkfifo(path_for(path, 8))
    assert await inherited_at(path) == []
    assert victim.read_bytes() == content
    lock = path.with_name("app.db.lock")
    for put in (lambda: lock.symlink_to(victim), lambda: os.mkfifo(lock)):
        lock.unlink()
        put()
        with pytest.raises(WriteRefused, match=r"app\.db\.lock"):
            await inherited_at(path)
    assert victim.read_bytes() == content
