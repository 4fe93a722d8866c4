"""Fills a database with generated runs, as many as years of work would leave, in a minute or two.

The workflows are deployed; runs, their contexts and their live tokens are then written in bulk, past the engine. Runs
have no events: lists of runs read none.
"""

import importlib
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import time
from typing import Any, NamedTuple

import apsw

import wonder
from benchmarks.lists.definitions import NODES, WORKFLOWS, order_workflow
from wonder.context.plan import Context, ContextPlan
from wonder.engine.failure import Failure
from wonder.storage.context_tables import load_context_plan
from wonder.storage.postgresql.commits import insertion
from wonder.storage.queries import load_queries
from wonder.storage.runs.cells import to_json
from wonder.storage.runs.records import NewRun
from wonder.storage.sqlite.connection import connect
from wonder.storage.ulids import ulid_of
from wonder.storage.url import SqliteAddress, parse_url

_FUNCTIONS = Path(__file__).parent.parent / "runs"
_PORTION = 20_000
_DAYS = 90
_STATUSES = {
    "completed": 900,
    "failed": 60,
    "cancelled": 15,
    "queued": 10,
    "waiting": 9,
    "running": 4,
    "paused": 1.5,
    "quarantined": 0.5,
}
_CODES = ("TASK_FAILED", "TIMEOUT", "PROVIDER_DOWN", "OUTPUT_INVALID", "BUDGET_EXCEEDED", "NOT_FOUND", "RATE_LIMITED")
_REGIONS = ("north", "south", "east", "west")
_SEED = 19

Written = dict[str, list[Sequence[Any]]]
Write = Callable[[Written], Any]


class _Version(NamedTuple):
    """A version of a workflow that runs are made of."""

    workflow_id: str
    def_id: str
    version: int
    node_ids: list[str]
    plan: ContextPlan


async def generate(url: str, runs: int) -> None:
    """Deploy the workflows and write so many runs of them, from old to new."""
    async with wonder.open(url, modules=["noop"], module_folders=[_FUNCTIONS]) as app:
        versions = [await _deployed(app, number, version) for number in range(WORKFLOWS) for version in (1, 2)]
        project_id = app.home.project_id
    address = parse_url(url)
    if isinstance(address, SqliteAddress):
        _fill_sqlite(address, _portions(project_id, versions, runs))
    else:
        await _fill_postgres(url, _portions(project_id, versions, runs))


async def _deployed(app: Any, number: int, version: int) -> _Version:
    workflow = await app.deploy(order_workflow(number, version))
    definition = await app.definition(workflow.workflow_def_id, version)
    nodes = {node.ref: node.id for node in definition.nodes}
    plan = await load_context_plan(app.store, definition)
    return _Version(workflow.id, definition.id, version, [nodes[name] for name in NODES], plan)


def _portions(project_id: str, versions: list[_Version], runs: int) -> Iterator[Written]:
    chance = random.Random(_SEED)
    now_ms, made = int(time() * 1_000), list[str]()
    # Of each workflow half as many as of the one before, down to a thousandth.
    weights = [max(0.5 ** (number // 2), 0.001) for number in range(len(versions))]
    written: Written = {}
    for number in range(runs):
        created_ms = now_ms - _DAYS * 86_400_000 * (runs - number) // runs
        id = ulid_of(created_ms, chance.getrandbits(80))
        _add_run(written, chance, project_id, chance.choices(versions, weights)[0], id, created_ms, made)
        if number % 50 == 0:
            made.append(id)
        if (number + 1) % _PORTION == 0 or number + 1 == runs:
            yield written
            written = {}


def _add_run(
    written: Written, chance: random.Random, project_id: str, of: _Version, id: str, created_ms: int, made: list[str]
) -> None:
    kind = chance.random()
    parent = (made[0] if kind < 0.02 else chance.choice(made)) if made and kind < 0.04 else None
    retry_of = chance.choice(made) if made and kind > 0.99 else None
    (status,) = chance.choices(list(_STATUSES), list(_STATUSES.values()))
    node = chance.randrange(len(NODES))
    row = NewRun(
        id=id,
        project_id=project_id,
        workflow_id=None if parent else of.workflow_id,
        workflow_def_id=of.def_id,
        workflow_version=of.version,
        input={"customer": f"customer-{chance.randrange(50_000)}", "amount": chance.randrange(10_000)},
        created_ms=created_ms,
        parent_run_id=parent,
        retry_of_run_id=retry_of,
    )
    cells = row.row()
    cells[5], cells[6] = ("paused", "quarantined") if status == "quarantined" else (status, None)
    if status != "queued":
        cells[19], cells[23] = None, created_ms
        context: Context = {"input": row.input, "state": {"region": chance.choice(_REGIONS), "total": 1}, "output": {}}
        for query, rows in of.plan.insert(id, context):
            written.setdefault(query, []).extend(rows)
    if status in ("completed", "failed", "cancelled"):
        cells[24] = created_ms + chance.randrange(60_000)
        cells[20] = to_json({"total": 1}) if status == "completed" else None
    elif status != "queued":
        token = [id, f"{id}-1", of.node_ids[node], "root", None, None, 0, 1, None, "executing", 1, False, 0]
        written.setdefault("insert_token", []).append([*token, None, None, None, created_ms, created_ms, None])
    if status == "failed":
        code = _CODES[min(int(chance.expovariate(0.7)), len(_CODES) - 1)]
        cells[21] = to_json(Failure(code, f"it failed for order {chance.randrange(10**6)}", 3, node=NODES[node]))
    written.setdefault("insert_run", []).append(cells)


def _fill_sqlite(address: SqliteAddress, portions: Iterator[Written]) -> None:
    connection: apsw.Connection = connect(address, busy_seconds=60)
    queries = load_queries("sqlite")
    connection.pragma("synchronous", "off")
    for written in portions:
        with connection:
            for query, rows in written.items():
                connection.executemany(queries.resolve(query), rows)
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


async def _fill_postgres(url: str, portions: Iterator[Written]) -> None:
    asyncpg: Any = importlib.import_module("asyncpg")
    connection, queries = await asyncpg.connect(url), load_queries("postgresql")
    for written in portions:
        for query, rows in written.items():
            copied = insertion(queries.resolve(query))
            assert copied, query
            await connection.copy_records_to_table(copied.table, columns=copied.columns, records=rows)
    # As autovacuum would.
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
