"""Power loss on SQLite, a small share of it: what was told survives, and it is the syncs that make it so (INV-1)."""

from pathlib import Path
from random import Random

import apsw
import pytest

from proof import power_loss, sqlite_images, sqlite_writes


def test_inv_1_whatever_a_power_cut_leaves_has_all_that_was_told() -> None:
    """INV-1, INV-3: also when the power is cut while the next process recovers."""
    first = power_loss.make_load("test")
    assert not [found for image in range(6) for found in power_loss.check_image(first, image, finish=image == 0)]
    again = power_loss.make_load("test again", follows=(first, 6))
    assert not [found for image in range(6) for found in power_loss.check_image(again, image, finish=image == 0)]


def test_with_synchronous_normal_what_was_told_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proof can fail: without a sync per commit the same images lack what clients were told."""
    monkeypatch.chdir(tmp_path)
    counts = power_loss.prove(10, 0, synchronous="normal", finish=0)
    assert counts["bad images"] > 0
    printed = capsys.readouterr().out
    assert "it was accepted, and is not there" in printed
    # The command that was printed gives the same once more.
    again = next(line for line in printed.splitlines() if line.startswith("again: "))
    assert power_loss.main(again.split()[5:]) == 1


def test_a_record_has_all_that_sqlite_writes(tmp_path: Path) -> None:
    """Everything that happened, done to an empty disk, gives the very files."""
    database = tmp_path / "some.db"
    with sqlite_writes.recorded(database) as record:
        connection = apsw.Connection(str(database))
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE numbers (n)")
        connection.executemany("INSERT INTO numbers VALUES (?)", [(n,) for n in range(300)])
        disk = sqlite_images.Disk({})
        disk.advance(
            [
                *record.entries,
                sqlite_writes.Sync(None, record.place),
                *(sqlite_writes.Sync(file, record.place) for file in range(3)),
            ]
        )
        image = disk.image(Random(0))
        assert set(image) == {"some.db", "some.db-wal"}
        assert all(content == (tmp_path / name).read_bytes() for name, content in image.items())
        connection.close()


def test_an_image_keeps_what_was_synced_and_loses_some_of_the_rest() -> None:
    """Sector by sector, whole or torn."""
    sector = sqlite_images.SECTOR
    old, new = b"o" * (4 * sector), b"n" * (4 * sector)
    seen = set()
    for seed in range(200):
        disk = sqlite_images.Disk({})
        disk.advance(
            [
                sqlite_writes.Create("file", 0),
                sqlite_writes.Write(0, 0, old),
                sqlite_writes.Sync(0, 2),
                sqlite_writes.Sync(None, 2),
                sqlite_writes.Write(0, sector, new),
            ]
        )
        content = disk.image(Random(seed))["file"]
        assert content[:sector] == old[:sector]
        assert len(content) >= len(old)
        seen.add(content)
    assert old in seen
    assert old[:sector] + new in seen
    assert len(seen) > 40
