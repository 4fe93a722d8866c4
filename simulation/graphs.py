"""Random graphs of a few nodes, in which all of control flow meets by chance; a seed always gives the same graph."""

from math import prod
from random import Random
from typing import Any, NamedTuple

_CONDITIONS = [
    "state.n > 1",
    "state.n IS NULL OR state.n < 3",
    "_branch.index = 0",
    "_branch.index % 2 = 1",
    "item > 1",
    "output.last = 'x'",
]
_STRATEGIES: list[Any] = ["all", "all", "any", {"m_of_n": 1}, {"m_of_n": 2}, {"m_of_n": 3}]
_TOKENS_MAX = 50
_TOKENS_IN_CYCLES_MAX = 6
_MERGES = ["append", "keyed_by_branch", "last_wins", "merge_object"]


class Graph(NamedTuple):
    """A workflow in few words: nodes by name, transitions, and fields of the workflow."""

    nodes: dict[str, dict[str, Any]]
    transitions: list[dict[str, Any]]
    fields: dict[str, Any]


def random_graph(random: Random, nodes_max: int = 8) -> Graph:
    """Make a graph in which fan-outs, joins, loops, waits and error routes meet by chance."""
    names = [f"n{number}" for number in range(random.randint(3, nodes_max))]
    nodes = {name: _node(random) for name in names}
    transitions: list[dict[str, Any]] = []
    joins: dict[str, dict[str, Any]] = {}
    for place in range(len(names) - 1):
        for priority in range(tiers := random.randint(1, 2)):
            for _ in range(random.choice([1, 1, 1, 2, 3])):
                made = _transition(random, names, place, priority, joins)
                if priority == tiers - 1 and random.random() < 0.8:
                    made.pop("if", None)
                transitions.append(made)
    fields: dict[str, Any] = {}
    if random.random() < 0.3:
        fields = {"timeout_ms": random.choice([5, 10, 30]), "on_timeout": random.choice(["fail", "human_gate"])}
    return Graph(nodes, transitions, fields)


def random_blocks(random: Random, nodes_max: int = 12) -> Graph:
    """Make a graph out of blocks that fit into one another: nested fan-outs with their joins, loops, error routes."""
    blocks = _Blocks(random, nodes_max)
    blocks.sequence("start", 0)
    fields: dict[str, Any] = {}
    if random.random() < 0.15:
        fields = {"timeout_ms": random.choice([30, 100]), "on_timeout": random.choice(["fail", "human_gate"])}
    return Graph(blocks.nodes, blocks.transitions, fields)


def grows(graph: Graph) -> bool:
    """Say whether so many tokens may come of a graph that its run would take for ever."""
    places = {name: place for place, name in enumerate(graph.nodes)}
    widths: dict[tuple[str, int], int] = {}
    for transition in graph.transitions:
        tier = (transition["from"], transition.get("priority", 0))
        made = 3 if "foreach" in transition else transition.get("spawn_count", 1)
        widths[tier] = widths.get(tier, 0) + made
    has_cycle = any(places[one["to"]] < places[one["from"]] for one in graph.transitions)
    widest = [max((width for (ref, _), width in widths.items() if ref == name), default=1) for name in graph.nodes]
    return prod(widest) > (_TOKENS_IN_CYCLES_MAX if has_cycle else _TOKENS_MAX)


class _Blocks:
    def __init__(self, random: Random, nodes_max: int) -> None:
        self._random, self._left = random, nodes_max
        self.nodes: dict[str, dict[str, Any]] = {"start": {"updates": []}}
        self.transitions: list[dict[str, Any]] = []

    def sequence(self, before: str, depth: int) -> str:
        """Put some blocks behind a node, one after the other; gives the last node."""
        for _ in range(self._random.randint(1, 4 - depth)):
            if self._left <= 0:
                break
            make = self._random.choice([self._step, self._step, self._fan_out, self._fan_out, self._loop, self._caught])
            before = make(before, depth)
        return before

    def _add(self, spec: dict[str, Any] | None = None) -> str:
        name = f"n{len(self.nodes)}"
        if spec is None:
            # More often than elsewhere, because what waits is what crashes meet.
            spec = _wait(self._random) if self._random.random() < 0.3 else _node(self._random)
        self.nodes[name] = spec
        self._left -= 1
        return name

    def _link(self, before: str, after: str, **fields: Any) -> None:
        self.transitions.append({"from": before, "to": after, **fields})

    def _step(self, before: str, depth: int) -> str:
        node = self._add()
        self._link(before, node)
        return node

    def _fan_out(self, before: str, depth: int) -> str:
        random = self._random
        split = self._add({"updates": []})
        self._link(before, split)
        join = self._add({"updates": [("state.n", "coalesce(state.n, 0) + 1")]})
        synchronization = _join(random, [split]) | {"strategy": random.choice(_STRATEGIES[:-1])}
        kind = random.choice(["foreach", "spawn", "several"])
        if kind == "several":
            count = random.randint(2, 3)
            for _ in range(count):
                first = self._add()
                self._link(split, first)
                self._enter(self._inside(first, depth), join, synchronization)
            return join
        first = self._add()
        if kind == "spawn":
            self._link(split, first, spawn_count=random.randint(1, 4))
        else:
            collection = random.choice(["input.two", "input.three", "input.three", "input.none"])
            self._link(
                split, first, foreach={"collection": collection, "max_parallel": random.choice([None, None, 1, 2])}
            )
        self._enter(self._inside(first, depth), join, synchronization)
        return join

    def _inside(self, first: str, depth: int) -> str:
        return self.sequence(first, depth + 1) if depth < 2 and self._random.random() < 0.5 else first

    def _enter(self, last: str, join: str, synchronization: dict[str, Any]) -> None:
        self._link(last, join, join=synchronization)
        if self._random.random() < 0.15:
            # Some branches end elsewhere.
            self.transitions[-1]["if"] = self._random.choice(["_branch.index > 0", "coalesce(state.n, 0) < 4"])
            self._link(last, self._add(), priority=1)

    def _loop(self, before: str, depth: int) -> str:
        again, done = self._add(), self._add({"updates": []})
        self._link(before, again)
        limit = self._random.choice([{"max_iterations": 2}, {"max_iterations": 3, "timeout_ms": 400}])
        fields = {"loop_config": limit} | ({"if": "coalesce(state.n, 0) < 3"} if self._random.random() < 0.5 else {})
        self._link(again, again, **fields)
        self._link(again, done, priority=1)
        return done

    def _caught(self, before: str, depth: int) -> str:
        tried, mended, done = self._add(), self._add(), self._add({"updates": []})
        self._link(before, tried)
        self._link(tried, mended, **{"if": "_last_error.code IS NOT NULL"})
        self._link(tried, done, priority=1)
        self._link(mended, done)
        return done


def _node(random: Random) -> dict[str, Any]:
    kind = random.random()
    if kind < 0.5:
        return {"input": {"s": "$.state", "i": "$.item"}, "output": random.choice([{}, {"state.n": "$.n"}]) or None}
    if kind < 0.75:
        updates = [
            ("state.n", "coalesce(state.n, 0) + 1"),
            ("output.last", {"$literal": "x"}),
            ("state.o.a", 1),
            ("state.o", "json_remove(coalesce(state.o, json_object('a', 2, 'b', 3)), '$.a')"),
        ]
        return {"updates": random.sample(updates, random.randint(0, 2))}
    if kind < 0.8:
        return {"kind": "assert", "expr": "coalesce(state.n, 0) < 2"}
    return _wait(random)


def _wait(random: Random) -> dict[str, Any]:
    return random.choice(
        [
            {"kind": "sleep", "ms": random.randint(0, 20)},
            {"kind": "human_input", "prompt": "well?", "deadline_ms": 30, "output": {"state.n": "$"}},
            {"kind": "wait_for_event", "event": "e", "timeout_ms": 20},
            {"kind": "workflow_call", "workflow_def_id": "w", "task": {"timeout_ms": 40}},
        ]
    )


def _transition(
    random: Random, names: list[str], place: int, priority: int, joins: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    back = random.random() < 0.12
    to = random.choice(names[: place + 1] if back else names[place + 1 :])
    made: dict[str, Any] = {"from": names[place], "to": to, "priority": priority}
    if back or random.random() < 0.05:
        made["loop_config"] = {"max_iterations": random.randint(1, 2)}
    chance = random.random()
    if chance < 0.15:
        made["if"] = "_last_error.code = 'BROKEN' OR _last_error.code = 'ASSERTION_FAILED'"
    elif chance < 0.35:
        made["if"] = random.choice(_CONDITIONS)
    if random.random() < 0.45:
        made["join"] = joins.setdefault(to, _join(random, names[: place + 1]))
    if "join" not in made and random.random() < 0.3:
        limit = random.choice([None, 1, 2])
        made["foreach"] = {
            "collection": random.choice(["input.two", "input.none", "input.three"]),
            "max_parallel": limit,
        }
    elif random.random() < 0.15:
        made["spawn_count"] = random.randint(1, 3)
    return made


def _join(random: Random, upstream: list[str]) -> dict[str, Any]:
    merge = {"source": "_branch.output", "target": "state.m", "strategy": random.choice(_MERGES)}
    return {
        "strategy": random.choice(_STRATEGIES),
        "sibling_group": random.choice(upstream),
        "merge": random.choice([merge, None]),
        "on_early_complete": random.choice(["cancel", "abandon"]),
        "timeout_ms": random.choice([None, None, 10]),
        "on_timeout": random.choice(["fail", "proceed_with_available"]),
    }
