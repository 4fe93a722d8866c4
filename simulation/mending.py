"""Mending: what is refused in a random definition is taken out, so that the rest can be stored."""

from collections.abc import Sequence
from typing import Any

from wonder.definitions.faults import Fault


def mend(bundle: dict[str, Any], errors: Sequence[Fault]) -> None:
    """Take out of a bundle what these faults are about."""
    for workflow in (bundle["workflow"], *bundle["workflows"].values()):
        for number, transition in enumerate(workflow["transitions"]):
            transition["number"] = number
    for fault in errors:
        match fault.path:
            case ("workflow", *rest):
                _mend(bundle["workflow"], rest, fault)
            case ("workflows", str(name), *rest):
                _mend(bundle["workflows"][name], rest, fault)
            case _:
                raise AssertionError(str(fault))
    for workflow in (bundle["workflow"], *bundle["workflows"].values()):
        for transition in workflow["transitions"]:
            del transition["number"]


def _mend(workflow: dict[str, Any], place: Sequence[str | int], fault: Fault) -> None:
    match place:
        case ["transitions", int(number), *fields]:
            # By its number, because others may have been taken out before.
            for transition in [one for one in workflow["transitions"] if one["number"] == number]:
                if fields and fields[0] in transition:
                    del transition[fields[0]]
                else:
                    workflow["transitions"].remove(transition)
        case ["nodes", str(ref), str(field), *_] if field.endswith("_mapping"):
            _simplify(workflow["nodes"].get(ref, {}), place[2:])
        case ["nodes", str(ref), *_]:
            workflow["nodes"].pop(ref, None)
            left = [one for one in workflow["transitions"] if ref not in (one["from"], one["to"])]
            workflow["transitions"][:] = left
        case _:
            raise AssertionError(str(fault))


def _simplify(node: dict[str, Any], place: Sequence[str | int]) -> None:
    field = str(place[0])
    mapping = node.get(field)
    if isinstance(mapping, dict) and len(place) > 1:
        mapping.pop(place[1], None)
        if mapping or field == "input_mapping":
            return
    node.pop(field, None)
