"""Finds the cycles of a graph."""

from collections.abc import Iterable

from wonder.definitions.drafts import TransitionDraft


def find_cycles(nodes: Iterable[str], transitions: list[TransitionDraft]) -> list[set[str]]:
    """Find the groups of nodes that can reach one another (Tarjan, without recursion: a graph may be long)."""
    following: dict[str, list[str]] = {ref: [] for ref in nodes}
    for transition in transitions:
        if transition.from_ref in following and transition.to_ref in following:
            following[transition.from_ref].append(transition.to_ref)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    found: list[set[str]] = []
    for root in following:
        if root in index:
            continue
        work = [(root, iter(following[root]))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            ref, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    open_nodes.append(target)
                    is_open.add(target)
                    work.append((target, iter(following[target])))
                    break
                if target in is_open:
                    low[ref] = min(low[ref], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[ref])
                if low[ref] == index[ref]:
                    group: set[str] = set()
                    while ref not in group:
                        group.add(open_nodes.pop())
                    is_open -= group
                    if len(group) > 1 or ref in following[ref]:
                        found.append(group)
    return found
