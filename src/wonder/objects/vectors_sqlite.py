"""Vectors in a file of their own, beside an SQLite database, searched one by one with sqlite-vec."""

import asyncio
import json
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import apsw

from wonder.objects.vectors import Embedded, Near, VectorsUnavailable, queries

_BUSY_MS: Final = 30_000
# How many entries a collection's range of numbers has room for.
_RANGE: Final = 1 << 40
_CACHE_KIB: Final = 32_768
_SUFFIXES: Final = ("", "-wal", "-shm")

Result = TypeVar("Result")


class SqliteVectors:
    """The vectors in a file, which is made when they are first used; one thread reads and writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sql = queries("vectors_sqlite.sql")
        self._thread: ThreadPoolExecutor | None = None
        self._connection: apsw.Connection | None = None

    async def digests(self, collection: str, artifact_ids: Sequence[str]) -> dict[str, str]:
        """Give the digests of those of the artifacts that the collection has."""

        def read(connection: apsw.Connection) -> dict[str, str]:
            number = self._number(connection, collection)
            rows = connection.execute(self._sql["digests"], (number, json.dumps(list(artifact_ids))))
            return {str(artifact_id): str(digest) for artifact_id, digest in rows}

        return await self._run(read)

    async def put(self, collection: str, embedded: Sequence[Embedded]) -> None:
        """Write vectors, over those that the same artifacts had."""

        def write(connection: apsw.Connection) -> None:
            with connection:
                number = self._number(connection, collection)
                if number is None:
                    number = _only(connection, self._sql["add_collection"], (collection,))
                begin, end = _range(number)
                for artifact_id, digest, vector in embedded:
                    values = (number, begin, end, artifact_id, digest)
                    entry = _only(connection, self._sql["put_entry"], values)
                    if vector is None:
                        connection.execute(self._sql["remove_vector"], (entry,))
                    else:
                        connection.execute(self._sql["put_vector"], (entry, vector.tobytes()))

        await self._run(write)

    async def remove(self, collection: str, artifact_ids: Sequence[str]) -> None:
        """Take artifacts out of a collection."""

        def write(connection: apsw.Connection) -> None:
            with connection:
                number = self._number(connection, collection)
                for artifact_id in artifact_ids:
                    for entry in list(connection.execute(self._sql["remove_entry"], (number, artifact_id))):
                        connection.execute(self._sql["remove_vector"], entry)

        await self._run(write)

    async def nearest(self, collection: str, vector: "array[float]", count: int) -> list[Near]:
        """Give the nearest artifacts, the nearest first."""

        def read(connection: apsw.Connection) -> list[Near]:
            number = self._number(connection, collection)
            if number is None:
                return []
            rows = connection.execute(self._sql["nearest"], (*_range(number), vector.tobytes(), count))
            return [Near(str(artifact_id), float(str(score))) for artifact_id, score in rows]

        return await self._run(read)

    async def keep_only(self, collections: Collection[str]) -> None:
        """Remove all other collections."""

        def write(connection: apsw.Connection) -> None:
            with connection:
                kept = json.dumps(sorted(collections))
                for (number,) in list(connection.execute(self._sql["unwanted_collections"], (kept,))):
                    assert isinstance(number, int)
                    connection.execute(self._sql["remove_entries"], (number,))
                    connection.execute(self._sql["remove_vectors"], _range(number))
                    connection.execute(self._sql["remove_collection"], (number,))

        # What was never made has nothing to remove, and need not be made for that.
        if self._connection is not None or self._path.exists():
            await self._run(write)

    async def close(self) -> None:
        """Let what is under way end, and close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.wrap_future(thread.submit(self._disconnect))
            thread.shutdown(wait=False)

    async def _run(self, work: Callable[[apsw.Connection], Result]) -> Result:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "wonder-vectors")

        def job() -> Result:
            with self._translated():
                return work(self._connected())

        return await asyncio.wrap_future(self._thread.submit(job))

    def _number(self, connection: apsw.Connection, collection: str) -> int | None:
        found = connection.execute(self._sql["collection"], (collection,)).fetchone()
        return None if found is None else int(str(found[0]))

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            try:
                self._connection = self._connect()
            except (apsw.NotADBError, apsw.CorruptError):
                # Nothing is lost with it: all of it is made again from the artifacts.
                for suffix in _SUFFIXES:
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                self._connection = self._connect()
        return self._connection

    def _connect(self) -> apsw.Connection:
        try:
            import sqlite_vec  # type: ignore[import-untyped]  # an extra, and without types
        except ImportError as error:
            reason = "sqlite-vec is missing; install it with: pip install 'wonder-workflows[vectors]'"
            raise VectorsUnavailable(str(self._path), reason, passing=False) from error
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(_BUSY_MS)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
            connection.pragma("journal_mode", "wal")
            # Of 10,000 vectors with 384 dimensions all are kept in memory, which halves the time of a search.
            connection.pragma("cache_size", -_CACHE_KIB)
            # What a power cut takes of derived data is made again.
            connection.pragma("synchronous", "normal")
            connection.execute(self._sql["make"])
        except BaseException:
            connection.close()
            raise
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self._disconnect()
            reason = f"{error}; remove the file, and it is made again from the artifacts"
            raise VectorsUnavailable(str(self._path), reason, passing=False) from error
        except apsw.Error as error:
            passing = isinstance(error, apsw.BusyError | apsw.LockedError | apsw.FullError | apsw.IOError)
            raise VectorsUnavailable(str(self._path), str(error), passing=passing) from error


def _only(connection: apsw.Connection, sql: str, values: tuple[int | str, ...]) -> int:
    """Run a statement that gives one number, to its end."""
    ((number,),) = list(connection.execute(sql, values))
    assert isinstance(number, int)
    return number


def _range(number: int) -> tuple[int, int]:
    return number * _RANGE, (number + 1) * _RANGE
