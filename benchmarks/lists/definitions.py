"""The workflows whose runs are listed: a few with very many runs, and many with few."""

from itertools import pairwise
from typing import Any

_TEXT = {"type": "string"}
NODES = ("fetch", "check", "charge", "tell")
WORKFLOWS = 20
TAGS = ("billing", "mail", "reports", "imports")


def order_workflow(number: int, version: int) -> dict[str, Any]:
    """Give a workflow of four nodes, with some values in its context; a version differs in its description."""
    tasks = {"noop": {"input_schema": {}, "output_schema": {}, "steps": [{"ref": "call", "action": "noop"}]}}
    actions = {"noop": {"kind": "python", "implementation": {"function": "noop:return_input"}}}
    return {
        "workflow": {
            "name": f"orders-{number:02}",
            "description": f"version {version}",
            "tags": [TAGS[number % len(TAGS)]],
            "input_schema": {"type": "object", "properties": {"customer": _TEXT, "amount": {"type": "integer"}}},
            "context_schema": {"type": "object", "properties": {"region": _TEXT, "total": {"type": "integer"}}},
            "output_schema": {},
            "initial_node": NODES[0],
            "nodes": {name: {"task": "noop"} for name in NODES},
            "transitions": [{"from": one, "to": other} for one, other in pairwise(NODES)],
        },
        "tasks": tasks,
        "actions": actions,
    }
