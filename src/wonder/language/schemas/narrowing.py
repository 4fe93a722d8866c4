"""Schemas made narrower by what is known of a value: a kind that is written down chooses among alternatives."""

from typing import Final

from wonder.language.schemas.assignability import disjoint
from wonder.language.schemas.positions import Schema

# Of more alternatives none is left out, because that would take long.
_ALTERNATIVES: Final = 50


def narrowed(target: Schema, source: Schema) -> Schema:
    """Leave out the alternatives of a target that no value of the source fits; all are left if none of them does."""
    for keyword in ("anyOf", "oneOf"):
        if not isinstance(target, dict):
            break
        alternatives = target.get(keyword)
        if isinstance(alternatives, list) and 1 < len(alternatives) <= _ALTERNATIVES:
            left = [one for one in alternatives if disjoint(source, {**target, keyword: [one]}) is None]
            target = {**target, keyword: left} if left else target
    return target
