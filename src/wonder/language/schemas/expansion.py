"""How far a schema unfolds when its references are followed: never without end, and never to millions of checks."""

from collections.abc import Iterator
from typing import NamedTuple

from wonder.language.schemas.faults import SchemaFault
from wonder.language.schemas.positions import IN_PLACE, REFERENCES, Path, subschemas
from wonder.language.schemas.references import References, is_local
from wonder.language.values import JsonValue

# How many checks one value, and one part of it on each level below, may cause.
EXPANSION = 100_000
# How many schemas may look at the same value, one through the other.
CHAIN = 64


class _Edge(NamedTuple):
    target: Path
    in_place: bool
    by_reference: bool
    keyword: Path


_Graph = dict[Path, list[_Edge]]


def expansion_faults(references: References) -> list[SchemaFault]:
    """Say where a schema, whose references all lead somewhere, refers to itself without end or unfolds too far."""
    graph = _graph(references)
    endless = _endless(graph)
    if endless:
        return endless
    return _unfolding(graph)


def unfold(references: References, weights: dict[Path, int]) -> dict[Path, int]:
    """Add up what each subschema weighs, with all that looks at the same value and one part of it on each level below.

    The references must not be endless.
    """
    unfolded = _without_circles(_graph(references))
    total: dict[Path, int] = {}
    for path in _children_first(unfolded):
        total[path] = weights[path] + _sum(unfolded[path], total)
    return total


def _graph(references: References) -> _Graph:
    return {path: list(_edges(path, schema, references)) for path, schema in references.positions.items()}


def _sum(edges: list[_Edge], total: dict[Path, int]) -> int:
    beside = sum(total[edge.target] for edge in edges if edge.in_place)
    return beside + max((total[edge.target] for edge in edges if not edge.in_place), default=0)


def _edges(path: Path, schema: JsonValue, references: References) -> Iterator[_Edge]:
    for subschema in subschemas(schema):
        if subschema.keyword not in ("$defs", "definitions", "contentSchema"):
            below = path + subschema.path
            yield _Edge(below, subschema.keyword in IN_PLACE, False, below)
    if isinstance(schema, dict):
        for keyword in REFERENCES:
            if is_local(reference := schema.get(keyword)):
                target = references.locate(str(reference))
                assert target is not None
                yield _Edge(target, True, True, (*path, keyword))


def _endless(graph: _Graph) -> list[SchemaFault]:
    """Find references that come back to where they began without having gone one step into the value."""
    in_place = {path: [edge for edge in edges if edge.in_place] for path, edges in graph.items()}
    part_of = _circles(in_place)
    return [
        SchemaFault(
            "SCHEMA_ENDLESS",
            edge.keyword,
            "this reference leads back to itself, and so describes no value",
            "remove the reference; a schema can refer to itself only inside properties, items and similar keywords",
        )
        for path, edges in in_place.items()
        for edge in edges
        if edge.by_reference and part_of[path] == part_of[edge.target]
    ]


def _unfolding(graph: _Graph) -> list[SchemaFault]:
    unfolded = _without_circles(graph)
    checks: dict[Path, int] = {}
    chain: dict[Path, int] = {}
    for path in _children_first(unfolded):
        checks[path] = 1 + _sum(unfolded[path], checks)
        chain[path] = 1 + max((chain[edge.target] for edge in unfolded[path] if edge.in_place), default=0)
        if checks[path] > EXPANSION:
            message = (
                f"with its references followed, this schema unfolds to more than {EXPANSION:,} checks of one value"
            )
            return [
                SchemaFault("SCHEMA_TOO_LARGE", path, message, "refer to the same schema once, not again and again")
            ]
        if chain[path] > CHAIN:
            message = f"more than {CHAIN} references or alternatives lead one to the next on the same value"
            return [SchemaFault("SCHEMA_TOO_DEEP", path, message, "refer to the last of them directly")]
    return []


def _without_circles(graph: _Graph) -> _Graph:
    """The validator remembers what it found through a reference that can come back to itself, so it counts once."""
    part_of = _circles(graph)
    return {
        path: [edge for edge in edges if not (edge.by_reference and part_of[path] == part_of[edge.target])]
        for path, edges in graph.items()
    }


def _children_first(graph: _Graph) -> Iterator[Path]:
    """Give every node of a graph without circles after all that it leads to."""
    done: set[Path] = set()
    for start in graph:
        waiting = [start]
        while waiting:
            path = waiting[-1]
            ahead = [edge.target for edge in graph[path] if edge.target not in done] if path not in done else []
            if ahead:
                waiting.extend(ahead)
                continue
            waiting.pop()
            if path not in done:
                done.add(path)
                yield path


def _circles(graph: _Graph) -> dict[Path, int]:
    """Number the groups of nodes that lead to each other (Tarjan, without recursion); a node alone is a group too."""
    number: dict[Path, int] = {}
    low: dict[Path, int] = {}
    group: dict[Path, int] = {}
    open_nodes: list[Path] = []
    for start in graph:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        open_nodes.append(start)
        trail = [(start, iter(graph[start]))]
        while trail:
            path, edges = trail[-1]
            edge = next(edges, None)
            if edge is None:
                trail.pop()
                if trail:
                    low[trail[-1][0]] = min(low[trail[-1][0]], low[path])
                if low[path] == number[path]:
                    _close(path, open_nodes, group)
            elif edge.target not in number:
                number[edge.target] = low[edge.target] = len(number)
                open_nodes.append(edge.target)
                trail.append((edge.target, iter(graph[edge.target])))
            elif edge.target not in group:
                low[path] = min(low[path], number[edge.target])
    return group


def _close(path: Path, open_nodes: list[Path], group: dict[Path, int]) -> None:
    """All nodes opened since this one lead back to it: they are one group."""
    here = len(group)
    while True:
        member = open_nodes.pop()
        group[member] = here
        if member == path:
            return
