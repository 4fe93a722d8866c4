"""The databases that are measured, each as durable as Wonder promises, and c: what one durable commit costs there."""

import importlib
import shutil
import statistics
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import apsw

from wonder.storage.sqlite.connection import connect
from wonder.storage.url import SqliteAddress, parse_url

# The tests know how to start a real PostgreSQL; theirs is not durable, ours is.
sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

_ROW = "x" * 100
_WAL_PAGES = 1_000


class CommitCost(Protocol):
    """Measures c: a transaction with one insertion of 100 bytes, durable."""

    async def sample(self, count: int = 25) -> None:
        """Make some commits beside the work that is measured."""

    def take(self) -> float:
        """Give the median of the samples in seconds, and begin anew."""

    async def close(self) -> None:
        """Let go of the database."""


class Database(ABC):
    """A database server, or a folder for files: gives new empty databases."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def new_url(self) -> str:
        """Make a place for a database of its own."""

    @abstractmethod
    async def commit_cost(self) -> CommitCost:
        """Begin to measure c, on the same disk and with the same settings."""

    @abstractmethod
    async def durability(self) -> str:
        """Read back what makes commits durable."""


class SqliteFolder(Database):
    """A folder for SQLite files."""

    def __init__(self, folder: Path) -> None:
        super().__init__("SQLite")
        self._folder, self._count = folder, 0

    def new_url(self) -> str:
        self._count += 1
        return f"sqlite:///{self._folder}/bench-{self._count}.db"

    async def commit_cost(self) -> "SqliteCommits":
        return SqliteCommits(_open(f"sqlite:///{self._folder}/commits.db"))

    async def durability(self) -> str:
        connection = _open(f"sqlite:///{self._folder}/commits.db")
        found = f"SQLite {apsw.sqlite_lib_version()}, journal_mode={connection.pragma('journal_mode')}"
        found += f", synchronous={connection.pragma('synchronous')}"
        connection.close()
        return found


class SqliteCommits:
    """c on SQLite: BEGIN IMMEDIATE, one insertion, COMMIT, with a write-ahead log that was recycled once."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection, self._seconds = connection, []  # type: tuple[apsw.Connection, list[float]]
        connection.execute("CREATE TABLE IF NOT EXISTS filler (text TEXT)")
        connection.execute("CREATE TABLE IF NOT EXISTS commits (text TEXT)")
        # A log that grows costs twice as much as one that is written over.
        with connection:
            connection.executemany("INSERT INTO filler VALUES (?)", [(_ROW * 40,)] * _WAL_PAGES)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)

    async def sample(self, count: int = 25) -> None:
        connection = self._connection
        for _ in range(count):
            began = perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO commits VALUES (?)", (_ROW,))
            connection.execute("COMMIT")
            self._seconds.append(perf_counter() - began)

    def take(self) -> float:
        found, self._seconds = statistics.median(self._seconds), []
        return found

    async def close(self) -> None:
        self._connection.close()


class PostgresDatabases(Database):
    """Databases on a PostgreSQL server of our own."""

    def __init__(self, server: Any) -> None:
        super().__init__("PostgreSQL")
        self._server = server

    def new_url(self) -> str:
        return str(self._server.url(self._server.create_database()))

    async def commit_cost(self) -> "PostgresCommits":
        asyncpg: Any = importlib.import_module("asyncpg")
        connection = await asyncpg.connect(self.new_url())
        await connection.execute("CREATE TABLE commits (text TEXT)")
        return PostgresCommits(connection)

    async def durability(self) -> str:
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        found = {name: self._server.run(f"SHOW {name}") for name in names}
        return f"PostgreSQL {found.pop('server_version')}, " + ", ".join(f"{n}={v}" for n, v in found.items())


class PostgresCommits:
    """c on PostgreSQL: BEGIN, one insertion, COMMIT, over the same socket."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._seconds: list[float] = []

    async def sample(self, count: int = 25) -> None:
        for _ in range(count):
            began = perf_counter()
            async with self._connection.transaction():
                await self._connection.execute("INSERT INTO commits VALUES ($1)", _ROW)
            self._seconds.append(perf_counter() - began)

    def take(self) -> float:
        found, self._seconds = statistics.median(self._seconds), []
        return found

    async def close(self) -> None:
        await self._connection.close()


@contextmanager
def sqlite_folder() -> Iterator[SqliteFolder]:
    """Give a folder for SQLite files, on the disk where temporary files are."""
    folder = Path(tempfile.mkdtemp(prefix="wonder-bench-"))
    try:
        yield SqliteFolder(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_databases() -> Iterator[PostgresDatabases]:
    """Start a PostgreSQL server that keeps its promises."""
    support: Any = importlib.import_module("support.postgres")
    support.SETTINGS |= {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    server = support.start_postgres()
    try:
        yield PostgresDatabases(server)
    finally:
        server.stop()


def _open(url: str) -> apsw.Connection:
    address = parse_url(url)
    assert isinstance(address, SqliteAddress)
    return connect(address, busy_seconds=5)
