"""The program that is killed: it runs the engine with a workload, in a process made by fork for each line it reads.

A line is JSON: `["start", OUTPUT, SETTINGS]` gives the process's id, `["wait", ID]` how it ended (negative: by which
signal).
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec

from proof.clock_shifts import shift_clock
from proof.outside_log import OutsideLog
from proof.phases import Phase, SharedPhase, WatchedStore, watch_decisions
from proof.tending import Tender
from proof.workload import FUNCTION, definitions
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.python.kind import current_context
from wonder.app import engine_claim
from wonder.app.application import Application
from wonder.app.engine import Engine
from wonder.app.engine_claim import EngineClaim, claim_engine
from wonder.app.ids import new_ulid
from wonder.definitions.loading import load_value
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.storage.clock import utc_now
from wonder.storage.errors import ConnectionLost, DatabaseUnreachable, LeaseLost
from wonder.storage.opening import open_store
from wonder.storage.postgresql import store as postgres
from wonder.storage.runs.leases import LEASE_MS, Lease
from wonder.storage.tenancy import change_project_settings, ensure_default

_ACTION_SECONDS = 0.01


class Settings(msgspec.Struct, frozen=True):
    """What a process is to do."""

    url: str
    log: str
    phase: str
    mode: str = "load"
    """`load` goes on until it is killed; `finish` brings all runs to their end; `prepare` makes the database."""
    number: int = 0
    lease_ms: int = LEASE_MS
    fenced: bool = True
    """False takes the fence away, so that an owner that was replaced can write: the proof must see that."""
    clock_seed: int | None = None
    command_seconds: float = postgres.COMMAND_SECONDS
    idle_seconds: float = postgres.IDLE_SECONDS
    under_way: int = 8
    settle_seconds: float = 90.0


async def work(settings: Settings) -> None:
    """Run the engine with a workload."""
    log, shared = OutsideLog(Path(settings.log)), SharedPhase(Path(settings.phase))
    engine_claim._CLAIM_SECONDS = 0.05
    postgres.COMMAND_SECONDS, postgres.IDLE_SECONDS = settings.command_seconds, settings.idle_seconds
    if settings.mode == "prepare":
        await _prepare(settings.url)
        return
    if settings.clock_seed is not None:
        shift_clock(settings.clock_seed, log, to_the_end=settings.mode == "finish")
    watch_decisions(shared)
    _watch_engines(log, shared)
    if not settings.fenced:
        _take_fence_away()
    functions = FunctionRegistry()
    functions.register(FUNCTION, _Acts(log))
    opened = await _opened(settings.url)
    try:
        store: Any = WatchedStore(opened, shared, log, fenced=settings.fenced)
        app = Application(store, await ensure_default(opened, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)
        async with claim_engine(store, functions, new_ulid, lease_ms=settings.lease_ms) as app.claim:
            tender = Tender(app, log, settings.number, settings.under_way)
            await (tender.finish(settings.settle_seconds) if settings.mode == "finish" else tender.load())
    finally:
        await opened.close()


async def _opened(url: str) -> Any:
    """Open the store, however often that takes: the server may be down just now."""
    while True:
        try:
            return await open_store(url)
        except (DatabaseUnreachable, ConnectionLost):
            await asyncio.sleep(0.1)


async def _prepare(url: str) -> None:
    store = await open_store(url)
    app = Application(store, await ensure_default(store, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)
    for definition in definitions():
        await app.deploy_loaded(load_value(definition))
    # Processes are killed here by the hundred, and no run is to blame.
    await change_project_settings(store, app.home.project_id, never_quarantined, clock=utc_now)
    await store.close()


def never_quarantined(settings: ProjectSettings) -> ProjectSettings:
    """Give settings with which no run is set aside, however often its process dies."""
    return settings.model_copy(update={"run_limits": settings.run_limits.model_copy(update={"deaths": None})})


class _Acts:
    """What actions do in the world: a line in the log, and a while."""

    def __init__(self, log: OutsideLog) -> None:
        self._log = log

    async def __call__(self, name: Any, key: str) -> dict[str, Any]:
        """Act."""
        origin = current_context().origin
        self._log.note("effect", run=origin.run_id, token=origin.token_id, name=name)
        await asyncio.sleep(random.random() * _ACTION_SECONDS)
        return {"name": name}


def _watch_engines(log: OutsideLog, shared: SharedPhase) -> None:
    """Log each claim, and show when an engine begins and when it recovers."""
    make, begin = EngineClaim._new_engine, Engine.begin

    def new_engine(self: EngineClaim, lease: Lease) -> Engine:
        log.note("claimed", owner=lease.owner_id, epoch=lease.epoch)
        return make(self, lease)

    async def begun(self: Engine) -> None:
        shared.enter(Phase.RECOVERING)
        await begin(self)
        if shared.phase is Phase.RECOVERING:
            shared.enter(Phase.BETWEEN)

    EngineClaim._new_engine = new_engine  # type: ignore[method-assign]
    Engine.begin = begun  # type: ignore[method-assign]


def _take_fence_away() -> None:
    renew = Lease.renew

    async def renewed(self: Lease, lease_ms: int = LEASE_MS) -> None:
        try:
            await renew(self, lease_ms)
        except LeaseLost:
            return

    async def unchecked(self: Lease) -> None:
        pass

    Lease.renew = renewed  # type: ignore[method-assign]
    Lease.check = Lease.try_to_write = unchecked  # type: ignore[method-assign]


def run() -> None:
    """Make a process for each line; none of them outlives whoever writes the lines."""
    children: set[int] = set()
    try:
        for text in sys.stdin:
            order, *rest = json.loads(text)
            if order == "wait":
                _, status = os.waitpid(rest[0], 0)
                children.discard(rest[0])
                print(os.waitstatus_to_exitcode(status), flush=True)
                continue
            process_id = os.fork()
            if process_id == 0:
                _be(*rest)
            children.add(process_id)
            print(process_id, flush=True)
    finally:
        for process_id in children:
            os.kill(process_id, signal.SIGKILL)
            os.waitpid(process_id, 0)


def _be(output: str, settings: dict[str, Any]) -> None:
    code = 1
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        random.seed(time.time_ns() ^ os.getpid())
        asyncio.run(work(msgspec.convert(settings, Settings)))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    run()
