"""Graphs in a few words, for tests of the checks: `edges("a > b", "b > c if state.x")`."""

import re
from typing import Any

from support.definitions import faults_in, noop, workflow

_EDGE = re.compile(r"(?P<from>\w+) > (?P<to>\w+)(?: @(?P<priority>\d+))?(?: if (?P<condition>.+))?")


def edge(text: str, **fields: Any) -> dict[str, Any]:
    """Make a transition from `from > to @priority if condition`, with further fields."""
    found = _EDGE.fullmatch(text)
    assert found, text
    made: dict[str, Any] = {"from": found["from"], "to": found["to"]}
    if found["priority"]:
        made["priority"] = int(found["priority"])
    if found["condition"]:
        made["condition"] = found["condition"]
    return made | fields


def join(group: str, strategy: Any = "all", **fields: Any) -> dict[str, Any]:
    """Make the field of a transition that joins a group of siblings."""
    return {"synchronization": {"strategy": strategy, "sibling_group": group, **fields}}


def each(collection: str, item_var: str = "item") -> dict[str, Any]:
    """Make the field of a transition that fans out over a collection."""
    return {"foreach": {"collection": collection, "item_var": item_var}}


def graph(*transitions: dict[str, Any] | str, nodes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Make a workflow of transitions; a node that is not given calls a function, the first one begins."""
    made = [edge(transition) if isinstance(transition, str) else transition for transition in transitions]
    refs = list(dict.fromkeys(ref for transition in made for ref in (transition["from"], transition["to"])))
    given = nodes or {}
    refs += [ref for ref in given if ref not in refs]
    return workflow({ref: given.get(ref, noop()) for ref in refs}, made, **fields)


def found_in(definition: dict[str, Any]) -> list[str]:
    """Give every fault as `code at place`, the place below its workflow, sorted."""
    return sorted(f"{fault.code} at {_place(fault.path)}" for fault in faults_in(definition))


def _place(path: tuple[str | int, ...]) -> str:
    return ".".join(str(segment) for segment in (path[1:] if path[:1] == ("workflow",) else path))
