"""The workload of real processes: short workflows with all that can be under way when a process dies.

The input of a run follows from its key alone, so that whoever asks for the same run again asks for the same.
"""

import zlib
from itertools import pairwise
from typing import Any, Final

FUNCTION: Final = "proof:act"
EVENT: Final = "go"
Node = dict[str, Any]


def definitions() -> list[dict[str, Any]]:
    """Give the definitions, to be deployed once per database."""
    return [_everything(), _chain(), _fans(), _sleepers()]


NAMES: Final = ("everything", "chain", "fans", "sleepers")


def name_of(key: str) -> str:
    """Say which workflow the run with this key is of."""
    return NAMES[zlib.crc32(key.encode()) % len(NAMES)]


def input_of(key: str) -> dict[str, Any]:
    """Give the input of the run with this key."""
    number = zlib.crc32(key.encode()[::-1])
    return {"key": key, "items": list(range(number % 5)), "ms": 5 + number % 90}


def _act(name: str, **fields: Any) -> Node:
    mapping = {"name": name, "key": "$.input.key"}
    return {
        "action": {"kind": "python", "implementation": {"function": FUNCTION}},
        "input_mapping": mapping,
        **fields,
    }


def _wait(kind: str, implementation: dict[str, Any], **fields: Any) -> Node:
    return {"action": {"kind": kind, "implementation": implementation}, **fields}


def _update(**expressions: str) -> Node:
    updates = [{"path": path.replace("__", "."), "expr": text} for path, text in expressions.items()]
    return _wait("update_context", {"updates": updates})


def _line(*names: str) -> list[dict[str, Any]]:
    return [{"from": left, "to": right} for left, right in pairwise(names)]


def _join(source: str, target: str, group: str, strategy: Any, **fields: Any) -> dict[str, Any]:
    return {"from": source, "to": target, "synchronization": {"strategy": strategy, "sibling_group": group, **fields}}


def _bundle(name: str, nodes: dict[str, Node], transitions: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    graph = {"initial_node": next(iter(nodes)), "nodes": nodes, "transitions": transitions}
    return {"workflow": {"name": name, **graph, **fields}}


_APPEND: Final = {"source": "_branch.output.n", "target": "state.all", "strategy": "append"}
_STATE: Final = {"type": "object", "properties": {"n": {}, "all": {"type": "array"}, "turns": {"type": "integer"}}}


def _everything() -> dict[str, Any]:
    """A fan-out with its join, a question, a timer, a sub-workflow and an event, one after the other."""
    inner = _bundle("inner", {"work": _act("inner", output_mapping={"output": "$"})}, [])["workflow"]
    del inner["name"]
    call = _wait(
        "workflow_call",
        {"workflow_def_id": "inner"},
        input_mapping={"key": "$.input.key"},
        output_mapping={"output.inner": "$.name"},
    )
    hear = _wait("wait_for_event", {"event": EVENT, "key": "{{input.key}}"}, input_mapping={"key": "$.input.key"})
    nodes = {
        "start": _update(),
        "each": _act("$.item", output_mapping={"state.n": "$.name"}),
        "ask": _wait("human_input", {"prompt": "go on?", "schema": {}}, output_mapping={"output.answer": "$"}),
        "sleep": _wait("sleep", {"ms": 30}),
        "call": call,
        "hear": hear,
        "done": _update(output__all="state.all"),
    }
    transitions = [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
        _join("each", "ask", "start", "all", merge=_APPEND),
        *_line("ask", "sleep", "call", "hear", "done"),
    ]
    return {**_bundle("everything", nodes, transitions, context_schema=_STATE), "workflows": {"inner": inner}}


def _chain() -> dict[str, Any]:
    """Actions one after the other, with a loop."""
    nodes = {
        "first": _update(state__turns="0"),
        "second": _act("second"),
        "third": _act("third", output_mapping={"state.n": "$.name"}),
        "turn": _update(state__turns="state.turns + 1"),
        "last": _act("last", output_mapping={"output.n": "$.name"}),
    }
    again = {"from": "turn", "to": "second", "condition": "state.turns < 2", "priority": 1}
    on = {"from": "turn", "to": "last", "priority": 2}
    return _bundle("chain", nodes, [*_line("first", "second", "third", "turn"), again, on], context_schema=_STATE)


def _fans() -> dict[str, Any]:
    """A foreach with few at a time, then a race that is over with the first of three."""
    nodes = {
        "start": _update(),
        "each": _act("$.item", output_mapping={"state.n": "$.name"}),
        "middle": _update(output__all="state.all"),
        "racer": _act("racer", output_mapping={"state.n": "$.name"}),
        "slow": _wait("sleep", {"ms": 200}),
        "end": _act("end"),
    }
    transitions = [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items", "max_parallel": 2}},
        _join("each", "middle", "start", "all", merge=_APPEND),
        {"from": "middle", "to": "racer", "spawn_count": 2},
        {"from": "middle", "to": "slow"},
        _join("racer", "end", "middle", "any"),
        _join("slow", "end", "middle", "any"),
    ]
    return _bundle("fans", nodes, transitions, context_schema=_STATE)


def _sleepers() -> dict[str, Any]:
    """Timers of several lengths between actions, and a join that times out."""
    nodes: dict[str, Node] = {"before_120": _act("before_120"), "nap_120": _wait("sleep", {"ms": 120})}
    nodes |= {"before_40": _act("before_40"), "nap_40": _wait("sleep", {"ms": 40}), "after_40": _act("after_40")}
    nodes |= {
        "quick": _update(),
        "long": _wait("sleep", {"ms": 60_000}),
        "end": _act("end", output_mapping={"output.name": "$.name"}),
    }
    late = {"timeout_ms": 80, "on_timeout": "proceed_with_available"}
    transitions = [
        *_line("before_120", "nap_120", "before_40", "nap_40", "after_40"),
        {"from": "after_40", "to": "quick"},
        {"from": "after_40", "to": "long"},
        _join("quick", "end", "after_40", "all", **late),
        _join("long", "end", "after_40", "all", **late),
    ]
    return _bundle("sleepers", nodes, transitions)
