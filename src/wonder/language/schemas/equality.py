"""Values as JSON Schema compares them: 1 and 1.0 are equal, 1 and true are not."""

from typing import TypeAlias

from wonder.language.values import JsonValue

Key: TypeAlias = str | int | float | tuple["Key", ...] | frozenset[tuple[str, "Key"]] | None


def key_of(value: JsonValue) -> Key:
    """Give something hashable that two values share exactly when they are equal."""
    match value:
        case bool():
            return ("true",) if value else ("false",)
        case list():
            return ("list", *map(key_of, value))
        case dict():
            return frozenset((name, key_of(part)) for name, part in value.items())
        case _:
            return value


def type_of(value: JsonValue) -> str:
    """Name the type of a value; a number without a fraction is an integer, 1.0 too."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case float():
            return "integer" if value.is_integer() else "number"
        case _:
            return "integer"


def has_type(value: JsonValue, name: str) -> bool:
    """Say whether a value is of a type that a schema names."""
    own = type_of(value)
    return own == name or (own == "integer" and name == "number")
