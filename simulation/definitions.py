"""Definitions to simulate: random graphs in the form of a file, and the pattern samples."""

import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

from simulation.graphs import Graph, grows, random_blocks, random_graph
from simulation.mending import mend
from simulation.plays import FILES
from simulation.schedules import SCHEDULED, random_schedules, scheduled_workflow
from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import has_errors
from wonder.definitions.loading import Loaded, load_text, load_value
from wonder.language.values import JsonValue

FUNCTION: Final = "simulation:act"
Events = tuple[tuple[str, str | None], ...]
EVENTS: Final[Events] = (("e", None), ("e", "k"))
INPUT: Final[JsonValue] = {"two": [1, 2], "none": [], "three": [3, 4, 5]}

# The graphs are made for engine tests, where nothing takes any time.
_SLOWER: Final = 20
_TIMES: Final = ("ms", "deadline_ms", "timeout_ms")
_MENDED_MAX: Final = 12
_NUMBERS: Final = {"type": "array", "items": {"type": "integer"}}
_SCHEMAS: Final = {
    "input_schema": {"type": "object", "properties": {**dict.fromkeys(("two", "none", "three"), _NUMBERS), "last": {}}},
    "context_schema": {
        "type": "object",
        "properties": {"n": {}, "o": {"type": "object", "properties": {"a": {"type": "integer"}}}, "m": {}},
    },
    # Nothing is said of it, so that a trigger may give it to what refuses it.
    "output_schema": {"type": "object", "properties": {"last": {}}},
}
_WAITS: Final = ("sleep", "human_input", "wait_for_event", "workflow_call")
_KEYS: Final = (
    {"key_template": "{{run_id}}"},
    {"key_template": "shared"},
    {"key_template": "brief", "ttl_seconds": 1},
)
_RETRIES: Final = (
    {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 0},
    {"max_attempts": 3, "backoff": "exponential", "initial_delay_ms": 40},
)


_ALL: Final = {"two": "@input.two", "none": "@input.none", "three": "@input.three"}
# What a workflow triggers: always, for each of some or no items, only sometimes, in vain, and not for long.
_TRIGGERS: Final = (
    {"workflowId": "called", "inputs": _ALL},
    {"workflowId": "called", "inputs": {"two": ["@item", "@index"]}, "forEach": "@input.three", "max_retries": 2},
    {"workflowId": "called", "inputs": _ALL, "forEach": "@input.none"},
    {"workflowId": "called", "inputs": {"two": [], "last": "@output.last"}, "max_retries": 1},
    {"workflowId": "called", "inputs": {"two": "@output.last"}},
    {"workflowId": "nobody", "inputs": _ALL},
    {"workflowId": "called", "inputs": _ALL, "workflow_timeout_ms": 150},
    {"workflowId": "called", "inputs": _ALL, "workflow_timeout_ms": 80, "max_retries": 1},
    {"workflowId": "called", "inputs": _ALL, "workflow_timeout_ms": 80, "on_timeout": "human_gate"},
)


def random_definition(seed: int, nodes_max: int) -> Loaded:
    """Make a definition that can be stored: a workflow, another one that it may call or trigger, perhaps schedules."""
    random = Random(f"definition {seed}")
    # By a chance of their own, so that the graphs are what they are without.
    triggering = Random(f"triggers {seed}")
    while True:
        bundle = _bundle(random, nodes_max)
        if triggering.random() < 0.4:
            bundle["workflow"]["triggers"] = triggering.sample(_TRIGGERS, triggering.randint(1, 3))
        if schedules := random_schedules(seed):
            bundle["workflows"][SCHEDULED] = scheduled_workflow(seed)
            bundle["schedules"] = schedules
        for _ in range(_MENDED_MAX):
            loaded = load_value(bundle)
            errors = [fault for fault in loaded.check(Catalog()) if has_errors([fault])]
            if not errors:
                return loaded
            mend(bundle, errors)


def pattern_of(seed: int) -> int | None:
    """Give the number of the pattern sample that a definition's seed stands for: every fourth does."""
    return 1 + seed // 4 % len(FILES) if seed % 4 == 3 else None


def sample_definition(pattern: int) -> Loaded:
    """Read one of the pattern samples."""
    path = FILES[pattern]
    return load_text(path.read_text("utf-8"), path.name)


def sample_events(pattern: int) -> Events:
    """Give the events that a pattern sample waits for."""
    text = FILES[pattern].read_text("utf-8")
    return tuple((name, None) for name in re.findall(r"event: ([\w-]+)", text)) or EVENTS


def _bundle(random: Random, nodes_max: int) -> Any:
    make = random.choice([random_graph, random_blocks, random_blocks])
    main = _small(make, random, nodes_max if make is random_blocks else max(3, nodes_max * 2 // 3))
    called = _small(make, random, min(4, nodes_max))
    return {
        "workflow": {"name": "simulated", **_workflow(random, main, calls="called")},
        "workflows": {"called": _workflow(random, called, calls=None)},
    }


def _small(make: Callable[[Random, int], Graph], random: Random, nodes_max: int) -> Graph:
    while True:
        graph = make(random, nodes_max)
        if not grows(graph):
            return graph


def _workflow(random: Random, graph: Graph, calls: str | None) -> dict[str, Any]:
    fields = dict(graph.fields)
    if "timeout_ms" in fields:
        fields["timeout_ms"] *= _SLOWER
    return {
        "initial_node": next(iter(graph.nodes)),
        "nodes": {name: _node(random, spec, calls) for name, spec in graph.nodes.items()},
        "transitions": [_transition(spec) for spec in graph.transitions],
        **_SCHEMAS,
        **fields,
    }


def _node(random: Random, spec: dict[str, Any], calls: str | None) -> dict[str, Any]:
    given = {key: value * _SLOWER if key in _TIMES else value for key, value in spec.items()}
    mappings = {"input_mapping": given.pop("input", None), "output_mapping": given.pop("output", None)}
    task = given.pop("task", {})
    kind = given.pop("kind", "update_context" if "updates" in given else "python")
    if kind == "workflow_call" and calls is None:
        kind, given = "sleep", {"ms": 30}
    match kind:
        case "python":
            return {"task": _task(random), **mappings}
        case "update_context":
            given = {"updates": [{"path": path, "expr": expr} for path, expr in given["updates"]]}
        case "workflow_call":
            given = {"workflow_def_id": calls, "on_failure": random.choice(["propagate", "catch"])}
            mappings["input_mapping"] = "$.input"
        case "human_input":
            if random.random() < 0.5:
                del given["deadline_ms"]
            elif random.random() < 0.3:
                given["on_deadline"] = {"default": 1}
            given["schema"] = {"type": "integer"}
        case "wait_for_event":
            if random.random() < 0.5:
                del given["timeout_ms"]
            given["key"] = random.choice([None, "k"])
    if kind in ("update_context", "assert"):
        given["scope"] = "workflow"
    action = {"kind": kind, "implementation": given, **_limits_of_wait(random, kind)}
    if task and random.random() < 0.5:
        step = {"ref": "only", "action": action, "input_mapping": "$.input", "output_mapping": {"output": "$"}}
        return {"task": {"steps": [step], "timeout_ms": task["timeout_ms"] * _SLOWER}, **mappings}
    return {"action": action, **mappings}


def _limits_of_wait(random: Random, kind: str) -> dict[str, Any]:
    """Give some waits a time-out, and some calls a key: of one run, or shared by all runs."""
    limits: dict[str, Any] = {}
    if kind in _WAITS and random.random() < 0.2:
        limits["execution"] = {"timeout_ms": random.choice([50, 500, 2_000])}
    if kind == "workflow_call" and random.random() < 0.4:
        limits["idempotency"] = random.choice(_KEYS)
    return limits


def _task(random: Random) -> dict[str, Any]:
    """Make a task of one or two steps; it always has a time-out, because actions may hang."""
    action: dict[str, Any] = {"kind": "python", "implementation": {"function": FUNCTION}}
    if random.random() < 0.4:
        execution: dict[str, Any] = {"timeout_ms": 700}
        if random.random() < 0.7:
            execution["retry_policy"] = random.choice(_RETRIES)
        action["execution"] = execution
    if random.random() < 0.3:
        action["idempotency"] = {"key_template": "{{run_id}}/{{node}}/{{branch}}"}
    step: dict[str, Any] = {
        "ref": "act",
        "action": action,
        "input_mapping": "$.input",
        "output_mapping": {"output": "$"},
    }
    task: dict[str, Any] = {"steps": [step], "timeout_ms": random.choice([400, 2_000, 2_000])}
    if random.random() < 0.3:
        task["retry"] = random.choice(_RETRIES)
        step["on_failure"] = "retry"
    elif random.random() < 0.2:
        step["on_failure"] = "continue"
    return task


def _transition(spec: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in spec.items() if key not in ("if", "join")}
    if "if" in spec:
        made["condition"] = spec["if"]
    if "join" in spec:
        join = dict(spec["join"])
        if join["timeout_ms"]:
            join["timeout_ms"] *= _SLOWER
        made["synchronization"] = join
    return made
