"""Playing a scenario in real processes, each of which ends where it is told to, until one comes to the end."""

import asyncio
import gc
import json
import logging
import os
import signal
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from proof.crashes.clients import Clients
from proof.crashes.databases import Databases
from proof.crashes.outcome import outcome, violations
from proof.crashes.outside import Outside
from proof.crashes.scenarios import Scenario
from proof.crashes.store import CRASHED, CrashingStore, Point
from wonder.app.application import Application
from wonder.app.engine import Engine
from wonder.app.engine_claim import EngineClaim
from wonder.app.ids import new_ulid
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default, put_project_settings

_SECONDS: Final = 20
"""A scenario takes a tenth of a second; one that is not over by then hangs."""


class Played(NamedTuple):
    """What came of a scenario: how many of the points were reached, what is wrong, and what the last process did."""

    reached: int
    violations: list[str]
    outcome: dict[str, Any]
    counts: dict[str, int]
    """How often the last process did each operation of the store."""
    writes: list[str]
    """Those that write."""


def warm_up(databases: Databases, scenario: Scenario) -> None:
    """Play once in this process, so that those made by fork find everything loaded."""
    url, log = databases.make(), databases.folder / "warm.log"
    log.touch()
    asyncio.run(_play(url, scenario, None, log))
    databases.remove(url)
    gc.collect()
    gc.freeze()


def play(databases: Databases, scenario: Scenario, points: Sequence[Point]) -> Played:
    """Play a scenario on a fresh database, with a process that ends at each point in turn, and one that does not."""
    url = databases.make()
    log, result = (databases.folder / f"{os.getpid()}.{suffix}" for suffix in ("log", "result"))
    for path in (log, result, log.with_suffix(".mended")):
        path.unlink(missing_ok=True)
    log.touch()
    reached = 0
    try:
        for point in (*points, None):
            status = _in_a_process(url, scenario, point, log, result)
            if status != CRASHED:
                break
            reached += 1
            Outside(log).note("crash", point=str(point))
        if status != 0:
            told = result.read_text("utf-8") if result.exists() else f"its process ended with {status}"
            return Played(reached, [f"hangs or fails: {told}"], {}, {}, [])
        return Played(reached, **json.loads(result.read_text("utf-8")))
    finally:
        databases.remove(url)


def _in_a_process(url: str, scenario: Scenario, point: Point | None, log: Path, result: Path) -> int:
    """Play on in a process of its own, and say how it ended."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # One that is stuck so that its loop can't tell ends as well.
            signal.alarm(_SECONDS + 10)
            logging.disable(logging.ERROR)
            found = asyncio.run(_play(url, scenario, point, log))
            result.write_text(json.dumps(found), "utf-8")
            status = 0
        except BaseException as error:
            told = str(error) if isinstance(error, TimeoutError) else traceback.format_exc()
            result.write_text(told, "utf-8")
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def _play(url: str, scenario: Scenario, point: Point | None, log: Path) -> dict[str, Any]:
    outside = Outside(log)
    store = await open_store(url, migrations="leave")
    crashing = CrashingStore(store, point)
    app = Application(crashing, await ensure_default(store, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)
    await _prepare(store, scenario, app.home.project_id)
    app.claim = claim = _WatchedClaim(crashing, outside)
    await claim.take()
    clients = Clients(app, store, outside)
    try:
        async with asyncio.timeout(_SECONDS):
            assert claim.engine, "the engine is not in this process"
            await scenario.script(clients)
            await clients.all_ended()
            await claim.leave()
    except TimeoutError:
        statuses = await store.query("SELECT id, status FROM runs")
        raise TimeoutError(f"still waiting for {clients.doing}; runs: {statuses}") from None
    found = {
        "violations": [line async for line in violations(store, outside)],
        "outcome": await outcome(store, scenario),
        "counts": dict(crashing.counts),
        "writes": sorted(crashing.writes),
    }
    await store.close()
    return found


async def _prepare(store: Store, scenario: Scenario, project_id: str) -> None:
    """Give the project its settings; let the time of the lease be over that the process before has left."""
    async with store.transaction() as transaction:
        if scenario.settings:
            settings = ProjectSettings.model_validate(scenario.settings)
            await put_project_settings(transaction, project_id, settings)
        if store.dialect == "postgresql":
            await transaction.run("UPDATE leases SET deadline_ms = 0")


class _WatchedClaim(EngineClaim):
    """The claim, which reports when the engine is this process's."""

    def __init__(self, store: Store, outside: Outside) -> None:
        super().__init__(store, outside.functions(), new_ulid)
        self._outside = outside

    def _new_engine(self, lease: Lease) -> Engine:
        self._outside.note("claimed", owner=lease.owner_id, epoch=lease.epoch)
        return super()._new_engine(lease)
