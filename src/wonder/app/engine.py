"""The engine of one database in this process: coordinator, worker, and what has to be done again and again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, cast

from wonder.actions.artifacts.redacted import RedactedArtifacts
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.logs.collecting import LogCollector
from wonder.actions.money.spending import StoredSpending
from wonder.actions.registry import ActionRegistry, announced_kinds
from wonder.actions.resources import Resources
from wonder.actions.secrets.stored import StoredSecrets
from wonder.actions.threads import Threads
from wonder.app.indexing import Indexing
from wonder.app.local_worker import LocalWorker
from wonder.app.retention import Retention
from wonder.coordinator.collaborators import Collaborators
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.news import EngineNews
from wonder.definitions.records.actions import ActionDef
from wonder.errors import WonderError
from wonder.executor.environment import Environment, SystemEnvironment
from wonder.executor.executor import Executor
from wonder.executor.services import Services
from wonder.executor.stored_idempotency import StoredIdempotency
from wonder.language.redaction import Redactor
from wonder.objects.store import Objects
from wonder.objects.vectors import Vectors
from wonder.observe.watching import Watchers
from wonder.storage.errors import LeaseLost
from wonder.storage.http_answers import delete_old_http_answers
from wonder.storage.idempotency import delete_expired_records
from wonder.storage.runs.leases import LEASE_MS, Lease, check_lease
from wonder.storage.runs.outside import delete_expired_events
from wonder.storage.runs.requests import delete_old_answers
from wonder.storage.spending import forget_old_calls
from wonder.storage.store import NewId, Store

if TYPE_CHECKING:
    from wonder.actions.mcp_tool.kind import McpToolKind
    from wonder.app.transforms import Transforms
    from wonder.sandbox.typescript import CompiledTransform
    from wonder.storage.secret_keys import KeySource

_TIMERS_SECONDS = 20.0
_REQUESTS_SECONDS = 0.1
_QUEUES_SECONDS = 1.0
_TIDY_SECONDS = 60.0
_TIDY_ON_SECONDS = 0.1
# Not at once: many a process runs one workflow, and ends.
_FIRST_SECONDS = 0.5
_RETENTION_SECONDS = 5.0
_AFTER_ERROR_SECONDS = 1.0
_DRAIN_SECONDS = 0.02

Runs = Literal["all", "own", "none"]

log = logging.getLogger("wonder.engine")


class Engine:
    """Runs workflows; there is one per database at a time.

    It goes on with `all` runs that were under way, runs the tasks of those that it starts itself (`own`), or runs
    `none`: then it decides on what it is told, and leaves tasks to the next engine.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        functions: FunctionRegistry,
        new_id: NewId,
        *,
        runs: Runs = "all",
        lease_ms: int = LEASE_MS,
        environment: Environment | None = None,
        keys: "Callable[[], KeySource] | None" = None,
        objects: Objects | None = None,
        vectors: Vectors | None = None,
        logs: LogCollector | None = None,
        news: EngineNews | None = None,
    ) -> None:
        self.environment = environment or SystemEnvironment()
        self._threads = Threads()
        self.watchers = Watchers()
        redactor, now_ms = Redactor(), self.environment.now_ms
        self._secrets = StoredSecrets(store, keys, redactor, now_ms, local=runs == "own") if keys else None
        self.resources = Resources(store.unsettled, now_ms, self._secrets, local=runs == "own")
        self._spending = StoredSpending(store, lease, self.environment, new_id)
        embedder = Embedder(self.resources, now_ms, self._spending) if vectors else None
        self.indexing = Indexing(store.unsettled, vectors, embedder) if vectors and embedder else None
        wrote = (self.indexing.wrote,) if self.indexing else ()
        self._artifacts = (
            RedactedArtifacts(redactor, objects, store, lease, self.environment, self._lose_lease, *wrote)
            if objects
            else None
        )
        self._transforms = _Transforms(store)
        self._registry = ActionRegistry(
            secrets=self.resources.secrets, equipment=self._equipment(functions), announced=announced_kinds
        )
        self._idempotency = StoredIdempotency(store, lease, self.environment, self._lose_lease)
        self.executor = Executor(self._services(redactor, logs))
        self.worker = LocalWorker(store, self.executor, self._registry)
        self.stopped = asyncio.Event()
        """Set when the lease is another's: nothing is taken or written any more."""
        self.collaborators = Collaborators(
            store,
            lease,
            self.worker,
            self.environment,
            new_id,
            prepare=self._make_ready,
            on_stop=self.stopped.set,
            function_sources=functions.sources,
            has_function=functions.may_have,
            news=news,
            index_vectors=self.indexing.begin_to_fill if self.indexing else None,
        )
        self.coordinator = self.collaborators.coordinator
        self.retention = Retention(store, lease, objects, now_ms, artifacts=self._artifacts, vectors=vectors)
        self._store, self._lease, self._lease_ms, self._runs = store, lease, lease_ms, runs
        self.recovered_runs = 0
        """How many runs that were under way it has gone on with."""
        self._keeping: asyncio.Task[None] | None = None
        self._recovered = asyncio.Event()

    def _services(self, redactor: Redactor, logs: LogCollector | None) -> Services:
        return Services(
            self.environment,
            self._idempotency,
            on_progress=self.watchers.tell,
            redactor=redactor,
            logs=logs,
            outputs=self._artifacts,
        )

    async def begin(self) -> None:
        """Go on with what was under way, and keep going until closed."""
        # First of all, because going on with many runs may take longer than a lease.
        self._keeping = asyncio.create_task(self._keep_going())
        if self._runs != "all":
            self.coordinator.tasks.mine = set()
            self.collaborators.starter.takes_on = self._runs == "own"
        if self._runs == "all":
            await self.collaborators.quarantine.count()
        await self.collaborators.recovery.take_untaken()
        await self._spending.recover()
        if self._secrets:
            await self._secrets.recall()
        if self._runs == "all":
            await self.collaborators.quarantine.set_aside()
            self.recovered_runs = await self.collaborators.recovery.recover()
        self._recovered.set()

    async def drain(self, seconds: float) -> int:
        """Give no more tasks to workers, and wait for those that they have; returns how many are left by then."""
        tasks = self.coordinator.tasks
        tasks.drain()
        for _ in range(int(seconds / _DRAIN_SECONDS)):
            if not tasks.under_way or self.stopped.is_set():
                break
            await asyncio.sleep(_DRAIN_SECONDS)
        return tasks.under_way

    async def close(self) -> None:
        """Stop; what was decided is durable, and what was under way goes on in the next process."""
        try:
            await self.coordinator.close()
        finally:
            if self._keeping:
                self._keeping.cancel()
                await asyncio.wait([self._keeping])
            await self.executor.close()
            await self._idempotency.close()
            self._threads.close()
            await self.worker.close()
            await self._registry.close()
            await self._transforms.close()
            if self.indexing:
                await self.indexing.close()
            await self._spending.close()

    def _equipment(self, functions: FunctionRegistry) -> Equipment:
        environment = self.environment
        return Equipment(
            functions,
            self._threads,
            self.resources,
            environment.now_ms,
            environment.sleep,
            environment.random,
            spending=self._spending,
            artifacts=self._artifacts,
            searching=self.indexing.searching if self.indexing else None,
            transforms=self._transforms,
        )

    def _lose_lease(self, error: LeaseLost) -> None:
        self.coordinator.stop(error)

    @property
    def mcp_tools(self) -> "McpToolKind":
        """The kind that keeps the sessions with MCP servers."""
        return cast("McpToolKind", self._registry.kind("mcp_tool"))

    def _make_ready(self, actions: Iterable[ActionDef]) -> None:
        """Let kinds begin that a workflow which was just loaded is going to need."""
        if self._runs == "none":
            return
        for name in {action.kind for action in actions}:
            with suppress(WonderError):  # one that can't be used is told when it is to be run
                self._registry.kind(name).begin()

    async def _keep_going(self) -> None:
        async with asyncio.TaskGroup() as group:
            # What was just claimed need not be renewed, and each look at once is a connection more at the start.
            group.create_task(_again(self._renew, self._lease_ms / 3_000))
            # Recovery looks for timers by itself.
            group.create_task(_again(self._look_for_timers, _FIRST_SECONDS if self._runs == "all" else 0.0))
            group.create_task(_again(self._look_for_requests, _REQUESTS_SECONDS))
            group.create_task(_again(self._look_for_queued))
            group.create_task(_again(self._tidy, _FIRST_SECONDS))
            group.create_task(_again(self.retention.look, _RETENTION_SECONDS))
            if self._runs == "all":
                group.create_task(_again(self._look_for_schedules))
            if self.indexing:
                group.create_task(_again(self.indexing.look, _FIRST_SECONDS))

    async def _renew(self) -> float:
        try:
            await self._lease.renew(self._lease_ms)
        except LeaseLost as error:
            self.coordinator.stop(error)
            raise EngineStopped(str(error)) from error
        return self._lease_ms / 3_000

    async def _look_for_requests(self) -> float:
        await self.collaborators.orders.look_for_requests()
        return _REQUESTS_SECONDS

    async def _look_for_timers(self) -> float:
        return min(await self.collaborators.recovery.load_timers() / 1_000, _TIMERS_SECONDS)

    async def _look_for_queued(self) -> float:
        self.collaborators.starter.admission.look()
        return _QUEUES_SECONDS

    async def _look_for_schedules(self) -> float:
        # How many runs of a project go is known then (RES-6).
        await self._recovered.wait()
        return await self.collaborators.scheduler.look() / 1_000

    async def _tidy(self) -> float:
        """Forget events and idempotency records that have expired, and answers that nobody came for."""
        now_ms = self.environment.now_ms()
        async with self._store.transaction() as transaction:
            await check_lease(transaction, self._lease.fence)
            await delete_expired_events(transaction, now_ms)
            await delete_old_answers(transaction, now_ms)
            await forget_old_calls(transaction, now_ms)
            await delete_old_http_answers(transaction, now_ms)
            all_gone = await delete_expired_records(transaction, now_ms)
        return _TIDY_SECONDS if all_gone else _TIDY_ON_SECONDS


class _Transforms:
    """The compiled transforms of a database; what compiles them is loaded when the first is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: Transforms | None = None

    async def compiled(self, source: str) -> "CompiledTransform":
        if self._made is None:
            # Heavy, and only workflows with transforms need it.
            from wonder.app.transforms import Transforms

            self._made = Transforms(self._store)
        return await self._made.compiled(source)

    async def close(self) -> None:
        if self._made:
            await self._made.close()


async def _again(work: Callable[[], Awaitable[float]], first_seconds: float = 0.0) -> None:
    """Do something again and again, each time after as many seconds as it says, whatever goes wrong."""
    task = asyncio.current_task()
    await asyncio.sleep(first_seconds)
    while True:
        try:
            seconds = await work()
        except EngineStopped:
            return
        except WonderError as error:
            log.warning("%s", error)
            seconds = _AFTER_ERROR_SECONDS
        except Exception:
            log.exception("what the engine does again and again has failed")
            seconds = _AFTER_ERROR_SECONDS
        if task is not None and task.cancelling():
            # A database that fails while we are cancelled says so in the place of the cancellation.
            return
        await asyncio.sleep(seconds)
