"""One process of its own, for what can only be measured from outside: `python -m benchmarks.runs.program WHAT URL`."""

import asyncio
import json
import sys
from pathlib import Path

import wonder
from benchmarks.runs.definitions import chain

FUNCTIONS = Path(__file__).parent
RUNS = 1_000
NODES = 5
LEASE_MS = 1_000


async def first_run(url: str) -> None:
    """Deploy into a new database, and run once to the end."""
    async with wonder.open(url, modules=["noop"], module_folders=[FUNCTIONS]) as app:
        run = await app.start(await app.deploy(chain(1)), {"n": 1})
        assert (await run.wait()).status == "completed"
        print("done", flush=True)


async def begin_runs(url: str) -> None:
    """Start runs whose first node never ends here, and wait to be killed."""
    async with wonder.open(url, modules=["noop"], module_folders=[FUNCTIONS], lease_ms=LEASE_MS) as app:
        workflow = await app.deploy(chain(NODES, "return_input_unless_held"))
        await asyncio.gather(*[app.start(workflow, {"n": 1}) for _ in range(RUNS)])
        print("under way", flush=True)
        await asyncio.sleep(3_600)


async def end_runs(url: str) -> None:
    """Go on with the runs of a process that was killed, until all have ended."""
    async with wonder.open(url, modules=["noop"], module_folders=[FUNCTIONS], lease_ms=LEASE_MS) as app:
        while True:
            left = await app.store.query("SELECT count(*) FROM runs WHERE completed_ms IS NULL")
            if left == [(0,)]:
                break
            await asyncio.sleep(0.02)
        ended = await app.store.query("SELECT status, count(*) FROM runs GROUP BY status")
        assert ended == [("completed", RUNS)], ended
        print("done", flush=True)


async def park_runs(url: str) -> None:
    """Print what parked runs take."""
    # Imported here: what measures is no part of the start of a process, which is measured too.
    from benchmarks.runs.measuring import measure_parked

    print(json.dumps(await measure_parked(url, 10_000)), flush=True)


if __name__ == "__main__":
    work = {"first-run": first_run, "begin-runs": begin_runs, "end-runs": end_runs, "park-runs": park_runs}
    asyncio.run(work[sys.argv[1]](sys.argv[2]))
