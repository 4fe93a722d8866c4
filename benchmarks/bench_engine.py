"""How long the engine takes to decide: per node of a chain, per pure node, and per branch of a fan-out with a join."""

import sys
from itertools import count, pairwise
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.engine_runs import append, workflow
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decide import decide
from wonder.engine.decisions import DispatchTask
from wonder.engine.facts import RunStarted, TaskCompleted, TurnContinued
from wonder.engine.limits import Limits
from wonder.engine.state import RunState

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "all": {"type": "array"}}}
_TASK = {"input": {"n": "$.state.n"}, "output": {"state.n": "$.n"}}


def measure() -> list[tuple[str, float]]:
    """Give labels with microseconds of CPU time."""
    return [
        ("a task node of a chain", _per_node(_chain({}), 50, 100)),
        ("the same with a condition that holds", _per_node(_chain({"if": "state.n > 0 and state.n < 5"}), 50, 100)),
        ("a pure node of a loop", _per_pure_node(20_000)),
        ("a branch of 1,000, joined", _per_branch(1_000, 10)),
        ("a branch of 10,000, joined", _per_branch(10_000, 2)),
        ("a branch of 100,000, joined", _per_branch(100_000, 1)),
    ]


def _chain(fields: dict[str, object]) -> CompiledWorkflow:
    names = [f"n{number}" for number in range(50)]
    steps = [{"from": left, "to": right, **fields} for left, right in pairwise(names)]
    return workflow(dict.fromkeys(names, _TASK), steps, context_schema=_SCHEMA)


def _per_node(compiled: CompiledWorkflow, nodes: int, runs: int) -> float:
    new_id = map("token{:021}".format, count()).__next__
    began = process_time()
    for _ in range(runs):
        run = RunState("run", compiled)
        decisions = decide(run, RunStarted({}), now_ms=0, new_id=new_id)
        for _ in range(nodes):
            token_id = next(d for d in decisions if type(d) is DispatchTask).token_id
            decisions = decide(run, TaskCompleted(token_id, {"n": 1}, 0), now_ms=0, new_id=new_id)
        assert run.status == "completed"
    return (process_time() - began) / nodes / runs * 1e6


def _per_pure_node(nodes: int) -> float:
    updates = [("state.n", "coalesce(state.n, 0) + 1")]
    loop = [{"from": "a", "to": "a", "if": f"state.n < {nodes}"}, {"from": "a", "to": "b", "priority": 1}]
    compiled = workflow({"a": {"updates": updates}, "b": {"updates": []}}, loop, context_schema=_SCHEMA)
    new_id = map("token{:021}".format, count()).__next__
    began = process_time()
    run = RunState("run", compiled)
    decide(run, RunStarted({}), now_ms=0, new_id=new_id)
    while not run.ended:
        decide(run, TurnContinued(), now_ms=0, new_id=new_id)
    return (process_time() - began) / nodes * 1e6


def _per_branch(branches: int, runs: int) -> float:
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
    items = list(range(branches))
    began = process_time()
    for _ in range(runs):
        run = RunState("run", compiled, Limits(foreach_limit=branches))
        decisions = decide(run, RunStarted({"items": items}), now_ms=0, new_id=new_id)
        for dispatch in [d for d in decisions if type(d) is DispatchTask]:
            decide(run, TaskCompleted(dispatch.token_id, dispatch.input, 0), now_ms=0, new_id=new_id)
        assert run.status == "completed"
        assert run.state["all"] == items
    return (process_time() - began) / branches / runs * 1e6


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{label:40} {microseconds:8.1f} µs")
