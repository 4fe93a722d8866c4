"""Definitions: the graph that a run follows, read from the stored records and nothing else."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from wonder.checker.values import read
from wonder.storage.store import Reader

# What a task may be dispatched again after its worker was lost (TSK-5).
LOSSES_MAX: Final = 3
ALL: Final = 0


@dataclass(frozen=True)
class Node:
    """A node, with the limits of its task."""

    id: str
    ref: str
    timeout_ms: int | None
    attempts_max: int
    action_attempts_max: dict[str, int]
    """By the ref of the step: how often its action may be tried within one execution."""
    catches: bool
    """Whether a failure of the sub-workflow that it calls is an output (ACT-10)."""


@dataclass(frozen=True)
class Transition:
    """A transition; `order` is its place among those of its workflow."""

    id: str
    name: str
    order: int
    from_node: str
    to_node: str
    priority: int
    spawn_count: int | None
    max_parallel: int | None
    is_foreach: bool
    joins: bool
    max_iterations: int | None
    is_limited: bool


MERGE_STRATEGIES: Final = ("append", "keyed_by_branch", "merge_object", "last_wins")
ON_TIMEOUT: Final = ("fail", "proceed_with_available")
ON_EARLY_COMPLETE: Final = ("cancel", "abandon")


@dataclass(frozen=True)
class Join:
    """A fan-in: `needed` is the number of arrivals, or ALL; it counts the branches of a node or of a transition."""

    node: str
    order: int
    needed: int
    of_node: str | None
    of_transition: str | None
    timeout_ms: int | None
    on_timeout: str
    on_early_complete: str
    merge: dict[str, str] | None


@dataclass
class Definition:
    """One version of a workflow."""

    id: str
    version: int
    initial_node: str
    timeout_ms: int | None
    schemas: dict[str, Any]
    nodes: dict[str, Node] = field(default_factory=dict)
    transitions: dict[str, Transition] = field(default_factory=dict)
    joins: dict[str, Join] = field(default_factory=dict)
    context_tables: dict[str, int] = field(default_factory=dict)
    triggers: dict[int, dict[str, Any]] = field(default_factory=dict)
    triggers_since_ms: int = 0
    """When this database began to fire triggers: what had completed before has fired none."""

    def leaving(self, node_id: str | None) -> list[Transition]:
        """Give the transitions that leave a node, in the order written."""
        return [transition for transition in self.transitions.values() if transition.from_node == node_id]

    def joins_of(self, node_id: str, transition_ids: list[str]) -> list[Join]:
        """Give the joins that count branches of a firing of this node by these transitions, in the order written."""
        found = [j for j in self.joins.values() if j.of_node == node_id or j.of_transition in transition_ids]
        return sorted(found, key=lambda join: join.order)


async def load_definition(reader: Reader, id: str, version: int) -> Definition | None:
    """Load one version; None if it is not there."""
    rows = await reader.fetch_named("checker_definition", id, version)
    if not rows:
        return None
    row = rows[0]
    columns = {"input": "input_schema", "state": "context_schema", "output": "output_schema"}
    schemas = {part: read(row[column]) for part, column in columns.items()}
    definition = Definition(id, version, str(row["initial_node_id"]), _number(row["timeout_ms"]), schemas)
    tries: dict[str, dict[str, int]] = {}
    catching: set[str] = set()
    for node_id, ref, implementation, execution in await reader.fetch("checker_steps", id, version):
        policy = (read(execution) or {}).get("retry_policy") or {}
        tries.setdefault(str(node_id), {})[str(ref)] = policy.get("max_attempts", 1)
        if (read(implementation) or {}).get("on_failure") == "catch":
            catching.add(str(node_id))
    for node_id, ref, _, _, task_timeout_ms, retry in await reader.fetch("checker_nodes", id, version):
        attempts_max = (read(retry) or {}).get("max_attempts", 1)
        name = str(node_id)
        definition.nodes[name] = Node(
            name, str(ref), _number(task_timeout_ms), attempts_max, tries.get(name, {}), name in catching
        )
    for row in await reader.fetch_named("checker_transitions", id, version):
        _add_transition(definition, row)
    for ordinal, for_each, inputs in await reader.fetch("checker_trigger_definitions", id, version):
        definition.triggers[int(str(ordinal))] = {"for_each": for_each, "inputs": read(inputs)}
    for (applied_at,) in await reader.fetch("checker_triggers_since") if definition.triggers else ():
        definition.triggers_since_ms = int(datetime.fromisoformat(str(applied_at)).timestamp() * 1_000)
    tables = await reader.fetch("checker_context_tables", id, version)
    definition.context_tables = {str(name): int(str(format)) for name, format in tables}
    _name_groups_by_id(definition)
    return definition


def _add_transition(definition: Definition, row: dict[str, Any]) -> None:
    foreach, loop, sync = read(row["foreach"]), read(row["loop_config"]) or {}, read(row["synchronization"])
    id, order = row["id"], len(definition.transitions)
    definition.transitions[id] = Transition(
        id,
        row["ref"] or id,
        order,
        row["from_node_id"],
        row["to_node_id"],
        row["priority"],
        row["spawn_count"],
        (foreach or {}).get("max_parallel"),
        foreach is not None,
        sync is not None,
        loop.get("max_iterations"),
        loop.get("max_iterations") is not None or loop.get("timeout_ms") is not None,
    )
    if sync is not None and row["to_node_id"] not in definition.joins:
        definition.joins[row["to_node_id"]] = _join(row["to_node_id"], order, sync)


def _join(node_id: str, order: int, sync: dict[str, Any]) -> Join:
    merge = sync.get("merge")
    for name, known in (("on_timeout", ON_TIMEOUT), ("on_early_complete", ON_EARLY_COMPLETE)):
        if sync.get(name) not in (None, *known):
            raise ValueError(f"the join into {node_id} has the unknown {name} {sync[name]!r}")
    if merge is not None and merge["strategy"] not in MERGE_STRATEGIES:
        raise ValueError(f"the join into {node_id} has the unknown merge strategy {merge['strategy']!r}")
    return Join(
        node_id,
        order,
        _needed(node_id, sync["strategy"]),
        sync["sibling_group"],
        None,
        sync.get("timeout_ms"),
        sync.get("on_timeout", "fail"),
        sync.get("on_early_complete", "cancel"),
        merge,
    )


def _needed(node_id: str, strategy: Any) -> int:
    match strategy:
        case {"m_of_n": int() as count}:
            return count
        case "any":
            return 1
        case "all":
            return ALL
        case _:
            raise ValueError(f"the join into {node_id} has the unknown strategy {strategy!r}")


def _name_groups_by_id(definition: Definition) -> None:
    """A sibling group is named by ref or id, of a node or else of a transition (CTL-8)."""
    nodes = {name: node.id for node in definition.nodes.values() for name in (node.id, node.ref)}
    transitions = {name: t.id for t in definition.transitions.values() for name in (t.id, t.name)}
    for node_id, join in definition.joins.items():
        of_node = nodes.get(join.of_node or "")
        of_transition = None if of_node else transitions.get(join.of_node or "")
        definition.joins[node_id] = replace(join, of_node=of_node, of_transition=of_transition)


def _number(cell: object) -> int | None:
    return None if cell is None else int(str(cell))
