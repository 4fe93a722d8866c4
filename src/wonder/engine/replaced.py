"""Which objects a branch wrote as a whole: they hide what the state around it has there (CTL-7).

A branch's output is an object of what it wrote. An object in it was either written, and then the branch reads exactly
that, or made on the way to a target inside of it, and then the rest of it comes from the outer state. The difference is
kept as a tree: true where an object was written, an object of such trees where one was made on the way. Anything but an
object hides what is below it anyway, so most branches have nothing to keep.
"""

from typing import Final

from wonder.language.paths import Path
from wonder.language.steps import spend_on_elements
from wonder.language.values import JsonValue

NOTHING: Final[JsonValue] = {}
"""Shared by all branches that wrote no object."""


def with_write(replaced: JsonValue, path: Path, value: JsonValue) -> JsonValue:
    """Give the tree after a write at a path in the branch's output; the tree that is given stays as it is."""
    if replaced is True or (not replaced and type(value) is not dict):
        return replaced
    if not path:
        return True if isinstance(value, dict) else NOTHING
    assert isinstance(replaced, dict)
    key = path[0]
    if not isinstance(key, str):
        return NOTHING  # a list, which hides all that is below it
    inner = with_write(replaced.get(key, NOTHING), path[1:], value)
    if inner == replaced.get(key, NOTHING):
        return replaced
    spend_on_elements(len(replaced))
    return {**{name: kept for name, kept in replaced.items() if name != key}, **({key: inner} if inner else {})}


def overlay(below: JsonValue, above: JsonValue, replaced: JsonValue = NOTHING) -> JsonValue:
    """Lay what a branch wrote over what is around it: by key, but where an object was written as a whole."""
    if replaced is True or not isinstance(below, dict) or not isinstance(above, dict):
        return above
    spend_on_elements(len(below))
    inside = replaced if isinstance(replaced, dict) else {}
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and key in merged:
            merged[key] = overlay(merged[key], value, inside.get(key, NOTHING))
        else:
            merged[key] = value
    return merged
