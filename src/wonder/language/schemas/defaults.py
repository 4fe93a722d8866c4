"""Defaults: filling in the properties that a value leaves out."""

from collections.abc import Callable

from wonder.language.schemas.positions import Schema, as_schema
from wonder.language.schemas.references import References
from wonder.language.values import JsonValue

# How many defaults may be filled in inside one default; a schema that asks for more is refused.
DEFAULTS = 1_000


def fill_defaults(schema: Schema, value: JsonValue) -> JsonValue:
    """Give the value with missing properties set to their defaults, in the objects and lists that it holds too.

    What is filled is copied, the value given stays as it is. Defaults are read through `$ref` and `allOf`; those in
    alternatives are not, because which alternative holds is not known before the value is whole.
    """
    return compile_defaults(schema)(value)


def compile_defaults(schema: Schema) -> Callable[[JsonValue], JsonValue]:
    """Give the function that fills in the defaults of one schema, for use with many values."""
    references = References(schema)
    if not any(isinstance(part, dict) and "default" in part for part in references.positions.values()):
        return lambda value: value
    return Defaults(references).fill


def filled_schema(schema: Schema) -> Schema:
    """Give the schema of values whose defaults were filled in: a property that has one is there.

    What is behind a `$ref` stays as it is, because others may refer to it from where nothing is filled.
    """
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            made[keyword] = filled_schema(as_schema(schema[keyword]))
    for keyword in ("allOf", "prefixItems"):
        if isinstance(held := schema.get(keyword), list):
            made[keyword] = [filled_schema(as_schema(one)) for one in held]
    if isinstance(properties := schema.get("properties"), dict):
        made["properties"] = {name: filled_schema(as_schema(one)) for name, one in properties.items()}
        there = [name for name, one in properties.items() if isinstance(one, dict) and "default" in one]
        required = schema.get("required")
        if there:
            made["required"] = list(dict.fromkeys([*(required if isinstance(required, list) else []), *there]))
    return made


class _Part:
    """What several schemas that all look at one value say about defaults in it."""

    def __init__(self) -> None:
        self.properties: dict[str, list[Schema]] = {}
        self.others: list[Schema] = []
        self.first: list[tuple[Schema, ...]] = []
        self.rest: list[Schema] = []


class Defaults:
    """The defaults of one schema, ready to be filled in."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._parts: dict[tuple[int, ...], _Part] = {}
        # Defaults being filled at the moment: {"x": {"$ref": "#", "default": {}}} would go on without end.
        self._under_way: set[int] = set()
        self._left = DEFAULTS
        self.stopped = False

    def fill(self, value: JsonValue, schema: Schema | None = None) -> JsonValue:
        """Fill in a value; `schema` is the subschema that it belongs to, the root unless told."""
        self.stopped = False
        return self._fill((self._references.root if schema is None else schema,), value)

    def _fill(self, schemas: tuple[Schema, ...], value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return self._fill_object(self._part(schemas), value)
        if isinstance(value, list):
            return self._fill_list(self._part(schemas), value)
        return value

    def _fill_object(self, part: _Part, value: dict[str, JsonValue]) -> JsonValue:
        filled = value
        for name, schemas in part.properties.items():
            if name in value:
                continue
            source = next((schema for schema in schemas if isinstance(schema, dict) and "default" in schema), None)
            if source is not None:
                filled = dict(value) if filled is value else filled
                filled[name] = self._default(source, tuple(schemas))
        for name, old in value.items():
            schemas = part.properties.get(name, part.others)
            if schemas and (new := self._fill(tuple(schemas), old)) is not old:
                filled = dict(value) if filled is value else filled
                filled[name] = new
        return filled

    def _fill_list(self, part: _Part, value: list[JsonValue]) -> JsonValue:
        if not part.first and not part.rest:
            return value
        rest = tuple(part.rest)
        filled = [
            self._fill(part.first[index] if index < len(part.first) else rest, old) for index, old in enumerate(value)
        ]
        return value if all(new is old for new, old in zip(filled, value, strict=True)) else filled

    def _default(self, source: dict[str, JsonValue], schemas: tuple[Schema, ...]) -> JsonValue:
        default = _copy(source["default"])
        self._left = self._left - 1 if self._under_way else DEFAULTS
        if self.stopped or id(source) in self._under_way or not self._left:
            self.stopped = True
            return default
        self._under_way.add(id(source))
        filled = self._fill(schemas, default)
        self._under_way.discard(id(source))
        return filled

    def _part(self, schemas: tuple[Schema, ...]) -> _Part:
        key = tuple(map(id, schemas))
        if key not in self._parts:
            self._parts[key] = self._read(schemas)
        return self._parts[key]

    def _read(self, schemas: tuple[Schema, ...]) -> _Part:
        part = _Part()
        for schema in self._same_value(schemas):
            if isinstance(properties := schema.get("properties"), dict):
                for name, below in properties.items():
                    part.properties.setdefault(name, []).extend(self._same_value((as_schema(below),)))
            if isinstance(others := schema.get("additionalProperties"), dict):
                part.others.append(others)
            if isinstance(first := schema.get("prefixItems"), list):
                part.first = [(as_schema(below),) for below in first]
            if isinstance(rest := schema.get("items"), dict):
                part.rest.append(rest)
        return part

    def _same_value(self, schemas: tuple[Schema, ...]) -> list[dict[str, JsonValue]]:
        """Give these schemas and all that must hold together with them, each once."""
        found: dict[int, dict[str, JsonValue]] = {}
        waiting = list(reversed(schemas))
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in found:
                continue
            found[id(schema)] = schema
            together = schema.get("allOf")
            beside = [*(together if isinstance(together, list) else []), *self._references.targets(schema)]
            waiting.extend(as_schema(part) for part in reversed(beside))
        return list(found.values())


def _copy(value: JsonValue) -> JsonValue:
    """Copy a default, so that a change of the filled value does not change the schema."""
    if isinstance(value, dict):
        return {name: _copy(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_copy(part) for part in value]
    return value
