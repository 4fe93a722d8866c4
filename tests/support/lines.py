"""Workflows of nodes in a line that share one task: results of theirs are logged."""

from typing import Any

from support.systems import bundle, line

NODES = [f"node-{number}" for number in range(12)]


def work_in_line(name: str = "works", nodes: list[str] = NODES) -> dict[str, Any]:
    """Make a workflow of nodes with one task, so that no node needs anything to be read."""
    step = {"ref": "it", "action": "work", "input_mapping": "$.input", "output_mapping": {"output.value": "$"}}
    node = {"task": "work", "output_mapping": {"state.value": "$.value", "output.value": "$.value"}}
    made = bundle(name, {one: {**node, "input_mapping": {"name": one}} for one in nodes}, line(*nodes))
    action = {"kind": "python", "implementation": {"function": "tests:work"}}
    return {**made, "tasks": {"work": {"steps": [step]}}, "actions": {"work": action}}
