"""How long it takes to create a workflow in the phase form, and what its nodes cost beside those of a graph."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.definitions.records.workflows import Workflow

STEPS = 20
RUNS = 30

Definition = dict[str, Any]


def source(note: str, number: int) -> str:
    """Write a transform that no other is the same as."""
    return (
        f"// {note} {number}\n"
        "interface Input { items: Array<{ name: string; price: number; tags?: string[] }>; total: number }\n"
        "type Output = Input\n"
        "export default (input: Input): Output => ({\n"
        f"  items: input.items.map(item => ({{ ...item, price: item.price + {number} }})),\n"
        "  total: input.items.reduce((sum, item) => sum + item.price, 0),\n"
        "})"
    )


def phased(note: str) -> Definition:
    """Write a chain of typed steps in the phase form."""
    steps = [
        [
            {
                "name": f"step-{i}",
                "transform": source(note, i),
                "input": _input(f"@step-{i - 1}.output" if i else "@input"),
            }
        ]
        for i in range(STEPS)
    ]
    return {"name": f"phases-{note}", "steps": steps}


def graph(note: str) -> Definition:
    """Write the same chain as a graph."""
    schema: Definition = {"type": "object", "properties": {f"s{i}": {} for i in range(STEPS)}}
    nodes: Definition = {}
    for i in range(STEPS):
        action = {"kind": "transform", "implementation": {"source": source(note, i)}}
        targets = {f"state.s{i}": "$"} | ({"output": "$"} if i == STEPS - 1 else {})
        of = f"$.state.s{i - 1}" if i else "$.input"
        nodes[f"step-{i}"] = {"action": action, "input_mapping": _input(of), "output_mapping": targets}
    transitions = [{"from": f"step-{i}", "to": f"step-{i + 1}"} for i in range(STEPS - 1)]
    fields = {"name": f"graph-{note}", "initial_node": "step-0", "nodes": nodes, "transitions": transitions}
    return {"workflow": {**fields, "context_schema": schema}}


def measure() -> list[tuple[str, float]]:
    """Give microseconds: of whole creations, and of one node."""
    return asyncio.run(_measure())


async def _measure() -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        cold = []
        for i in range(3):
            async with open_wonder(f"sqlite:///{Path(folder) / f'{i}.db'}") as wonder:
                cold.append(await _timed(partial(wonder.deploy, phased(f"cold{i}"))))
        found.append((f"creating a workflow of {STEPS} typed steps, compiler not loaded", statistics.median(cold)))
        async with open_wonder(f"sqlite:///{Path(folder) / '0.db'}") as wonder:
            await wonder.deploy(phased("loads"))
            loaded = await _timed(lambda: wonder.deploy(phased("loaded")))
            found.append(("with the compiler loaded, all its transforms new", loaded))
            changed = {**phased("loaded"), "description": "another"}
            found.append(("with transforms that were compiled before", await _timed(lambda: wonder.deploy(changed))))
            found += await _nodes(wonder, {"phase workflow": phased("run"), "graph": graph("run")})
    return found


async def _nodes(wonder: Application, definitions: dict[str, Definition]) -> list[tuple[str, float]]:
    """Run them in turns, so that what else the machine does falls on all alike."""
    value: Any = {"items": [{"name": "a", "price": 1}, {"name": "b", "price": 2, "tags": ["x"]}], "total": 0}
    workflows = {label: await wonder.deploy(definition) for label, definition in definitions.items()}
    rounds: dict[str, list[float]] = {label: [] for label in workflows}

    async def run(workflow: Workflow) -> None:
        assert (await (await wonder.start(workflow, value)).wait()).status == "completed"

    for i in range(RUNS):
        for label, workflow in workflows.items():
            took = await _timed(partial(run, workflow))
            if i >= RUNS // 3:  # the first ones load and start what the others use
                rounds[label].append(took / STEPS)
    return [(f"a node of a {label}", statistics.median(times)) for label, times in rounds.items()]


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await work()
    return (time.perf_counter() - start) * 1e6


def _input(of: str) -> dict[str, str]:
    return {"items": f"{of}.items", "total": f"{of}.total"}
