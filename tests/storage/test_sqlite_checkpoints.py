"""The write-ahead log of SQLite is written back to the file beside the commits, and begins anew."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.journals import CREATE, INSERT, NUMBERS, opened_at
from wonder.storage.errors import DatabaseBusy
from wonder.storage.sqlite import checkpoints as sqlite_checkpoints
from wonder.storage.sqlite.checkpoints import Checkpoints
from wonder.storage.sqlite.store import SqliteStore

PAGE = 4_096


class Written:
    """A database, and which threads have written its log back."""

    def __init__(self, store: SqliteStore, path: Path) -> None:
        self.store, self.path = store, path
        self.threads: list[str] = []
        self.count = 0

    async def commit(self, rows: int = 10) -> None:
        """Commit some rows."""
        first, self.count = self.count, self.count + rows
        await self.store.commit([(INSERT, [(number,) for number in range(first, self.count)])])

    async def settled(self) -> None:
        """Wait until nothing is written back any more."""
        async with asyncio.timeout(20):
            while self.store._checkpoints.is_under_way:  # noqa: ASYNC110 - a thread tells nobody
                await asyncio.sleep(0.001)

    def in_file(self) -> int:
        """Count the rows that the file itself has, without its log."""
        copy = self.path.with_name("copy.db")
        copy.write_bytes(self.path.read_bytes())
        connection = apsw.Connection(str(copy))
        try:
            return len(connection.execute(NUMBERS).fetchall())
        finally:
            connection.close()


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
async def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Written]:
    """A database whose log is long when it has ten pages."""
    monkeypatch.setattr(sqlite_checkpoints, "DUE_PAGES", 10)
    store = await opened_at(tmp_path / "app.db")
    it = Written(store, tmp_path / "app.db")
    real = sqlite_checkpoints.write_back

    def write_back(connection: apsw.Connection) -> None:
        it.threads.append(threading.current_thread().name)
        real(connection)

    monkeypatch.setattr(sqlite_checkpoints, "write_back", write_back)
    async with store.transaction() as transaction:
        await transaction.run(CREATE)
    # What came while the log of the tables was written back goes with the next one.
    for _ in range(2):
        await it.settled()
        await it.commit()
    it.threads.clear()
    yield it
    await store.close()


async def test_a_log_that_has_become_long_is_written_back_by_another_thread_and_begins_anew(written: Written) -> None:
    for _ in range(50):
        await written.commit()
        await written.settled()
    assert set(written.threads) == {"wonder-checkpointer"}
    assert 4 <= len(written.threads) <= 30
    assert written.in_file() > 0
    # It was as long as that when the tables were made, and has not become longer.
    assert written.path.with_name("app.db-wal").stat().st_size < 400 * PAGE
    assert len(await written.store.query(NUMBERS)) == written.count


async def test_what_could_not_be_written_back_is_by_a_later_commit_so_that_the_log_begins_anew(
    written: Written,
) -> None:
    """As what is committed meanwhile; here a reader needs it for a while."""
    checkpoints, reader = written.store._checkpoints, apsw.Connection(str(written.path))
    reader.execute("BEGIN")
    reader.execute(NUMBERS).fetchall()
    while "wonder-checkpointer" not in written.threads:
        await written.commit()
        await written.settled()
    assert written.in_file() < written.count
    reader.close()
    written.threads.clear()
    await written.commit()
    assert len(written.threads) == 1
    assert "wonder-checkpointer" not in written.threads
    assert written.in_file() == written.count
    await written.commit()
    assert checkpoints._pages < 10


async def test_the_log_is_written_back_as_far_as_no_reader_needs_it(written: Written) -> None:
    """A reader that looks at an old state for long keeps nobody from committing, and the rest is written back later."""
    reader = apsw.Connection(str(written.path))
    reader.execute("BEGIN")
    seen = reader.execute(NUMBERS).fetchall()
    async with asyncio.timeout(20):
        for _ in range(30):
            await written.commit()
    assert reader.execute(NUMBERS).fetchall() == seen
    reader.close()
    await written.settled()
    for _ in range(6):
        await written.commit()
        await written.settled()
    assert written.in_file() >= 300


def refused() -> apsw.Connection:
    """Have no connection to give."""
    raise DatabaseBusy("it is in use")


def out_of_memory() -> apsw.Connection:
    """Have no memory for a connection."""
    raise MemoryError


def broken() -> Any:
    """Give a connection on which nothing can be written back."""

    class Broken:
        def wal_checkpoint(self, **_options: object) -> None:
            raise apsw.IOError("the disk")

        def close(self) -> None:
            """There is nothing to close."""

    return Broken()


@pytest.mark.parametrize("connect", [refused, out_of_memory, broken])
async def test_a_log_that_can_not_be_written_back_fails_no_commit(
    written: Written, caplog: pytest.LogCaptureFixture, connect: Callable[[], apsw.Connection]
) -> None:
    caplog.set_level(logging.DEBUG, "wonder.storage")
    checkpoints = Checkpoints(connect)
    await written.store._writer.submit(checkpoints.watch)
    for _ in range(40):
        await written.commit()
        while checkpoints.is_under_way:  # noqa: ASYNC110 - a thread tells nobody
            await asyncio.sleep(0.001)
    await checkpoints.close()
    assert caplog.text.count("can't be written back now") > 1
    assert len(await written.store.query(NUMBERS)) == written.count


async def test_a_store_that_is_closed_leaves_no_log_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_checkpoints, "DUE_PAGES", 1)
    store = await opened_at(tmp_path / "app.db")
    async with store.transaction() as transaction:
        await transaction.run(CREATE)
    await store.commit([(INSERT, [(number,) for number in range(5_000)])])
    await store.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "wonder-checkpointer"]
    assert files_in(tmp_path) == ["app.db"]


async def test_where_no_thread_can_be_started_the_commit_writes_back_itself(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    checkpoints = Checkpoints(refused)
    await written.store._writer.submit(checkpoints.watch)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(15):
            await written.commit()
    assert written.threads
    assert "wonder-checkpointer" not in written.threads
    assert not checkpoints.is_under_way
    await checkpoints.close()
    assert len(await written.store.query(NUMBERS)) == written.count


async def test_who_commits_while_a_store_is_closed_begins_nothing(written: Written) -> None:
    await written.store._checkpoints.close()
    for _ in range(15):
        await written.commit()
    assert written.threads == []
    assert len(await written.store.query(NUMBERS)) == written.count


async def test_a_log_that_a_reader_keeps_long_is_not_written_back_after_each_commit(written: Written) -> None:
    """Each time the disk is synced, beside commits that wait for it too."""
    reader = apsw.Connection(str(written.path))
    reader.execute("BEGIN")
    reader.execute(NUMBERS).fetchall()
    for _ in range(100):
        await written.commit(1)
        await written.settled()
    reader.close()
    assert 4 < len(written.threads) <= 6 * 100 // 10
