"""The claim to run the engine: one process at a time does, and another one takes over when it is gone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.logs.collecting import LogCollector
from wonder.app.engine import Engine, Runs
from wonder.coordinator.news import EngineNews
from wonder.errors import WonderError
from wonder.objects.store import Objects
from wonder.objects.vectors import Vectors
from wonder.storage.runs.leases import LEASE_MS, Lease, claim_lease
from wonder.storage.store import NewId, Store

if TYPE_CHECKING:
    from wonder.storage.secret_keys import KeySource

_CLAIM_SECONDS = 0.5

log = logging.getLogger("wonder.engine")


class EngineClaim:
    """This process's claim to run the engine: it does if nobody else does, and as soon as nobody else does any more."""

    def __init__(
        self,
        store: Store,
        functions: FunctionRegistry,
        new_id: NewId,
        *,
        runs: Runs = "all",
        lease_ms: int = LEASE_MS,
        keys: "Callable[[], KeySource] | None" = None,
        objects: Objects | None = None,
        vectors: Vectors | None = None,
        logs: LogCollector | None = None,
        news: EngineNews | None = None,
    ) -> None:
        self.engine: Engine | None = None
        """The engine, while it runs in this process."""
        self._started: set[str] = set()
        self.functions = functions
        self._store, self._new_id = store, new_id
        self._runs, self._lease_ms, self._keys, self._objects = runs, lease_ms, keys, objects
        self._vectors, self._logs, self._news = vectors, logs, news
        self._lease: Lease | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def function_sources(self) -> list[str] | None:
        """Where the functions of its own runs come from, if it runs only its own; None where any process will do."""
        return self.functions.sources if self._runs == "own" else None

    async def note(self, run_id: str) -> None:
        """Note a run that another process has started for this one: with `own`, it goes on here after taking over."""
        if self._runs == "own":
            self._started.add(run_id)
            if self.engine:
                # It was taken over while the other one answered.
                await self._resume(self.engine)

    def forget(self, run_id: str) -> None:
        """Forget a run, because it has ended."""
        self._started.discard(run_id)

    async def take(self) -> None:
        """Run the engine if nobody else does, and watch for the moment when that changes."""
        await self._try()
        self._watching = asyncio.create_task(self._watch())

    async def leave(self) -> None:
        """Close the engine, and let another process run it."""
        if self._watching:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        await self._close_engine()

    async def _watch(self) -> None:
        while True:
            try:
                if self.engine is None:
                    await asyncio.sleep(_CLAIM_SECONDS)
                    await self._try()
                else:
                    await self.engine.stopped.wait()
                    if self._news:
                        self._news.tell_stop()
                    await self._close_engine()
            except WonderError as error:
                log.warning("the engine can't be taken over: %s", error)
            except Exception:
                log.exception("the engine can't be taken over")

    async def _try(self) -> None:
        lease = await claim_lease(self._store, self._new_id(), lease_ms=self._lease_ms)
        if lease is None:
            return
        self._lease = lease
        engine = self._new_engine(lease)
        try:
            await engine.begin()
            self.engine = engine
            await self._resume(engine)
            if self._news:
                self._news.tell_beginning(took_over=self._watching is not None, runs=engine.recovered_runs)
        except BaseException:
            self.engine = engine
            await self._close_engine()
            raise

    async def _resume(self, engine: Engine) -> None:
        for run_id in sorted(self._started):
            await engine.collaborators.recovery.resume(run_id)
            # The engine knows its own runs from here on, until they have ended.
            self._started.discard(run_id)

    def _new_engine(self, lease: Lease) -> Engine:
        return Engine(
            self._store,
            lease,
            self.functions,
            self._new_id,
            runs=self._runs,
            lease_ms=self._lease_ms,
            keys=self._keys,
            objects=self._objects,
            vectors=self._vectors,
            logs=self._logs,
            news=self._news,
        )

    async def _close_engine(self) -> None:
        engine, lease = self.engine, self._lease
        self.engine = self._lease = None
        try:
            if engine:
                self._started |= engine.coordinator.tasks.mine or set()
                await engine.close()
        finally:
            if lease:
                await _release(lease)


async def _release(lease: Lease) -> None:
    try:
        await lease.release()
    except WonderError as error:
        # It runs out by itself, or with this process.
        log.warning("the lease can't be given back: %s", error)


@asynccontextmanager
async def claim_engine(
    store: Store,
    functions: FunctionRegistry,
    new_id: NewId,
    *,
    runs: Runs = "all",
    lease_ms: int = LEASE_MS,
    keys: "Callable[[], KeySource] | None" = None,
    objects: Objects | None = None,
    vectors: Vectors | None = None,
    logs: LogCollector | None = None,
    news: EngineNews | None = None,
) -> AsyncIterator[EngineClaim]:
    """Run the engine of a database in this process, now or as soon as no other one does."""
    claim = EngineClaim(
        store,
        functions,
        new_id,
        runs=runs,
        lease_ms=lease_ms,
        keys=keys,
        objects=objects,
        vectors=vectors,
        logs=logs,
        news=news,
    )
    try:
        await claim.take()
        yield claim
    finally:
        await claim.leave()
