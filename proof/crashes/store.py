"""A store that ends its process at a chosen operation: not one line of the process runs afterwards."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final, NamedTuple, TypeVar

from proof.torn_writes import half_written
from wonder.storage.store import Dialect, Entry, FactJournal, Fence, Reader, Row, Settle, Store, Transaction, Value

CRASHED: Final = 86
"""The exit status of a process that ended at its point."""

_ON_ITS_WAY_SECONDS: Final = 0.01

Result = TypeVar("Result")


class Point(NamedTuple):
    """Where a process ends: `before` or `after` the n-th operation of a name, or `during` it.

    The last means that a write is on its way, never to arrive, while the process goes on for some milliseconds: time
    enough to act on what is not durable. Operations are counted by their names, so that what the engine does now and
    then by the clock shifts no other.
    """

    operation: str
    number: int
    when: str

    def __str__(self) -> str:
        return f"{self.when} {self.number} {self.operation}"

    @classmethod
    def parse(cls, text: str) -> "Point":
        """Read a point as it is printed."""
        when, number, operation = text.split(" ", 2)
        return cls(operation, int(number), when)


class CrashingStore:
    """Passes everything on to a real store, counts it, and ends the process at a point."""

    def __init__(self, store: Store, point: Point | None) -> None:
        self._store, self._point = store, point
        self.dialect: Dialect = store.dialect
        self.address = store.address
        self.in_place = None  # so that all that is read is an operation
        self.counts: Counter[str] = Counter()
        self.writes: set[str] = set()
        """The names of the operations that write."""
        self._never: asyncio.Event | None = None

    @property
    def unsettled(self) -> Reader:
        """Read what is never logged."""
        return _CrashingReader(self, self._store.unsettled)

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query."""
        return await _CrashingReader(self, self._store).fetch(name, *parameters)

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query, for rows by name."""
        return await _CrashingReader(self, self._store).fetch_named(name, *parameters)

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL that reads."""
        return await _CrashingReader(self, self._store).query(sql, *parameters)

    @property
    def journal(self) -> Any:
        """Be the journal too, where the real store has one."""
        return None if self._store.journal is None else self

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Write a batch."""
        entries = list(batch)

        async def commit() -> None:
            await self._store.commit(entries, fence=fence, **options)

        await self.operation("commit", commit, writes=True)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a transaction; its end is an operation like each of its statements."""
        opened = self._store.transaction()
        inner = CrashingTransaction(self, await opened.__aenter__())
        try:
            yield inner
        except BaseException as error:
            if not await opened.__aexit__(type(error), error, error.__traceback__):
                raise
            return

        async def end() -> None:
            await opened.__aexit__(None, None, None)

        await self.operation(f"end of {inner.last}", end, writes=True)

    @property
    def _store_journal(self) -> FactJournal:
        assert self._store.journal is not None
        return self._store.journal

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Log facts; `during` it the process ends when half of the entry is written."""
        point, name = self._point, "log"
        is_now = point is not None and (name, self.counts[name] + 1) == (point.operation, point.number)
        if self._never or (is_now and point and point.when == "before"):
            os._exit(CRASHED)
        is_torn = is_now and point is not None and point.when == "during"
        with half_written(lambda: os._exit(CRASHED)) if is_torn else nullcontext():
            is_logged = self._store_journal.log(entry, fence)
        if not is_logged:
            return False
        self.counts[name] += 1
        self.writes.add(name)
        if is_now:
            os._exit(CRASHED)
        return True

    def settle_by(self, settle: Settle) -> None:
        """Have the tables of the real one settled by this."""
        self._store_journal.settle_by(settle)

    async def inherit(self) -> list[bytes]:
        """Take over what the owner before has left."""
        return await self.operation("inherit", self._store_journal.inherit)

    async def close(self) -> None:
        """Leave the real store open: whoever opened it closes it."""

    async def operation(self, name: str, work: Callable[[], Awaitable[Result]], *, writes: bool = False) -> Result:
        """Do something, or end."""
        self.counts[name] += 1
        if writes:
            self.writes.add(name)
        if writes and self._never:
            await self._never.wait()
        point = self._point
        if point is None or (name, self.counts[name]) != (point.operation, point.number):
            return await work()
        if point.when == "during":
            # What is written later waits behind it.
            self._never = asyncio.Event()
            await asyncio.sleep(_ON_ITS_WAY_SECONDS)
        elif point.when == "after":
            await work()
        os._exit(CRASHED)


class _CrashingReader:
    """Reads of a store; each is an operation."""

    def __init__(self, store: CrashingStore, reader: Reader) -> None:
        self._operation, self._reader = store.operation, reader

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query."""
        return await self._operation(f"fetch {name}", lambda: self._reader.fetch(name, *parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query, for rows by name."""
        return await self._operation(f"fetch {name}", lambda: self._reader.fetch_named(name, *parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL; all of it has one name, because it holds names of tables."""
        return await self._operation("query", lambda: self._reader.query(sql, *parameters))


class CrashingTransaction:
    """One open transaction; each statement is an operation."""

    def __init__(self, store: CrashingStore, transaction: Transaction) -> None:
        self._store, self._transaction = store, transaction
        self.last = "nothing"

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query."""
        return await self._operation(name, lambda: self._transaction.fetch(name, *parameters))

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query, for rows by name."""
        return await self._operation(name, lambda: self._transaction.fetch_named(name, *parameters))

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL."""
        return await self._operation("query", lambda: self._transaction.query(sql, *parameters))

    async def execute(self, name: str, *parameters: Value) -> int:
        """Run a named statement."""
        return await self._operation(name, lambda: self._transaction.execute(name, *parameters))

    async def execute_many(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run a named statement for each row."""
        await self._operation(name, lambda: self._transaction.execute_many(name, rows))

    async def run(self, sql: str, rows: Sequence[Sequence[Value]] | None = None) -> None:
        """Run generated SQL."""
        await self._operation("run", lambda: self._transaction.run(sql, rows))

    async def _operation(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        self.last = name
        return await self._store.operation(f"statement {name}", work)
