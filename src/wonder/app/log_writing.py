"""Writes the log records of this process to the database, beside everything else (EVT-4a).

Nobody who logs waits for it. While the database can't be written, records wait in memory up to the bounds of the
collector, and how many were dropped is logged as soon as it can be.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from wonder.actions.captured_logs import capturing
from wonder.actions.logs.collecting import RECORDS_MAX, LogCollector
from wonder.app.log_limits import LogLimits
from wonder.backoff import Backoff
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost, DatabaseBusy, DiskFull, StoreClosed, WriteRefused
from wonder.storage.logs import LogRecord, write_records
from wonder.storage.store import NewId, Store

RECORDS_AT_ONCE: Final = 500
"""So many are in one commit, so that none keeps the commits of runs waiting for long."""
# What is logged within this time is written together.
_GATHER_SECONDS: Final = 0.2
_BETWEEN_SECONDS: Final = 0.05
_FIRST_PAUSE_MS: Final = 500.0
_LONGEST_PAUSE_MS: Final = 30_000.0
# With one of these the database may be back; any other error that comes so often is about what is in the batch.
_PASSING: Final = (ConnectionLost, DatabaseBusy, DiskFull, WriteRefused)
_TRIES: Final = 5
_CLOSING_SECONDS: Final = 2.0

log = logging.getLogger("wonder.logs")


@asynccontextmanager
async def kept_logs(store: Store, new_id: NewId) -> AsyncIterator[LogCollector]:
    """Keep what is logged in this process from here on in a database."""
    collector = LogCollector(new_id())
    with capturing(collector):
        writer = LogWriter(collector, store)
        try:
            yield collector
        finally:
            await writer.close()


class LogWriter:
    """Writes what a collector has, soon after the first record of a batch; without records it does nothing."""

    def __init__(self, collector: LogCollector, store: Store) -> None:
        self._collector, self._store, self._limits = collector, store, LogLimits(store)
        self._loop = asyncio.get_running_loop()
        self._wanted = asyncio.Event()
        collector.on_first = self._wake
        self._task: asyncio.Task[None] | None = None
        self._pending: list[LogRecord] = []

    async def close(self) -> None:
        """Write what is left, if that takes no more than a moment."""
        self._collector.on_first = None
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                while self._pending or self._collector.waiting or self._collector.dropped:
                    await self._write_next()
        except (TimeoutError, WonderError) as error:
            lost = len(self._pending) + self._collector.waiting + self._collector.dropped
            log.warning("%d log records could not be written: %s", lost, error or "it took too long")

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._wanted.set()
        if self._task is None and self._collector.on_first:
            self._task = self._loop.create_task(self._keep_writing())

    async def _keep_writing(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await asyncio.sleep(_GATHER_SECONDS)
            while self._pending or self._collector.waiting or self._collector.dropped:
                await self._insist()
                await asyncio.sleep(_BETWEEN_SECONDS)

    async def _insist(self) -> None:
        """Write a batch, however long the database can't be written; give up one that it refuses by itself."""
        backoff, tries, task = Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS), 0, asyncio.current_task()
        while True:
            try:
                await self._write_next()
            except StoreClosed:
                return
            except Exception as error:
                if task and task.cancelling():
                    # What a database says while it is broken off replaces the cancellation.
                    raise asyncio.CancelledError from error
                tries += 1
                if tries == 1:
                    log.warning("log records can't be written, up to %d are kept in memory: %s", RECORDS_MAX, error)
                if tries >= _TRIES and not isinstance(error, _PASSING):
                    self._collector.drop(len(self._pending))
                    self._pending = []
                await asyncio.sleep(backoff.next_ms() / 1_000)
            else:
                return

    async def _write_next(self) -> None:
        collector = self._collector
        if not self._pending:
            if dropped := collector.take_dropped():
                message = f"{dropped:,} log records were dropped: they came faster than they could be written"
                collector.add(logging.WARNING, log.name, message)
            self._pending = collector.take(RECORDS_AT_ONCE)
            self._pending = await self._limits.admitted(self._pending)
        if self._pending:
            await write_records(self._store, self._pending)
        self._pending = []
