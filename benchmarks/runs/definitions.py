"""The workflows that are measured: chains and fan-outs of no-op nodes, and one that waits for an event.

A no-op node is a task of one `python` action that returns its input. Nothing is left out around it: mappings of the
node and of the step, schemas of the task, the action and the context, context tables, and every event.
"""

from itertools import pairwise
from typing import Any

_NUMBER: dict[str, Any] = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
_NODE: dict[str, Any] = {
    "task": "noop",
    "input_mapping": {"n": "$.state.n"},
    "output_mapping": {"state.n": "$.n"},
}
_FIRST: dict[str, Any] = _NODE | {"input_mapping": {"n": "$.input.n"}}
_TASKS: dict[str, Any] = {
    "noop": {
        "input_schema": _NUMBER,
        "output_schema": _NUMBER,
        "steps": [
            {
                "ref": "call",
                "action": "return-input",
                "input_mapping": {"n": "$.input.n"},
                "output_mapping": {"output.n": "$.n"},
            }
        ],
    }
}


def _actions(function: str = "return_input") -> dict[str, Any]:
    implementation = {"function": f"noop:{function}"}
    action = {"kind": "python", "implementation": implementation, "requires": _NUMBER, "produces": _NUMBER}
    return {"return-input": action}


def chain(nodes: int, function: str = "return_input") -> dict[str, Any]:
    """No-op nodes one after the other; its input is `{"n": 1}`."""
    names = [f"node-{number}" for number in range(nodes)]
    return {
        "workflow": {
            "name": f"chain-{nodes}",
            "input_schema": _NUMBER,
            "context_schema": _NUMBER,
            "output_schema": {},
            "initial_node": names[0],
            "nodes": {name: _FIRST if name == names[0] else _NODE for name in names},
            "transitions": [{"from": one, "to": other} for one, other in pairwise(names)],
        },
        "tasks": _TASKS,
        "actions": _actions(function),
    }


def fan_out() -> dict[str, Any]:
    """A branch with a no-op node for each of `input.items`, joined into a list; its input is `{"items": [1, 2, 3]}`."""
    return {
        "workflow": {
            "name": "fan-out",
            "input_schema": {
                "type": "object",
                "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
            },
            "context_schema": {
                "type": "object",
                "properties": {"all": {"type": "array", "items": {"type": "integer"}}},
            },
            "output_schema": {},
            "initial_node": "begin",
            "nodes": {
                "begin": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
                "branch": _NODE | {"input_mapping": {"n": "$.item"}},
                "end": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
            },
            "transitions": [
                {"from": "begin", "to": "branch", "foreach": {"collection": "input.items", "item_var": "item"}},
                {
                    "from": "branch",
                    "to": "end",
                    "synchronization": {
                        "strategy": "all",
                        "sibling_group": "begin",
                        "merge": {"source": "_branch.output.n", "target": "state.all", "strategy": "append"},
                    },
                },
            ],
        },
        "tasks": _TASKS,
        "actions": _actions(),
    }


def waiting() -> dict[str, Any]:
    """A run that waits for an event and then goes through a no-op node."""
    return {
        "workflow": {
            "name": "waiting",
            "input_schema": _NUMBER,
            "context_schema": _NUMBER,
            "output_schema": {},
            "initial_node": "wait",
            "nodes": {
                "wait": {
                    "action": {"kind": "wait_for_event", "implementation": {"event": "go"}},
                    "input_mapping": {"n": "$.input.n"},
                    "output_mapping": {},
                },
                "after": _FIRST,
            },
            "transitions": [{"from": "wait", "to": "after"}],
        },
        "tasks": _TASKS,
        "actions": _actions(),
    }
