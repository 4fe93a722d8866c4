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


class StateCheck:
    """A context schema, compiled as a whole and, when first needed, for the parts that are written."""

    def __init__(self, schema: Schema) -> None:
        self._schema = _without_required(schema)
        self._parts: dict[Path, Validator] = {}
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
        value, schema, place = state, self._schema, 0
        while self._divisible and place < len(path):
            below = _member(schema, value, path[place])
            if below is None:
                break
            schema = below
            value = value[path[place]]  # type: ignore[index]  # the path was just written
            place += 1
        if schema is True or schema == {}:
            return True
        return self._part(path[:place], schema).is_valid(value)

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


def _without_required(schema: Schema) -> Schema:
    """CTX-5b: a state fills up as the run goes on, so nothing in it is required from the beginning."""
    if not isinstance(schema, dict):
        return schema
    return {keyword: value for keyword, value in schema.items() if keyword != "required"}
