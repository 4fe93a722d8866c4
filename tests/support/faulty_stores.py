"""Stores that fail, or end their process, at a chosen moment; everything else goes to a real store."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from proof.torn_writes import half_written

from wonder.actions.functions.functions import FunctionRegistry
from wonder.app.application import Application
from wonder.app.engine_claim import claim_engine
from wonder.app.ids import new_ulid
from wonder.errors import WonderError
from wonder.objects.store import Objects
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import LEASE_MS, check_lease
from wonder.storage.store import Entry, Fence, Row, Store, Value
from wonder.storage.tenancy import ensure_default


class PassingStore:
    """Passes everything on to a real store, that of the journal too; what derives from it changes some of that."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def journal(self) -> Any:
        """Be the journal too, where the real store has one."""
        return None if self._store.journal is None else self


class FaultyStore(PassingStore):
    """Raises an error instead of a commit, or after it, as a connection does that breaks while the server answers."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits = self.hits = 0
        self.inside = self.most_inside = 0
        self.faults: dict[int, tuple[str, WonderError]] = {}
        """By the number of the commit: `before` or `after`, and the error."""

    def fail(self, ahead: int, error: WonderError, when: str = "before") -> None:
        """Let the commit fail that is so many ahead."""
        self.faults[self.commits + ahead] = (when, error)

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Commit, or fail."""
        self.commits += 1
        when, error = self.faults.pop(self.commits, ("", None))
        self.hits += error is not None
        if error and when == "before":
            raise error
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await self._store.commit(batch, fence=fence, **options)
        finally:
            self.inside -= 1
        if error:
            raise error

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Log facts, which counts as a commit, or fail."""
        when, error = self.faults.get(self.commits + 1, ("", None))
        if error and when == "before":
            self._count_entry(error)
            raise error
        if not self._store.log(entry, fence):
            return False
        self._count_entry(error)
        if error:
            raise error
        return True

    def _count_entry(self, error: WonderError | None) -> None:
        self.commits += 1
        self.hits += error is not None
        self.faults.pop(self.commits, None)


class KillingStore(PassingStore):
    """Ends its process with SIGKILL at the n-th commit (`before`, `during`, `after`) or reading (`read`).

    `before:STATEMENT` counts only commits with that statement in them. `logged` is after the n-th entry of the log,
    where there is one: a commit that brings rows of before to the tables may end while a step is under way.
    """

    def __init__(self, store: Store, moment: str, number: int) -> None:
        super().__init__(store)
        self._number = number
        self._moment, _, self._statement = moment.partition(":")
        self._counts_commits = not (self._moment == "logged" and store.journal is not None)
        if self._moment == "logged":
            self._moment = "after"
        self.commits = self.reads = 0
        self.in_place = None  # so that all that is read is counted

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Commit, or end."""
        entries = list(batch)
        if self._counts_commits:
            self.commits += not self._statement or any(query == self._statement for query, _ in entries)
        if self.commits != self._number or self._moment in ("read", "never") or not self._counts_commits:
            await self._store.commit(entries, fence=fence, **options)
            return
        if self._moment == "during":
            # What is logged stays as it is: to settle it, this very commit would be waited for.
            if self._store.journal is not None:
                self._store.journal.settle_by(_settle_nothing)
            async with self._store.transaction() as transaction:
                await check_lease(transaction, fence)
                for query, rows in entries[: max(1, len(entries) // 2)]:
                    if " " in query:
                        await transaction.run(query, rows)
                    else:
                        await transaction.execute_many(query, rows)
                _end()
        elif self._moment == "after":
            await self._store.commit(entries, fence=fence, **options)
        _end()

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Log facts, which counts as a commit, or end; `during` it, half of the entry is written."""
        is_now = self.commits + 1 == self._number and not self._statement and self._moment not in ("read", "never")
        if is_now and self._moment == "before":
            _end()
        with half_written(_end) if is_now and self._moment == "during" else nullcontext():
            is_logged = self._store.log(entry, fence)
        if not is_logged:
            return False
        self.commits += not self._statement
        if is_now:
            _end()
        return True

    @property
    def unsettled(self) -> "KillingStore":
        """Count what is read of it too."""
        return self

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Read, or end."""
        self._count_read()
        return await self._store.fetch(name, *parameters)

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Read, or end."""
        self._count_read()
        return await self._store.fetch_named(name, *parameters)

    def _count_read(self) -> None:
        self.reads += 1
        if self._moment == "read" and self.reads == self._number:
            _end()


async def _settle_nothing() -> None:
    """Leave what is logged where it is."""


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@asynccontextmanager
async def wonder_on(
    url: str,
    wrap: Callable[[Store], Any],
    functions: dict[str, Callable[..., Any]] | None = None,
    lease_ms: int = LEASE_MS,
    objects: Objects | None = None,
) -> AsyncIterator[Application]:
    """Open a database with its engine through a store of the tests."""
    registry = FunctionRegistry()
    for name, function in (functions or {}).items():
        registry.register(f"tests:{name}", function)
    store = await open_store(url)
    try:
        app = Application(wrap(store), await ensure_default(store, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)
        async with claim_engine(app.store, registry, new_ulid, lease_ms=lease_ms, objects=objects) as app.claim:
            yield app
    finally:
        await store.close()
