"""Vectors in the same PostgreSQL as all the rest, with pgvector."""

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, Protocol

from wonder.errors import WonderError
from wonder.objects.vectors import Embedded, Near, VectorsUnavailable, queries

# What of a database's errors goes away by itself.
_PASSING: Final = frozenset({"CONNECTION_LOST", "DATABASE_BUSY", "DATABASE_FAILED", "DISK_FULL"})


class Database(Protocol):
    """What is needed of the database: it runs SQL, and raises a WonderError for what a user can act on."""

    @property
    def address(self) -> str:
        """Say where it is."""

    async def query(self, sql: str, *parameters: Any) -> Sequence[Sequence[Any]]:
        """Run SQL that reads."""

    async def commit(self, batch: Iterable[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        """Write in one transaction."""

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Open a transaction."""


class PostgresVectors:
    """The vectors in a table, which is made when they are first used."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("vectors_postgres.sql")
        self._is_made = False

    async def digests(self, collection: str, artifact_ids: Sequence[str]) -> dict[str, str]:
        """Give the digests of those of the artifacts that the collection has."""
        rows = await self._read("digests", collection, json.dumps(list(artifact_ids)))
        return {str(artifact_id): str(digest) for artifact_id, digest in rows}

    async def put(self, collection: str, embedded: Sequence[Embedded]) -> None:
        """Write vectors, over those that the same artifacts had."""
        rows = [(collection, one.artifact_id, one.digest, one.vector and _written(one.vector)) for one in embedded]
        await self._write("put", rows)

    async def remove(self, collection: str, artifact_ids: Sequence[str]) -> None:
        """Take artifacts out of a collection."""
        await self._write("remove", [(collection, artifact_id) for artifact_id in artifact_ids])

    async def nearest(self, collection: str, vector: "array[float]", count: int) -> list[Near]:
        """Give the nearest artifacts, the nearest first."""
        rows = await self._read("nearest", collection, _written(vector), count)
        return [Near(str(artifact_id), float(score)) for artifact_id, score in rows]

    async def keep_only(self, collections: Collection[str]) -> None:
        """Remove all other collections."""
        with self._translated():
            # What was never made has nothing to remove, and need not be made for that.
            ((self._is_made,),) = await self._database.query(self._sql["is_made"])
        if self._is_made:
            await self._write("keep_only", [(json.dumps(sorted(collections)),)])

    async def close(self) -> None:
        """Let go of nothing: the database is another's."""

    async def _read(self, name: str, *parameters: Any) -> Sequence[Sequence[Any]]:
        await self._make()
        with self._translated():
            return await self._database.query(self._sql[name], *parameters)

    async def _write(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._make()
        with self._translated():
            await self._database.commit([(self._sql[name], rows)])

    async def _make(self) -> None:
        if self._is_made:
            return
        with self._translated():
            ((self._is_made,),) = await self._database.query(self._sql["is_made"])
            if self._is_made:
                return
        try:
            async with self._database.transaction() as transaction:
                await transaction.run(self._sql["make"])
        except Exception as error:
            if getattr(error, "code", None) in _PASSING:
                raise VectorsUnavailable(self._database.address, str(error), passing=True) from error
            # Whatever the driver raises: the extension is not on the server, or this role may not create it.
            reason = (
                f"pgvector can't be set up ({error}); install it on the server, and have its administrator run "
                "'CREATE EXTENSION vector' in this database"
            )
            raise VectorsUnavailable(self._database.address, reason, passing=False) from error
        self._is_made = True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except WonderError as error:
            passing = error.code in _PASSING
            raise VectorsUnavailable(self._database.address, str(error), passing=passing) from error


def _written(vector: "array[float]") -> str:
    # Nine digits tell every 32-bit float from its neighbours.
    return "[" + ",".join([f"{value:.9g}" for value in vector]) + "]"
