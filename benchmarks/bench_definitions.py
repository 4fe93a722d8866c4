"""How long it takes to load and to deploy a definition of 100 nodes."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wonder.app.opening import open_app
from wonder.definitions.catalog import Catalog
from wonder.definitions.loading import load_text

NODES = 100


def definition(nodes: int = NODES, note: str = "") -> str:
    """Write a chain of nodes with mappings, conditions, schemas and a task of its own each."""
    lines = [
        "workflow:",
        f"  name: chain-of-{nodes}",
        f"  description: {note or 'a chain'}",
        "  input_schema: {type: object, required: [n], properties: {n: {type: integer}}}",
        "  context_schema:",
        "    type: object",
        "    properties: {count: {type: integer}, total: {type: number}, name: {type: string}}",
        "  output_schema: {type: object, properties: {count: {type: integer}}}",
        "  initial_node: node-0",
        "  nodes:",
    ]
    for i in range(nodes):
        lines += [
            f"    node-{i}:",
            "      task: step",
            "      input_mapping: {n: $.input.n, count: $.state.count}",
            "      output_mapping: {state.count: $.count}",
        ]
    lines.append("  transitions:")
    for i in range(nodes - 1):
        lines += [
            f"    - {{from: node-{i}, to: node-{i + 1}, condition: 'state.count >= 0 and input.n < 1000000'}}",
            f"    - {{from: node-{i}, to: node-{nodes - 1}, priority: 1}}",
        ]
    lines += [
        "tasks:",
        "  step:",
        "    input_schema: {type: object, properties: {n: {type: integer}, count: {type: integer}}}",
        "    output_schema: {type: object, properties: {count: {type: integer}}}",
        "    steps:",
        "      - {ref: call, action: call, input_mapping: $.input, output_mapping: {output.count: $.n}}",
        "actions:",
        "  call: {kind: python, implementation: {function: 'module:function'}}",
    ]
    return "\n".join(lines) + "\n"


def measure() -> list[tuple[str, float]]:
    """Give the medians in microseconds."""
    text = definition()
    found = load_text(text, "bench.yaml").check(Catalog())
    assert not found, found[0]
    return [
        ("reading a definition of 100 nodes", _median(lambda: load_text(text, "bench.yaml"), 15)),
        ("reading and checking it", _median(lambda: load_text(text, "bench.yaml").check(Catalog()), 15)),
        ("deploying it on SQLite, checks included", asyncio.run(_deploying())),
    ]


async def _deploying(times: int = 9) -> float:
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_app(f"sqlite:///{Path(folder) / 'bench.db'}") as app:
            for i in range(times):
                # Another description each time, so that each deployment stores a new version.
                text = definition(note=f"chain {i}")
                start = time.perf_counter()
                await app.deploy_loaded(load_text(text, "bench.yaml"))
                rounds.append((time.perf_counter() - start) * 1e6)
    return statistics.median(rounds)


def _median(work: Callable[[], object], times: int) -> float:
    rounds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        rounds.append((time.perf_counter() - start) * 1e6)
    return statistics.median(rounds)
