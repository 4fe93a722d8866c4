"""Where the subschemas of a schema are, and which of them look at the same value as their parent."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from wonder.language.values import JsonValue

Schema: TypeAlias = dict[str, JsonValue] | bool
Path: TypeAlias = tuple[str | int, ...]

# Keywords that hold one subschema, a list of them, or an object of them by name.
_ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

# These look at the very value that their parent looks at; the others look at a part of it, or at none.
IN_PLACE = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
REFERENCES = ("$ref", "$dynamicRef")


class Subschema(NamedTuple):
    """A subschema, the keyword that holds it, and its path below its parent."""

    keyword: str
    path: Path
    schema: JsonValue


def subschemas(schema: JsonValue) -> Iterator[Subschema]:
    """Give the direct subschemas of a schema; what stands there need not be a schema yet."""
    if not isinstance(schema, dict):
        return
    for keyword, held in schema.items():
        if keyword in _ONE:
            yield Subschema(keyword, (keyword,), held)
        elif keyword in _LIST and isinstance(held, list):
            for index, schema_at in enumerate(held):
                yield Subschema(keyword, (keyword, index), schema_at)
        elif keyword in _NAMED and isinstance(held, dict):
            for name, schema_at in held.items():
                yield Subschema(keyword, (keyword, name), schema_at)


def all_positions(root: JsonValue) -> dict[Path, JsonValue]:
    """Give every subschema by its path, the root first, parents before children."""
    found: dict[Path, JsonValue] = {}
    waiting: list[tuple[Path, JsonValue]] = [((), root)]
    while waiting:
        path, schema = waiting.pop()
        found[path] = schema
        below = [(path + subschema.path, subschema.schema) for subschema in subschemas(schema)]
        waiting.extend(reversed(below))
    return found


def with_subschemas(schema: dict[str, JsonValue], change: Callable[[JsonValue], JsonValue]) -> dict[str, JsonValue]:
    """Copy a schema with each of its direct subschemas changed."""
    copy = dict(schema)
    for keyword, held in schema.items():
        if keyword in _ONE:
            copy[keyword] = change(held)
        elif keyword in _LIST and isinstance(held, list):
            copy[keyword] = [change(part) for part in held]
        elif keyword in _NAMED and isinstance(held, dict):
            copy[keyword] = {name: change(part) for name, part in held.items()}
    return copy


def as_schema(value: JsonValue) -> Schema:
    """Take a value as the schema that it is known to be."""
    assert isinstance(value, dict | bool)
    return value
