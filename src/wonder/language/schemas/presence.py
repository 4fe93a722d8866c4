"""Whether something is always there: the names that every object of a schema has, and the values at a path."""

from collections.abc import Sequence

from wonder.language.schemas.branches import Branch, Node, branches
from wonder.language.schemas.positions import Schema
from wonder.language.schemas.references import References
from wonder.language.schemas.shapes import shape_at


def required_names(schema: Schema) -> list[str]:
    """Give the names that every object has which fits the schema, in the order written."""
    objects = [branch for branch in branches((Node(schema, References(schema)),)) if branch.kind == "object"]
    # A branch of listed values requires what it lists; to give all of it is not asked for by a name alone.
    named = [branch.required() for branch in objects if branch.values is None]
    return [name for name in named[0] if all(name in others for others in named)] if named else []


def may_be_missing(schema: Schema, path: Sequence[str | int]) -> bool:
    """Say whether a value of the schema, read as a declaration (see `assignable`), may have nothing at the path.

    An element of a list counts as there where there may be one, as it does in TypeScript: how many there are is seldom
    said. One of a tuple may be missing where the tuple may be shorter.
    """
    here = schema
    for segment in path:
        found = branches((Node(here, References(here), declared=True),))
        if here is not True and here != {} and not all(_has(branch, segment) for branch in found):
            return True
        shape = shape_at(here, (segment,))
        if shape.kind != "known":
            return False
        here = shape.schema
    return False


def is_promised(schema: Schema, path: Sequence[str | int]) -> bool:
    """Say whether every object of a schema has something at a path of names, all of which it requires."""
    here = schema
    for place, segment in enumerate(path):
        found = branches((Node(here, References(here)),))
        # What is asked about is an object; what is inside of it may be anything that its schema allows.
        looked_at = [branch for branch in found if place or branch.kind == "object"]
        if not looked_at or not all(_requires(branch, segment) for branch in looked_at):
            return False
        shape = shape_at(here, (segment,))
        here = shape.schema if shape.kind == "known" else True
    return bool(path)


def _requires(branch: Branch, segment: str | int) -> bool:
    return branch.kind == "object" and branch.values is None and segment in branch.required()


def _has(branch: Branch, segment: str | int) -> bool:
    if not isinstance(segment, str):
        return branch.kind == "array" and not _may_end_before(branch, segment)
    if branch.kind != "object":
        return False
    if branch.values is not None:
        return all(isinstance(value, dict) and segment in value for value in branch.values)
    return segment in branch.required() or branch.says_nothing()


def _may_end_before(branch: Branch, index: int) -> bool:
    """Say whether a shorter tuple lacks an element; one that says no length has all."""
    return index < branch.elements_told_apart() and 0 <= branch.least("minItems") <= index
