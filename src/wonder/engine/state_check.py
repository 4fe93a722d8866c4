"""The check of what is written to `state` against `context_schema`, only where it changed (CTX-5b)."""

from collections.abc import Iterable

from wonder.language.paths import Path
from wonder.language.schemas import Schema, Validator, ValueFault, compile_validator
from wonder.language.targets import Change
from wonder.language.values import JsonValue

# Keywords that say nothing about a value as a whole beyond what they say of one member: if a schema has no others, and
# the value fitted before, then a write can only spoil the member that it wrote.
_OF_MEMBERS = frozenset(
    {"type", "properties", "items", "additionalProperties", "required", "title", "description", "default", "examples"}
    | {"$comment", "deprecated", "readOnly", "writeOnly", "$defs", "$schema", "$id"}
)

_PLACES_KEPT = 1_000


class StateCheck:
    """A context schema, compiled as a whole and, when first needed, for the parts that are written."""

    def __init__(self, schema: Schema) -> None:
        self._schema = _without_required(schema)
        self._parts: dict[Path, Validator] = {}
        self._places: dict[Path, tuple[Path, Validator | None]] = {}
        self._whole = compile_validator(self._schema)
        self._trivial = self._schema is True or self._schema == {}
        # A reference may lead to any part of the schema, which then no longer stands alone.
        self._divisible = isinstance(self._schema, dict) and "$ref" not in str(self._schema)

    def faults(self, state: JsonValue, changes: Iterable[Change]) -> list[ValueFault]:
        """Give what of these changes does not fit; `state` is the state as it would be after them."""
        if self._trivial:
            return []
        for change in changes:
            if change.path[0] == "state" and not self._fits(state, change.path[1:]):
                return self._whole.faults(state) or [ValueFault(change.path[1:], "does not fit", "schema")]
        return []

    def whole_faults(self, state: JsonValue) -> list[ValueFault]:
        """Give what of a whole state does not fit."""
        return [] if self._trivial else self._whole.faults(state)

    def _fits(self, state: JsonValue, path: Path) -> bool:
        place = self._places.get(path)
        if place is None:
            place = self._place(state, path)
            # What is written at an index is looked up each time: there may be any number of those.
            if len(self._places) < _PLACES_KEPT and all(isinstance(segment, str) for segment in path):
                self._places[path] = place
        decisive, validator = place
        if validator is None:
            return True
        value = state
        for segment in decisive:
            if not _holds(value, segment):
                return self._whole.is_valid(state)  # a later write of the same node has replaced what is around it
            value = value[segment]  # type: ignore[index]  # it holds it
        return validator.is_valid(value)

    def _place(self, state: JsonValue, path: Path) -> tuple[Path, Validator | None]:
        """Give the part of a path whose schema alone decides about what was written, and its validator if need be."""
        value, schema, place = state, self._schema, 0
        while self._divisible and place < len(path):
            below = _member(schema, value, path[place])
            if below is None or not _holds(value, path[place]):
                break
            schema = below
            value = value[path[place]]  # type: ignore[index]  # it holds it
            place += 1
        if schema is True or schema == {}:
            return path[:place], None
        return path[:place], self._part(path[:place], schema)

    def _part(self, path: Path, schema: Schema) -> Validator:
        # Elements of a list share the schema of its items, so one validator serves all of them.
        key = tuple([segment if isinstance(segment, str) else 0 for segment in path])
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = compile_validator(schema) if path else self._whole
        return part


def _member(schema: Schema, value: JsonValue, segment: str | int) -> Schema | None:
    """Give the schema that alone decides about one member of a value, or None if the whole has to be looked at."""
    if not isinstance(schema, dict) or not _OF_MEMBERS.issuperset(schema):
        return None
    if isinstance(segment, str) and isinstance(value, dict):
        properties = schema.get("properties", {})
        if isinstance(properties, dict) and segment in properties:
            return properties[segment]  # type: ignore[return-value]  # the schema was checked
        others = schema.get("additionalProperties", True)
        return others if isinstance(others, bool | dict) and schema.get("type", "object") == "object" else None
    if isinstance(segment, int) and isinstance(value, list) and schema.get("type") == "array":
        return schema.get("items", True)  # type: ignore[return-value]  # the schema was checked
    return None


def _holds(value: JsonValue, segment: str | int) -> bool:
    if isinstance(value, dict):
        return segment in value
    return isinstance(value, list) and isinstance(segment, int) and segment < len(value)


def _without_required(schema: Schema) -> Schema:
    """CTX-5b: a state fills up as the run goes on, so nothing in it is required from the beginning."""
    if not isinstance(schema, dict):
        return schema
    return {keyword: value for keyword, value in schema.items() if keyword != "required"}
