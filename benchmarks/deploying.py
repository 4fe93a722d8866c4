"""How deploying grows with the number of workflows: `python -m benchmarks.deploying --workflows 3000`.

Not part of `make bench`, because it takes minutes. For the first, 100th, 1,000th … workflow it prints milliseconds:

- `deploy`: CPU of one deployment, with all threads of this process (on PostgreSQL without the server's; see `wall`)
- `read`: CPU of the first read after a deployment by another connection, which has been open all the time
- `open`: CPU to open the database once more and read one row
- `run`: CPU of the first run of the workflow just deployed, from start to result
- `objects`: how many tables, indexes and views the database has
"""

import argparse
import asyncio
import random
import statistics
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any, Final

from benchmarks.runs.databases import Database, postgres_databases, sqlite_folder
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.storage.opening import open_store
from wonder.storage.store import Store

_CHECKPOINTS: Final = (1, 100, 300, 1_000, 3_000, 10_000)
_SAMPLES: Final = 5
_TOGETHER: Final = 200
_KINDS: Final = ("integer", "number", "boolean", "string")
_OBJECTS: Final = {
    "sqlite": "SELECT count(*) FROM sqlite_schema",
    "postgresql": "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
}


def main() -> None:
    """Deploy many workflows of the same or of different shapes, and print what the last of them cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workflows", type=int, default=1_000, help="how many to deploy (default 1,000)")
    parser.add_argument("--shapes", choices=["same", "different"], default="same", help="of their contexts")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    given = parser.parse_args()
    databases = sqlite_folder() if given.database == "sqlite" else postgres_databases()
    with databases as database:
        asyncio.run(_measure(database, given.workflows, given.shapes == "different"))


async def _measure(database: Database, workflows: int, different: bool) -> None:
    shapes = "different shapes" if different else "the same shape"
    print(f"{database.name}, {workflows:,} workflows of {shapes}; milliseconds", flush=True)
    print(f"{'workflow':>9} {'deploy':>8} {'wall':>8} {'read':>8} {'open':>8} {'run':>8} {'objects':>8}")
    url = database.new_url()
    async with open_wonder(url) as wonder:
        other = await open_store(url)
        try:
            for last, checkpoint in pairwise((0, *_CHECKPOINTS)):
                if checkpoint <= workflows:
                    await _fill(wonder, range(last + 1, checkpoint), different)
                    await _show(wonder, other, url, checkpoint, different)
        finally:
            await other.close()


async def _fill(wonder: Application, numbers: range, different: bool) -> None:
    """Deploy what comes between, many in one file, because that takes less time."""
    for first in range(numbers.start, numbers.stop, _TOGETHER):
        together = range(first, min(first + _TOGETHER, numbers.stop))
        await wonder.deploy(
            {
                "workflow": _workflow(first, different),
                "workflows": {f"workflow-{number}": _workflow(number, different) for number in together[1:]},
            }
        )


async def _show(wonder: Application, other: Store, url: str, number: int, different: bool) -> None:
    """Deploy one workflow and a few more like it, and print the medians."""
    samples = [
        await _sample(wonder, other, url, {"workflow": _workflow(number + 1_000_000 * extra, different)})
        for extra in range(_SAMPLES)
    ]
    ((objects,),) = await other.query(_OBJECTS[other.dialect])
    cells = [f"{1_000 * statistics.median(column):8.2f}" for column in zip(*samples, strict=True)]
    print(f"{number:9,} {' '.join(cells)} {objects:8,}", flush=True)


async def _sample(wonder: Application, other: Store, url: str, definition: dict[str, Any]) -> list[float]:
    began = perf_counter()
    times = [process_time()]
    deployed = await wonder.deploy(definition)
    wall = perf_counter() - began
    times.append(process_time())
    await other.fetch("owner_of_context_table", "context_none")
    times.append(process_time())
    opened = await open_store(url)
    await opened.fetch("owner_of_context_table", "context_none")
    await opened.close()
    times.append(process_time())
    run = await wonder.start(deployed.name, {})
    result = await run.wait()
    assert result.status == "completed", result
    times.append(process_time())
    spent = [later - earlier for earlier, later in pairwise(times)]
    return [spent[0], wall, *spent[1:]]


def _workflow(number: int, different: bool) -> dict[str, Any]:
    """A workflow of one node, whose context has some fields and up to three lists."""
    chance = random.Random(number if different else 0)
    fields = {f"field_{chance.randrange(10**6)}": {"type": chance.choice(_KINDS)} for _ in range(chance.randint(2, 15))}
    lists = {f"list_{chance.randrange(10**6)}": _list(chance) for _ in range(chance.randint(0, 3))}
    state = {"type": "object", "properties": {"n": {"type": "integer"}, **fields, **lists}}
    action = {"kind": "update_context", "implementation": {"updates": [{"path": "state.n", "expr": "1 + 1"}]}}
    return {
        "name": f"workflow-{number}",
        "initial_node": "a",
        "context_schema": state,
        "nodes": {"a": {"action": action}},
    }


def _list(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.5:
        return {"type": "array", "items": {"type": chance.choice(_KINDS)}}
    names = [f"part_{chance.randrange(10**6)}" for _ in range(chance.randint(1, 6))]
    return {"type": "array", "items": {"properties": {name: {"type": chance.choice(_KINDS)} for name in names}}}


if __name__ == "__main__":
    main()
