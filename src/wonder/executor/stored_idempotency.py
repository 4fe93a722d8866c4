"""Acting once per key, whatever becomes of the process: successes are kept in the database (RET-4)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from wonder.backoff import Errors, insist
from wonder.clock import Clock
from wonder.errors import WonderError
from wonder.executor.idempotency import Claims, IdempotencyKey, expiry_ms
from wonder.language.values import JsonValue
from wonder.storage.errors import (
    ConnectionLost,
    ConstraintViolated,
    DatabaseBusy,
    DatabaseFailed,
    DiskFull,
    LeaseLost,
    ValueRefused,
    WriteRefused,
)
from wonder.storage.idempotency import Kept, find_kept, keep_records, record_row
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Row, Store

_CLOSING_SECONDS: Final = 1.0
# So many share a commit. Those of the runs come in between.
_ROWS_MAX: Final = 200
# Nothing was done yet, so that any other error may fail the action.
_UNREADABLE_NOW: Final = (ConnectionLost, DatabaseBusy)
# The action has acted: to fail it for what may pass would have it act again.
_UNWRITABLE_NOW: Final = (ConnectionLost, DatabaseBusy, DiskFull, WriteRefused, DatabaseFailed)

Result = TypeVar("Result")

log = logging.getLogger("wonder.engine")


class _Record(NamedTuple):
    """A success that is not durable yet."""

    key: IdempotencyKey
    kept: Kept
    row: Row
    durable: "asyncio.Future[None]"


class StoredIdempotency:
    """Successes kept in the database, by the process that has its lease."""

    def __init__(
        self, store: Store, lease: Lease, clock: Clock, on_lost: Callable[[LeaseLost], None] = lambda error: None
    ) -> None:
        """Keep records in the store; `on_lost` is called when the lease turns out to be another's."""
        self._store, self._lease, self._clock, self.on_lost = store, lease, clock, on_lost
        self._claims = Claims()
        self._open: list[_Record] = []
        self._writing: asyncio.Task[None] | None = None

    async def claim(self, key: IdempotencyKey) -> Kept | None:
        """Return what is kept, or None when the caller holds the key now."""
        if kept := await self._claims.take(key):
            return kept
        try:
            kept = await self._insist(lambda: self._find(key), _UNREADABLE_NOW)
        except BaseException:
            self._claims.free(key)
            raise
        if kept:
            self._claims.free(key, kept)
        return kept

    async def complete(self, key: IdempotencyKey, output: JsonValue, ttl_seconds: int | None) -> None:
        """Keep an output; it is durable when this returns."""
        now_ms = self._clock.now_ms()
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            row = record_row(key, output, now_ms, expiry_ms(now_ms, ttl_seconds))
        except BaseException:
            self._claims.free(key)
            raise
        self._open.append(_Record(key, Kept(output), row, durable))
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())
        # Shielded, because one that is cancelled now has acted all the same: the key stays held until that is kept.
        await asyncio.shield(durable)

    def release(self, key: IdempotencyKey) -> None:
        """Let the next that waits have the key."""
        self._claims.free(key)

    async def close(self) -> None:
        """Keep what is not durable yet, if the database takes it soon; actions whose success is lost act again."""
        if self._writing:
            _, late = await asyncio.wait([self._writing], timeout=_CLOSING_SECONDS)
            for writing in late:
                writing.cancel()
                await asyncio.wait([writing])

    async def _find(self, key: IdempotencyKey) -> Kept | None:
        return await find_kept(self._store, self._lease, key, self._clock.now_ms())

    async def _write(self) -> None:
        """Commit what is open; while one commit is under way, the next one fills."""
        try:
            # After what is ready in the loop just now, so that it comes along.
            await asyncio.sleep(0)
            while self._open:
                records, self._open = self._open[:_ROWS_MAX], self._open[_ROWS_MAX:]
                await self._keep(records)
        finally:
            self._writing = None

    async def _keep(self, records: list[_Record]) -> None:
        rows = [record.row for record in records]
        try:
            await self._insist(lambda: keep_records(self._store, self._lease, rows), _UNWRITABLE_NOW)
        except Exception as error:
            if len(records) > 1 and isinstance(error, (ValueRefused, ConstraintViolated)):
                # Each by itself, so that none is refused for another.
                for record in records:
                    await self._keep([record])
                return
            for record in records:
                self._claims.free(record.key)
                record.durable.set_exception(error)
                # Looked at, because the waiting caller may have been cancelled: asyncio would complain that nobody did.
                record.durable.exception()
        else:
            for record in records:
                self._claims.free(record.key, record.kept)
                record.durable.set_result(None)

    async def _insist(self, attempt: Callable[[], Awaitable[Result]], passing: Errors) -> Result:
        """Try until the database lets it be done; raises what will not pass by waiting."""
        try:
            return await insist(attempt, passing=passing, clock=self._clock, report=_report)
        except LeaseLost as error:
            self.on_lost(error)
            # A caller that was cancelled by it ends here, before a step that may follow acts.
            await asyncio.sleep(0)
            raise


def _report(error: WonderError, pause_ms: float) -> None:
    log.warning("an idempotency record can't be read or kept: %s; trying again in %d ms", error, pause_ms)
