"""Measures each filter of the list of runs: the first page, and pages from anywhere in the list."""

import random
import statistics
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, NamedTuple

from msgspec.structs import replace

from wonder.app.opening import open_app
from wonder.operations.run_lists import ListRuns, list_project_runs
from wonder.storage.pages import write_cursor
from wonder.storage.ulids import ulid_of

_LIMIT = 50
_SECONDS_MAX = 20.0
_SEED = 20


class Measured(NamedTuple):
    """What one filter took, in milliseconds, and how many runs its first page has."""

    name: str
    p50: float
    p99: float
    rows: int
    ends: bool
    """Whether the list ends with that page."""


async def measure(url: str, rounds: int) -> list[Measured]:
    """Measure every filter."""
    async with open_app(url, create=False) as app:
        ((oldest, newest),) = await app.store.query("SELECT min(created_ms), max(created_ms) FROM runs")
        chance = random.Random(_SEED)
        ids = [ulid_of(chance.randint(int(str(oldest)), int(str(newest)))) for _ in range(rounds)]
        ((parent,),) = await app.store.query(
            "SELECT parent_run_id FROM runs WHERE parent_run_id IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        )
        found = []
        for name, fields in _filters(str(parent)).items():
            try:
                asked = ListRuns(**fields, limit=_LIMIT)
            except TypeError:
                continue  # an older Wonder, measured for comparison
            found.append(await _measured(name, asked, ids, rounds, lambda asked: list_project_runs(app, asked)))
    return found


def _filters(parent: str) -> dict[str, dict[str, Any]]:
    statuses = ("queued", "running", "waiting", "paused", "quarantined", "completed", "failed", "cancelled")
    common, rare = "orders-00", "orders-19"
    return {
        "no filter": {},
        **{f"status {status}": {"status": status} for status in statuses},
        "workflow with half of all runs": {"workflow": common},
        "workflow with a thousandth of all runs": {"workflow": rare},
        "workflow, version": {"workflow": common, "workflow_version": 2},
        "workflow, failed": {"workflow": common, "status": "failed"},
        "rare workflow, failed": {"workflow": rare, "status": "failed"},
        "rare workflow, paused": {"workflow": rare, "status": "paused"},
        "error code": {"error_code": "TIMEOUT"},
        "error code, or a part of its message": {"error": "TIMEOUT"},
        "error code that no run has": {"error_code": "NEVER_SEEN"},
        "part of an error's message": {"error": "order 77"},
        "failed node": {"node": "charge", "status": "failed"},
        "node": {"node": "charge"},
        "node that no workflow has": {"node": "nowhere"},
        "tag": {"tag": "reports"},
        "tag that no workflow has": {"tag": "nothing"},
        "parent": {"parent_run_id": parent},
        "retried": {"retried": True},
        "failed and not retried": {"status": "failed", "retried": False},
        "cost of a dollar or more": {"cost_min_usd": 1.0},
        "a value of the context": {"where": "input.customer = 'customer-77'"},
        "workflow, a value of the context": {"workflow": common, "where": "input.customer = 'customer-77'"},
    }


async def _measured(
    name: str, asked: ListRuns, ids: list[str], rounds: int, ask: Callable[[ListRuns], Awaitable[Any]]
) -> Measured:
    took = []
    first = await ask(asked)
    began = perf_counter()
    for number in range(rounds):
        # Every other page begins anywhere.
        cursor = write_cursor("runs", ids[number]) if number % 2 else None
        start = perf_counter()
        await ask(replace(asked, cursor=cursor))
        took.append((perf_counter() - start) * 1_000)
        if perf_counter() - began > _SECONDS_MAX and number >= 10:
            break
    took.sort()
    return Measured(name, statistics.median(took), took[int(len(took) * 0.99)], len(first.runs), first.cursor is None)


def show(found: list[Measured]) -> None:
    """Print a table."""
    width = max(len(one.name) for one in found)
    print(f"{'filter'.ljust(width)}   p50 ms   p99 ms   rows of the first page")
    for one in found:
        print(f"{one.name.ljust(width)} {one.p50:8.1f} {one.p99:8.1f}   {one.rows}{'' if one.ends else ', and more'}")
