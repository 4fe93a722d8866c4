"""The schema of a workflow's input, inferred from all uses of `@input.path` and what they flow into (PHS-3)."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wonder.language.schemas import Schema, describe, disjoint
from wonder.language.schemas.composing import Composer, both_schema
from wonder.language.schemas.equality import Key, key_of
from wonder.language.values import JsonValue
from wonder.phases.errors import PhaseError
from wonder.phases.sources import InputPath

_PREFIX_MAX = 100
"""An element further on than this is not told apart from the others."""
_SCHEMAS_MAX = 100
"""More different types for one value are not compared with each other: that would take long, and nobody has them."""


@dataclass(frozen=True, slots=True)
class Use:
    """One place that a value of the input flows into, and the error that would tell of it."""

    schema: Schema
    place: PhaseError


@dataclass(slots=True)
class _Place:
    """A place in the input, with what flows out of it and of the places below."""

    uses: list[Use] = field(default_factory=list)
    required: bool = False
    members: dict[str, "_Place"] = field(default_factory=dict)
    indexed: dict[int, "_Place"] = field(default_factory=dict)
    each: "_Place | None" = None

    def below(self, segment: str | int | None) -> "_Place":
        if isinstance(segment, str):
            return self.members.setdefault(segment, _Place())
        if isinstance(segment, int) and segment < _PREFIX_MAX:
            return self.indexed.setdefault(segment, _Place())
        if self.each is None:
            self.each = _Place()
        return self.each

    def all_below(self) -> Iterator["_Place"]:
        yield from self.members.values()
        yield from self.indexed.values()
        if self.each is not None:
            yield self.each

    def first_use(self) -> Use | None:
        """Find a use of this place or of one below, to name where it is told of."""
        return (
            self.uses[0] if self.uses else next(filter(None, (place.first_use() for place in self.all_below())), None)
        )


class InputUses:
    """All uses of the input that were found so far."""

    def __init__(self) -> None:
        self._root = _Place()

    def note(self, path: InputPath, schema: Schema, place: PhaseError, *, required: bool) -> None:
        """Note that the value at a path flows into a schema; `required` if it has to be there."""
        here = self._root
        for segment in path:
            here = here.below(segment)
            here.required = here.required or required
        here.uses.append(Use(schema, place))

    def schema(self) -> Schema:
        """Give the schema of the inputs that fit all uses."""
        if not self._root.uses and not any(True for _ in self._root.all_below()):
            return {"type": "object"}
        return _schema_of(self._root)

    def conflicts(self) -> Iterator[PhaseError]:
        """Give an error for each use that no value can serve together with one before it."""
        yield from _conflicts(self._root)


def _schema_of(place: _Place) -> Schema:
    return both_schema([*(use.schema for use in place.uses), *_structures(place)])


def _structures(place: _Place) -> Iterator[Schema]:
    """Say what must be there because something is read below it."""
    if place.members:
        composer = Composer()
        properties = {name: composer.part(_schema_of(member)) for name, member in place.members.items()}
        made: dict[str, JsonValue] = {"type": "object", "properties": properties}
        if required := [name for name, member in place.members.items() if member.required]:
            made["required"] = [*required]
        yield composer.whole(made)
    if place.each is not None:
        composer = Composer()
        yield composer.whole({"type": "array", "items": composer.part(_schema_of(place.each))})
    if place.indexed:
        composer, last = Composer(), max(place.indexed)
        first = [_schema_of(place.indexed[i]) if i in place.indexed else True for i in range(last + 1)]
        least = max((index + 1 for index, one in place.indexed.items() if one.required), default=0)
        made = {"type": "array", "prefixItems": [composer.part(schema) for schema in first]}
        yield composer.whole(made | {"minItems": least} if least else made)


def _conflicts(place: _Place) -> Iterator[PhaseError]:
    found: dict[Key, tuple[Schema, Use]] = {}
    candidates = [(use.schema, use) for use in place.uses]
    if (below := next(filter(None, (one.first_use() for one in place.all_below())), None)) is not None:
        # What is below a place is left to the places below.
        candidates += [({"type": "object"}, below)] if place.members else []
        candidates += [({"type": "array"}, below)] if place.indexed or place.each else []
    for schema, use in candidates:
        if (key := key_of(schema)) in found or len(found) == _SCHEMAS_MAX:
            continue
        other = next(((one, earlier) for one, earlier in found.values() if disjoint(one, schema)), None)
        if other is None:
            found[key] = schema, use
        else:
            yield _conflict(schema, use, *other)
    for inner in place.all_below():
        yield from _conflicts(inner)


def _conflict(schema: Schema, use: Use, other: Schema, earlier: Use) -> PhaseError:
    place, before = use.place, earlier.place
    elsewhere = f"where it flows into '{before.field}' of '{before.step}'"
    message = f"Expected {describe(schema)} but it is {describe(other)} {elsewhere}"
    return PhaseError(
        "type_mismatch", place.step, place.field, place.ref, schema, other, message=message, path=place.path
    )
