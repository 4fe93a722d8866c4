"""One open write transaction on SQLite."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import apsw

from wonder.storage.queries import Queries
from wonder.storage.sqlite import jobs
from wonder.storage.sqlite.threads import ConnectionThreads
from wonder.storage.store import Row, Value

Result = TypeVar("Result")


class SqliteTransaction:
    """One open write transaction; its statements run on the writer thread, one job each."""

    def __init__(self, writer: ConnectionThreads, queries: Queries, database: str) -> None:
        self._writer, self._queries, self._database = writer, queries, database
        self._failed = False
        self.ended = False

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query and return its rows."""
        return await self._do(partial(jobs.rows, self._queries[name], name, self._database, parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query and return its rows as dicts by column name."""
        return await self._do(partial(jobs.named_rows, self._queries[name], name, self._database, parameters))

    async def execute(self, name: str, *parameters: Value) -> int:
        """Run a named statement and return how many rows it changed."""
        return await self._do(partial(jobs.changes, self._queries[name], name, self._database, parameters))

    async def execute_many(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run a named statement once per row of parameters."""
        await self._do(partial(jobs.many, self._queries[name], name, self._database, rows))

    async def run(self, sql: str, rows: Sequence[Sequence[Value]] | None = None) -> None:
        """Run generated SQL once per row; without rows it may be several statements that take no parameters."""
        if rows is None:
            await self._do(partial(jobs.script, sql, sql, self._database))
        else:
            await self._do(partial(jobs.many, self._queries.resolve(sql), sql, self._database, rows))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL and return its rows."""
        return await self._do(partial(jobs.rows, self._queries.resolve(sql), sql, self._database, parameters))

    def assert_usable(self) -> None:
        """Fail when an error was swallowed: PostgreSQL would have dropped the whole transaction."""
        assert not self._failed, "a transaction went on after one of its statements had failed"
        assert not self.ended, "a transaction was used after it had ended"

    async def _do(self, work: Callable[[apsw.Connection], Result]) -> Result:
        self.assert_usable()
        try:
            return await self._writer.submit(work)
        except BaseException:
            self._failed = True
            raise
