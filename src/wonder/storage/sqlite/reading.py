"""Reading a database of SQLite: each query is a job of a reader's thread."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import apsw

from wonder.storage.queries import Queries
from wonder.storage.sqlite import jobs
from wonder.storage.sqlite.threads import ConnectionThreads
from wonder.storage.store import Row, Value

Result = TypeVar("Result")


class SqliteReader:
    """Reads the tables as they are."""

    def __init__(self, queries: Queries, address: str, readers: ConnectionThreads) -> None:
        self._queries, self.address, self._readers = queries, address, readers

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query that only reads and return its rows."""
        return await self._read(partial(jobs.rows, self._queries[name], name, self.address, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query that only reads and return its rows as dicts by column name."""
        return await self._read(partial(jobs.named_rows, self._queries[name], name, self.address, parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that only reads and return its rows."""
        return await self._read(partial(jobs.rows, self._queries.resolve(sql), sql, self.address, parameters))

    async def _read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        return await self._readers.submit(partial(_on_one_schema, work))


def _on_one_schema(work: Callable[[apsw.Connection], Result], connection: apsw.Connection) -> Result:
    """Read, however often others change the schema meanwhile."""
    try:
        return work(connection)
    except apsw.SchemaChangeError:
        # SQLite gives up when deployments come faster than it reads the schema anew, with very many workflows. Within a
        # transaction the schema stays as it is.
        connection.execute("BEGIN")
        try:
            return work(connection)
        finally:
            connection.execute("ROLLBACK")
