"""Assigning: what an expression gives to a target whose schema says boolean (EXP-6)."""

from wonder.language.expressions import Expression
from wonder.language.paths import Path
from wonder.language.schemas import Schema, shape_at
from wonder.language.values import JsonValue


def becomes_boolean(expression: Expression, schema: Schema, path: Path) -> bool:
    """Say whether 0 and 1 become false and true: if they are computed, and the schema says boolean at the path.

    A bare path copies its value unchanged, as a mapping does.
    """
    shape = shape_at(schema, path)
    if expression.copies or shape.kind != "known" or not isinstance(shape.schema, dict):
        return False
    types = shape.schema.get("type")
    return types == "boolean" or (isinstance(types, list) and set(map(str, types)) == {"boolean", "null"})


def as_boolean(value: JsonValue) -> JsonValue:
    """Return 0 and 1 as false and true, anything else unchanged."""
    return bool(value) if type(value) is int and value in (0, 1) else value
