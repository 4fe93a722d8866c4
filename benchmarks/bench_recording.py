"""How long recording takes: decisions into rows, rows into a database, runs out of it again; and how many rows.

Times are microseconds of CPU, except where the label says wall: those hold the disk's part as well.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.engine_runs import append, workflow
from wonder.context.plan import ContextPlan, plan_context, table_prefix
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decide import decide
from wonder.engine.decisions import Decision, DispatchTask
from wonder.engine.facts import RunStarted, TaskCompleted
from wonder.engine.limits import Limits
from wonder.engine.state import RunState
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import claim_lease
from wonder.storage.runs.loading import load_runs
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun, Recorded
from wonder.storage.store import Store

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "all": {"type": "array"}}}
_TASK = {"input": {"n": "$.state.n"}, "output": {"state.n": "$.n"}}
_NODES = 5
_RUNS = 1_000
_BRANCHES = 10_000

Turn = tuple[Recorded, list[Decision]]


class _Program(NamedTuple):
    workflow: CompiledWorkflow
    plan: ContextPlan


def measure() -> list[tuple[str, float]]:
    """Give labels with microseconds, or with rows where the label says so."""
    return asyncio.run(_measure())


async def _measure() -> list[tuple[str, float]]:
    found = [*_recording(), *_recording_branches()]
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{folder}/bench.db")
        found += await _storing(store)
        await store.close()
    return found


def _recording() -> list[tuple[str, float]]:
    program = _chain(50)
    steps = _play(program, 20)
    began, rows, nodes = process_time(), 0, 0
    for turns in steps[1:]:
        batch = Batch()
        for record, decisions in turns:
            batch.add(record, decisions, 0)
        rows += sum(len(of_statement) for _, of_statement in batch.entries())
        nodes += len(turns)
    spent = process_time() - began
    return [("recording a node of a chain, 20 runs a batch", spent / nodes * 1e6), ("… rows of it", rows / nodes)]


def _recording_branches() -> list[tuple[str, float]]:
    node = {"input": {"n": "$.item"}, "output": {"state.n": "$.n"}}
    compiled = workflow(
        {"start": {"updates": []}, "each": node, "end": {"updates": []}},
        [
            {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
            {
                "from": "each",
                "to": "end",
                "join": {"sibling_group": "start", "merge": append("state.all", "_branch.output.n")},
            },
        ],
        context_schema=_SCHEMA,
    )
    new_id = map("token{:021}".format, count()).__next__
    run = RunState("run", compiled, Limits(foreach_limit=_BRANCHES))
    record = Recorded(run, _plan("branches"), "project", "definition")
    spent, rows = 0.0, 0

    def write(turns: list[Turn]) -> None:
        nonlocal spent, rows
        began = process_time()
        batch = Batch()
        for turn_record, decisions in turns:
            batch.add(turn_record, decisions, 0)
        rows += sum(len(of_statement) for _, of_statement in batch.entries())
        spent += process_time() - began

    decisions = decide(run, RunStarted({"items": list(range(_BRANCHES))}), now_ms=0, new_id=new_id)
    write([(record, decisions)])
    for dispatch in [decision for decision in decisions if type(decision) is DispatchTask]:
        fact = TaskCompleted(dispatch.token_id, dispatch.input, 0)
        write([(record, decide(run, fact, now_ms=0, new_id=new_id))])
    assert run.status == "completed"
    label = f"recording a branch of {_BRANCHES:,}, a batch each, joined"
    return [(label, spent / _BRANCHES * 1e6), ("… rows of it", rows / _BRANCHES)]


async def _storing(store: Store) -> list[tuple[str, float]]:
    program = _chain(_NODES)
    async with store.transaction() as transaction:
        for statement in program.plan.ddl(store.dialect):
            await transaction.run(statement)
    lease = await claim_lease(store, "bench")
    assert lease is not None
    spent_cpu = spent_wall = 0.0
    steps = _play(program, _RUNS)
    for number, turns in enumerate(steps[:-1]):
        batch = Batch()
        for record, decisions in turns:
            if number == 0:
                batch.start(_new_run(record))
            batch.add(record, decisions, 0)
        entries = batch.entries()
        began_cpu, began_wall = process_time(), perf_counter()
        await store.commit(entries, fence=lease.fence)
        spent_cpu += process_time() - began_cpu
        spent_wall += perf_counter() - began_wall
    nodes = _RUNS * (len(steps) - 1)
    loading = await _loading(store, program, [record.id for record, _ in steps[0]])
    await lease.release()
    return [
        (f"writing a node to SQLite, {_RUNS:,} runs a batch", spent_cpu / nodes * 1e6),
        ("… wall", spent_wall / nodes * 1e6),
        (f"loading a run, {_RUNS:,} at once", loading),
    ]


async def _loading(store: Store, program: _Program, run_ids: list[str]) -> float:
    async def program_of(_id: str, _version: int) -> _Program:
        return program

    began = process_time()
    loaded = await load_runs(store, store.dialect, run_ids, program_of)
    assert len(loaded) == len(run_ids)
    return (process_time() - began) / len(run_ids) * 1e6


def _play(program: _Program, runs: int) -> list[list[Turn]]:
    """Play runs of a chain to their end; gives, for each step, the turn of each run.

    A recorded run must be added before it has another turn, which holds for a chain too: it has no branches.
    """
    new_id: Callable[[], str] = map("01TOKEN{:019}".format, count()).__next__
    records = [
        Recorded(RunState(f"01RUN{n:021}", program.workflow), program.plan, "project", "definition")
        for n in range(runs)
    ]
    steps = [[(one, decide(one.run, RunStarted({}), now_ms=0, new_id=new_id)) for one in records]]
    while not records[0].run.ended:
        turns: list[Turn] = []
        for record, decisions in steps[-1]:
            token_id = next(decision for decision in decisions if type(decision) is DispatchTask).token_id
            fact = TaskCompleted(token_id, {"n": len(steps)}, 0)
            turns.append((record, decide(record.run, fact, now_ms=0, new_id=new_id)))
        steps.append(turns)
    return steps


def _chain(nodes: int) -> _Program:
    names = [f"01NODE{number:020}" for number in range(nodes)]
    steps = [{"from": left, "to": right} for left, right in pairwise(names)]
    return _Program(workflow(dict.fromkeys(names, _TASK), steps, context_schema=_SCHEMA), _plan(f"chain{nodes}"))


def _plan(name: str) -> ContextPlan:
    return plan_context(table_prefix(name, 1), context_schema=_SCHEMA)


def _new_run(record: Recorded) -> NewRun:
    return NewRun(
        id=record.id, project_id="project", workflow_def_id="chain", workflow_version=1, input={}, created_ms=0
    )


if __name__ == "__main__":
    for label, value in measure():
        print(f"{label:55} {value:8.2f}")
