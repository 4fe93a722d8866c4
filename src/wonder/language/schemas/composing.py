"""Schemas put together to one: each keeps what it refers to, under a name of its own."""

from collections.abc import Iterable, Mapping

from wonder.language.schemas.assignability import assignable
from wonder.language.schemas.equality import key_of
from wonder.language.schemas.positions import REFERENCES, Schema, as_schema, with_subschemas
from wonder.language.schemas.references import References, cut_out, pointer
from wonder.language.values import JsonValue

# They name a schema, or places in it, as long as it is a whole; a part has none of them.
_OF_THE_WHOLE = ("$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions")
# Each is compared with all others, so many of them would take long.
_COMPARED_MAX = 50


class Composer:
    """Makes one schema of several, which share its `$defs`."""

    def __init__(self) -> None:
        self._definitions: dict[str, JsonValue] = {}

    def part(self, schema: Schema) -> JsonValue:
        """Give a schema, which stands alone, as it can stand in the whole."""
        if isinstance(schema, bool):
            return schema
        alone = cut_out(References(schema), schema)
        assert isinstance(alone, dict)
        if alone is schema:  # It refers to nothing.
            return {keyword: held for keyword, held in schema.items() if keyword not in _OF_THE_WHOLE}
        definitions = alone["$defs"]
        assert isinstance(definitions, dict)
        names = {name: self._name(name, definition) for name, definition in definitions.items()}
        for name, definition in definitions.items():
            self._definitions[names[name]] = _renamed(definition, names)
        return _renamed({keyword: held for keyword, held in alone.items() if keyword not in _OF_THE_WHOLE}, names)

    def whole(self, schema: JsonValue) -> Schema:
        """Give the schema that was made of the parts."""
        if isinstance(schema, dict) and self._definitions:
            return {**schema, "$defs": dict(self._definitions)}
        return as_schema(schema)

    def _name(self, wanted: str, definition: JsonValue) -> str:
        name, count = wanted, 1
        while name in self._definitions:
            count += 1
            name = f"{wanted}_{count}"
        self._definitions[name] = definition  # Taken, until it is written with its own names.
        return name


def object_schema(members: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    """Make the schema of objects that have these members and no others."""
    composer = Composer()
    properties = {name: composer.part(schema) for name, schema in members.items()}
    made: dict[str, JsonValue] = {"type": "object", "properties": properties, "additionalProperties": False}
    if needed := list(required):
        made["required"] = [*needed]
    return composer.whole(made)


def list_schema(elements: Schema) -> Schema:
    """Make the schema of lists of such elements."""
    composer = Composer()
    return composer.whole({"type": "array", "items": composer.part(elements)})


def either_schema(alternatives: Iterable[Schema]) -> Schema:
    """Make the schema of what fits one of several."""
    return _joined("anyOf", list({key_of(schema): schema for schema in alternatives}.values()))


def both_schema(schemas: Iterable[Schema]) -> Schema:
    """Make the schema of what fits all of several, leaving out those that another says already."""
    kept: list[Schema] = []
    different = {key_of(schema): schema for schema in schemas if schema is not True and schema != {}}
    for count, schema in enumerate(different.values()):
        if len(kept) == _COMPARED_MAX:
            return _joined("allOf", [*kept, *list(different.values())[count:]])
        if any(not assignable(other, schema) for other in kept):
            continue
        kept = [other for other in kept if assignable(schema, other)]
        kept.append(schema)
    return _joined("allOf", kept) if kept else {}


def _joined(keyword: str, schemas: list[Schema]) -> Schema:
    if len(schemas) == 1:
        return schemas[0]
    composer = Composer()
    return composer.whole({keyword: [composer.part(schema) for schema in schemas]})


def _renamed(schema: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    copy = with_subschemas(schema, lambda part: _renamed(part, names))
    for keyword in REFERENCES:
        if isinstance(held := copy.get(keyword), str):
            target = next(name for name in names if pointer(("$defs", name)) == held)
            copy[keyword] = pointer(("$defs", names[target]))
    return copy
