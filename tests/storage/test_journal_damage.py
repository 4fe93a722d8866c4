"""Damage of the journal is noticed, so that nothing acknowledged is left out silently; a crash is no damage."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from support.journals import Owner, copied, entries_in, file_of, inherited_at, opened_at
from wonder.storage.check import check_database
from wonder.storage.errors import JournalDamaged
from wonder.storage.sqlite.damage import FILE_BYTES
from wonder.storage.sqlite.entries import SLOT_BYTES, files_of, path_for


def flip(file: Path, at: int) -> None:
    """Change one byte of a file."""
    with file.open("r+b") as opened:
        opened.seek(at)
        (byte,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([byte ^ 0x55]))


def place_of(file: Path, body: bytes) -> int:
    (place,) = [at for at, entry in entries_in(file).items() if entry.body.startswith(body)]
    return place


async def crashed(owner: Owner, tmp_path: Path) -> Path:
    """Leave three entries that were settled, and three that were not, the first of these in a slot used before."""
    owner.log_all(b"old 1", b"old 2", b"old 3" * SLOT_BYTES)
    await owner.settle(1)
    owner.log_all(b"new 1", b"new 2", b"new 3")
    return copied(owner.path, tmp_path / "left.db")


def _delete(path: Path) -> None:
    file_of(path).unlink()


def _empty(path: Path) -> None:
    os.truncate(file_of(path), 0)


def _truncate(path: Path) -> None:
    os.truncate(file_of(path), FILE_BYTES - 1)


def _lengthen(path: Path) -> None:
    with file_of(path).open("ab") as file:
        file.write(b"more")


def _zero(path: Path) -> None:
    file_of(path).write_bytes(bytes(FILE_BYTES))


def _rename(path: Path) -> None:
    file_of(path).rename(path_for(path, 999))


def _flip_first(path: Path) -> None:
    flip(file_of(path), place_of(file_of(path), b"new 1") + 30)


def _flip_number(path: Path) -> None:
    flip(file_of(path), place_of(file_of(path), b"new 2") + 8)


def _flip_length(path: Path) -> None:
    flip(file_of(path), place_of(file_of(path), b"new 2") + 24)


def _flip_name(path: Path) -> None:
    flip(file_of(path), FILE_BYTES - SLOT_BYTES + 64 + 5)


def _zero_slot(path: Path) -> None:
    content = bytearray(file_of(path).read_bytes())
    content[SLOT_BYTES : 2 * SLOT_BYTES] = bytes(SLOT_BYTES)
    file_of(path).write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_delete, "is missing, which had entries"),
        (_empty, "has 0 bytes instead of"),
        (_truncate, "bytes instead of"),
        (_lengthen, "bytes instead of"),
        (_zero, "is not the file that this database was used with"),
        (_rename, "is missing, which had entries"),
        (_flip_first, "of 3 entries 1 are missing or damaged"),
        (_flip_number, "of 3 entries 1 are missing or damaged"),
        (_flip_length, "of 3 entries 1 are missing or damaged"),
        (_flip_name, "is not the file that this database was used with"),
        (_zero_slot, "of 3 entries 1 are missing or damaged"),
    ],
)
async def test_inv_2_damage_stops_the_engine_until_the_loss_is_accepted(
    owner: Owner, tmp_path: Path, damage: Callable[[Path], None], told: str
) -> None:
    left = await crashed(owner, tmp_path)
    damage(left)
    before = {file: file.read_bytes()[: FILE_BYTES - SLOT_BYTES] for file in files_of(left)}
    for _ in range(2):
        with pytest.raises(JournalDamaged, match=told) as raised:
            await inherited_at(left)
        assert "wonder db repair --accept-loss" in str(raised.value)
    store = await opened_at(left)
    assert [one.code for one in await check_database(store)] == ["JOURNAL_DAMAGED"]
    found = await store.journal_left()
    assert {file: file.read_bytes()[: FILE_BYTES - SLOT_BYTES] for file in files_of(left)} == before
    await store.accept_loss(found.highest)
    assert await check_database(store) == []
    await store.close()
    # What is left is taken, also behind a gap; it is given until a commit settles it, and then all is as ever.
    expected = [entry.body for entry in found.entries]
    assert await inherited_at(left) == expected
    other = await Owner.of(left)
    assert other.inherited == expected
    await other.settle(2)
    other.log_all(b"after")
    assert await inherited_at(copied(left, tmp_path / "again.db")) == [b"after"]
    await other.close()


async def test_inv_2_any_byte_that_changes_is_noticed_or_is_of_nothing_that_counts(
    owner: Owner, tmp_path: Path
) -> None:
    """All but the last entry: its damage can't be told from a write that a crash has torn."""
    left = await crashed(owner, tmp_path)
    file, whole = file_of(left), file_of(left).read_bytes()
    random, noticed = Random(16), 0
    entries = {entry.body: at for at, entry in entries_in(file).items()}
    of_entries = [
        at + random.randrange(33) for body, at in entries.items() for _ in range(6) if body.startswith(b"new")
    ]
    of_end = [FILE_BYTES - SLOT_BYTES + random.randrange(90) for _ in range(20)]
    for at in [*of_entries, *of_end, *(random.randrange(FILE_BYTES) for _ in range(10))]:
        file.write_bytes(whole)
        flip(file, at)
        try:
            inherited = await inherited_at(left)
        except JournalDamaged:
            noticed += 1
        else:
            is_of_last = entries[b"new 3"] <= at < entries[b"new 3"] + 33
            assert inherited == [b"new 1", b"new 2", *([] if is_of_last else [b"new 3"])], at
    assert noticed >= 12
    file.write_bytes(whole)
    assert await inherited_at(left) == [b"new 1", b"new 2", b"new 3"]


async def test_inv_2_a_file_that_is_missing_is_noticed_from_its_first_entry_on(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1")
    left = copied(owner.path, tmp_path / "left.db", with_journal=False)
    with pytest.raises(JournalDamaged, match="is missing, which had entries"):
        await inherited_at(left)


async def test_inv_2_an_older_copy_of_the_file_is_noticed(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1", b"2")
    older = file_of(owner.path).read_bytes()
    await owner.settle(1)
    owner.log_all(b"3", b"4")
    await owner.settle(2)
    owner.log_all(b"5")
    left = copied(owner.path, tmp_path / "left.db")
    assert await inherited_at(left) == [b"5"]
    file_of(left).write_bytes(older)
    with pytest.raises(JournalDamaged, match="is older than the database"):
        await inherited_at(left)


async def test_inv_2_a_file_of_another_database_is_noticed_in_the_place_of_ours(owner: Owner, tmp_path: Path) -> None:
    left = await crashed(owner, tmp_path)
    another = await Owner.of(tmp_path / "another.db")
    await another.settle()
    another.log_all(b"theirs")
    shutil.copy(file_of(another.path), file_of(left))
    await another.close()
    with pytest.raises(JournalDamaged, match="is not the file that this database was used with"):
        await inherited_at(left)


@pytest.mark.parametrize("logs", [True, False])
async def test_inv_2_a_database_in_use_that_was_copied_without_its_companions_is_noticed(
    owner: Owner, tmp_path: Path, logs: bool
) -> None:
    """Its file alone says so: it is written back when an engine begins to write."""
    async with owner.store.transaction() as transaction:
        await transaction.run("DELETE FROM things")
    await owner.settle(1)
    if logs:
        owner.log_all(b"1")
    await owner.store._checkpoints.close()
    copy = tmp_path / "copy.db"
    shutil.copy(owner.path, copy)
    told = "is missing, which had entries" if logs and _says_file(copy) else "was copied without its companions"
    for _ in range(2):
        with pytest.raises(JournalDamaged, match=told):
            await inherited_at(copy)


def _says_file(path: Path) -> bool:
    connection = apsw.Connection(str(path))
    ((epoch,),) = connection.execute("SELECT file_epoch FROM journal WHERE slot = 0").fetchall()
    connection.close()
    return epoch is not None


async def test_a_database_that_was_closed_in_order_needs_no_companions(owner: Owner, tmp_path: Path) -> None:
    owner.log_all(b"1")
    await owner.settle(1)
    await owner.close()
    assert files_of(owner.path) == []
    copy = tmp_path / "copy.db"
    shutil.copy(owner.path, copy)
    other = await Owner.of(copy)
    assert (other.inherited, await other.numbers()) == ([], [0, 1])
    await other.close()


async def test_a_database_that_the_next_engine_closed_in_order_needs_no_companions(
    owner: Owner, tmp_path: Path
) -> None:
    """Also where that has written nothing."""
    owner.log_all(b"1")
    await owner.settle(1)
    left = copied(owner.path, tmp_path / "left.db")
    assert files_of(left)
    await (await Owner.of(left)).close()
    assert files_of(left) == []
    copy = tmp_path / "copy.db"
    shutil.copy(left, copy)
    assert await inherited_at(copy) == []


async def test_inv_2_who_closes_late_removes_no_file_of_the_next_owner(owner: Owner, tmp_path: Path) -> None:
    """The lease is given back before the database is closed."""
    owner.log_all(b"1")
    await owner.settle(1)
    owner.lease.abandon()
    other = await Owner.of(owner.path)
    await other.settle(2)
    other.log_all(b"2")
    await owner.store.close()
    assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == [b"2"]
    await other.close()


async def test_a_crash_at_any_moment_is_not_taken_for_damage(owner: Owner, tmp_path: Path) -> None:
    """Whatever is in slots that are used again, and however far the last write came."""
    random = Random(9)
    for turn in range(6):
        bodies = [random.randbytes(random.choice([10, 3_000, 9_000])) for _ in range(random.randint(1, 4))]
        for count, body in enumerate(bodies):
            before = file_of(owner.path).read_bytes() if files_of(owner.path) else b""
            owner.log_all(body)
            left = copied(owner.path, tmp_path / "left.db")
            assert await inherited_at(left) == bodies[: count + 1]
            left = copied(owner.path, tmp_path / "left.db")
            after = file_of(left).read_bytes()
            if before:
                # Of the last write some blocks of the disk came, in any order, and of one of them a part.
                torn = bytearray(after)
                for at in range(0, len(torn) - SLOT_BYTES, 512):
                    if after[at : at + 512] != before[at : at + 512] and random.random() < 0.5:
                        torn[at : at + 512] = before[at : at + 512]
                file_of(left).write_bytes(torn)
                # What differs may all be behind the end of the entry.
                assert await inherited_at(left) in (bodies[:count], bodies[: count + 1])
        await owner.settle(100 + turn)
        assert await inherited_at(copied(owner.path, tmp_path / "left.db")) == []
