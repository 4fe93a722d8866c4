"""What is measured inside this process: chains, many runs at once, fan-outs, parked runs, and how cost grows."""

import asyncio
import gc
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from benchmarks.runs.databases import CommitCost, Database
from benchmarks.runs.definitions import chain, fan_out, waiting
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.storage.runs.reading import events_of_run

FUNCTIONS = Path(__file__).parent
_AT_ONCE = 1_000
_UNTIL_RECYCLED = 40


class Spent(NamedTuple):
    """What some work took, in seconds."""

    wall: float
    cpu: float


async def measure_chain(database: Database, nodes: int = 50, rounds: int = 15) -> dict[str, float]:
    """One run alone: microseconds per node, and in multiples of c."""
    async with _opened(database) as wonder, _commits(database) as commits:
        workflow = await wonder.deploy(chain(nodes))
        work = _run(wonder, workflow, {"n": 1})
        # As c: with a write-ahead log that was recycled once.
        await _again(work, _UNTIL_RECYCLED)
        spent, costs = await _beside(wonder, commits, work, rounds)
        rows, count = await _rows_written(wonder, work)
        return {
            "microseconds": statistics.median(one.wall for one in spent) / nodes * 1e6,
            "cpu_microseconds": statistics.median(one.cpu for one in spent) / nodes * 1e6,
            "c_microseconds": statistics.median(costs) * 1e6,
            "multiples_of_c": statistics.median(one.wall / nodes / c for one, c in zip(spent, costs, strict=True)),
            "rows_per_node": rows / nodes,
            "commits_per_node": count / nodes,
        }


async def measure_throughput(
    database: Database, rounds: int = 5, runs: int = _AT_ONCE, nodes: int = 5
) -> dict[str, float]:
    """Many runs at once: nodes per second and per c, and CPU per node."""
    async with _opened(database) as wonder, _commits(database) as commits:
        workflow = await wonder.deploy(chain(nodes))
        work = _runs(wonder, workflow, runs)
        await work()
        spent, costs = await _beside(wonder, commits, work, rounds)
        total = runs * nodes
        rows, count = await _rows_written(wonder, work)
        return {
            "nodes_per_second": total / statistics.median(one.wall for one in spent),
            "best_nodes_per_second": total / min(one.wall for one in spent),
            "nodes_per_c": statistics.median(total / one.wall * c for one, c in zip(spent, costs, strict=True)),
            "cpu_microseconds": statistics.median(one.cpu for one in spent) / total * 1e6,
            "best_cpu_microseconds": min(one.cpu for one in spent) / total * 1e6,
            "c_microseconds": statistics.median(costs) * 1e6,
            "rows_per_node": rows / total,
            "nodes_per_commit": total / count,
        }


async def measure_fan_out(database: Database, branches: int, rounds: int) -> dict[str, float]:
    """One run with many branches and a join: seconds, CPU per branch, and memory per branch at its peak."""
    async with _opened(database) as wonder:
        workflow = await wonder.deploy(fan_out())
        await _run(wonder, workflow, {"items": list(range(100))})()
        work = _run(wonder, workflow, {"items": list(range(branches))})
        gc.collect()
        before = memory("VmRSS", reset=True)
        spent = [await _spent(wonder, work) for _ in range(rounds)]
        return {
            "branches": branches,
            "seconds": statistics.median(one.wall for one in spent),
            "cpu_microseconds_per_branch": statistics.median(one.cpu for one in spent) / branches * 1e6,
            "peak_bytes_per_branch": (memory("VmHWM") - before) / branches,
        }


async def measure_parked(url: str, runs: int) -> dict[str, float]:
    """Runs that wait for an event: seconds to make them, and memory that each takes; to be called in a new process.

    What a process takes once, caches that fill, is in the first number; the second is what twice as many take more.
    """
    async with open_wonder(url, modules=["noop"], module_folders=[FUNCTIONS]) as wonder:
        workflow = await wonder.deploy(waiting())
        await _park(wonder, workflow, _AT_ONCE)
        before, began = memory("VmRSS"), perf_counter()
        await _park(wonder, workflow, runs)
        seconds, after = perf_counter() - began, memory("VmRSS")
        await _park(wonder, workflow, runs)
        return {
            "runs": runs,
            "seconds": seconds,
            "bytes_per_run": (after - before) / runs,
            "bytes_per_further_run": (memory("VmRSS") - after) / runs,
        }


async def _park(wonder: Application, workflow: Any, runs: int) -> None:
    for first in range(0, runs, _AT_ONCE):
        await asyncio.gather(*[wonder.start(workflow, {"n": 1}) for _ in range(first, min(first + _AT_ONCE, runs))])
    # They look whether their event has come already; only then they are at rest.
    while wonder.engine and not wonder.engine.coordinator.is_idle:  # noqa: ASYNC110  # it tells nobody when it is
        await asyncio.sleep(0.01)
    gc.collect()


async def measure_growth(database: Database) -> dict[str, list[dict[str, float]]]:
    """CPU per unit with 1, 10 and 100 times as many nodes in a run, events to read back, and runs in one database."""
    nodes, events, runs = [], [], []
    async with _opened(database) as wonder:
        for count in (10, 100, 1_000):
            workflow = await wonder.deploy(chain(count))
            run_ids: list[str] = []
            await _again(_run(wonder, workflow, {"n": 1}, run_ids), 2)
            spent = await _spent(wonder, _run(wonder, workflow, {"n": 1}, run_ids))
            nodes.append({"count": count, "microseconds": spent.cpu / count * 1e6})
            began = process_time()
            found = await events_of_run(wonder.store, run_ids[-1], limit=1_000_000)
            events.append({"count": len(found), "microseconds": (process_time() - began) / len(found) * 1e6})
    async with _opened(database) as wonder:
        workflow = await wonder.deploy(chain(5))
        await _runs(wonder, workflow, 100)()
        for count in (100, 1_000, 10_000):
            waves = range(0, count, _AT_ONCE)
            began = process_time()
            for first in waves:
                await _runs(wonder, workflow, min(_AT_ONCE, count - first))()
            runs.append({"count": count, "microseconds": (process_time() - began) / count * 1e6})
    return {"nodes of a run": nodes, "events of a run, read": events, "runs in a database": runs}


def memory(field: str, *, reset: bool = False) -> int:
    """Give a field of this process's memory in bytes: VmRSS, or VmHWM, the highest since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) * 1024


Work = Callable[[], Awaitable[None]]


def _run(wonder: Application, workflow: Any, run_input: Any, run_ids: list[str] | None = None) -> Work:
    async def work() -> None:
        run = await wonder.start(workflow, run_input)
        if run_ids is not None:
            run_ids.append(run.id)
        result = await run.wait()
        assert result.status == "completed", result

    return work


def _runs(wonder: Application, workflow: Any, count: int) -> Work:
    one = _run(wonder, workflow, {"n": 1})

    async def work() -> None:
        await asyncio.gather(*[one() for _ in range(count)])

    return work


async def _again(work: Work, times: int) -> None:
    for _ in range(times):
        await work()


async def _beside(wonder: Application, commits: CommitCost, work: Work, rounds: int) -> tuple[list[Spent], list[float]]:
    """Do some work in rounds, and measure c before and after each: disks change their mind from second to second."""
    spent, costs = [], []
    await commits.sample()
    for _ in range(rounds):
        spent.append(await _spent(wonder, work))
        await commits.sample()
        costs.append(commits.take())
        await commits.sample()
    return spent, costs


async def _spent(wonder: Application, work: Work) -> Spent:
    began, began_cpu = perf_counter(), process_time()
    await work()
    wall = perf_counter() - began
    await _written_back(wonder)
    return Spent(wall, process_time() - began_cpu)


async def _written_back(wonder: Application) -> None:
    """Wait for what SQLite writes back to its file when all is over: it is CPU of ours, and would make c look slow."""
    checkpoints = getattr(wonder.store, "_checkpoints", None)
    while checkpoints is not None and checkpoints.is_under_way:  # noqa: ASYNC110  # a thread tells nobody
        await asyncio.sleep(0.001)


async def _rows_written(wonder: Application, work: Work) -> tuple[int, int]:
    """Do some work once more, and count its rows and its commits."""
    store: Any = wonder.store
    commit, rows, commits = store.commit, 0, 0

    async def counting(batch: Iterable[tuple[str, Any]], **options: Any) -> None:
        nonlocal rows, commits
        entries = list(batch)
        rows += sum(len(of_statement) for _, of_statement in entries)
        commits += 1
        await commit(entries, **options)

    def log(*arguments: Any) -> bool:
        nonlocal commits
        assert logged
        is_logged = bool(logged(*arguments))
        commits += is_logged
        return is_logged

    logged = getattr(store, "log", None)  # PostgreSQL has none
    before = await _rows_changed(store)
    store.commit = counting
    if logged:
        store.log = log
    try:
        await work()
    finally:
        del store.commit
        if logged:
            del store.log
    # SQLite counts them itself.
    return await _rows_changed(store) - before or rows, commits


async def _rows_changed(store: Any) -> int:
    if store.dialect != "sqlite":
        return 0
    await store.query("SELECT 1")  # which brings all of them to the tables
    return int(await store._writer.submit(lambda connection: connection.total_changes()))


@asynccontextmanager
async def _opened(database: Database) -> AsyncIterator[Application]:
    async with open_wonder(database.new_url(), modules=["noop"], module_folders=[FUNCTIONS]) as wonder:
        yield wonder


@asynccontextmanager
async def _commits(database: Database) -> AsyncIterator[CommitCost]:
    commits = await database.commit_cost()
    try:
        await commits.sample(200)
        yield commits
    finally:
        await commits.close()
