"""Keywords that hold no schemas: constants, limits, patterns and required names."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

from wonder.language.schemas.describe import describe
from wonder.language.schemas.equality import key_of
from wonder.language.schemas.faults import ValueFault, show_value
from wonder.language.schemas.positions import Path
from wonder.language.schemas.references import References
from wonder.language.schemas.regexes import pattern_matches
from wonder.language.values import JsonValue

_Faults: TypeAlias = Iterator[ValueFault]
_Limit: TypeAlias = tuple[Callable[[float, float], bool], str]


def plain_faults(references: References, schema: dict[str, JsonValue], value: JsonValue, path: Path) -> _Faults:
    """Check the keywords that hold no schemas."""
    if "const" in schema and key_of(schema["const"]) != key_of(value):
        yield ValueFault(path, f"expected {show_value(schema['const'])}, found {show_value(value)}", "const")
    if "enum" in schema and key_of(value) not in references.choices(schema):
        yield ValueFault(path, f"expected {describe({'enum': schema['enum']})}, found {show_value(value)}", "enum")
    match value:
        case bool() | None:
            return
        case int() | float():
            yield from _limit_faults(schema, _NUMBER_LIMITS, value, show_value(value), path)
            step = schema.get("multipleOf")
            if step is not None and _exact(value) % _exact(number(step)):
                yield ValueFault(path, f"expected a multiple of {step}, found {show_value(value)}", "multipleOf")
        case str():
            yield from _limit_faults(schema, _TEXT_LIMITS, len(value), f"{len(value)}: {show_value(value)}", path)
            if "pattern" in schema and not pattern_matches(str(schema["pattern"]), value):
                message = f"expected a string that matches {schema['pattern']!r}, found {show_value(value)}"
                yield ValueFault(path, message, "pattern")
        case list():
            yield from _limit_faults(schema, _LIST_LIMITS, len(value), str(len(value)), path)
            if schema.get("uniqueItems") is True and len(set(map(key_of, value))) < len(value):
                yield ValueFault(
                    path, f"expected different elements, found {_first_double(value)} twice", "uniqueItems"
                )
        case dict():
            yield from _limit_faults(schema, _OBJECT_LIMITS, len(value), str(len(value)), path)
            yield from _required_faults(schema, value, path)


def _required_faults(schema: dict[str, JsonValue], value: dict[str, JsonValue], path: Path) -> _Faults:
    for name in listed(schema, "required"):
        if name not in value:
            yield ValueFault(path, f"{show_value(name)} is missing, found {show_value(value)}", "required")
    for trigger, names in named(schema, "dependentRequired").items():
        for name in names if trigger in value and isinstance(names, list) else []:
            if name not in value:
                message = f"{show_value(name)} is missing, which must be there with {show_value(trigger)}"
                yield ValueFault(path, message, "dependentRequired")


def _limit_faults(
    schema: dict[str, JsonValue], limits: dict[str, _Limit], measure: float, found: str, path: Path
) -> _Faults:
    for keyword, (holds, wording) in limits.items():
        limit = schema.get(keyword)
        if limit is not None and not holds(measure, number(limit)):
            yield ValueFault(path, f"expected {wording.format(show_value(limit))}, found {found}", keyword)


_NUMBER_LIMITS: dict[str, _Limit] = {
    "minimum": (lambda measure, limit: measure >= limit, "at least {}"),
    "maximum": (lambda measure, limit: measure <= limit, "at most {}"),
    "exclusiveMinimum": (lambda measure, limit: measure > limit, "more than {}"),
    "exclusiveMaximum": (lambda measure, limit: measure < limit, "less than {}"),
}


def _sizes(least: str, most: str, noun: str) -> dict[str, _Limit]:
    return {
        least: (lambda measure, limit: measure >= limit, f"at least {{}} {noun}"),
        most: (lambda measure, limit: measure <= limit, f"at most {{}} {noun}"),
    }


_TEXT_LIMITS = _sizes("minLength", "maxLength", "characters")
_LIST_LIMITS = _sizes("minItems", "maxItems", "elements")
_OBJECT_LIMITS = _sizes("minProperties", "maxProperties", "properties")


def listed(schema: dict[str, JsonValue], keyword: str) -> list[JsonValue]:
    """Give the list under a keyword, empty when there is none."""
    held = schema.get(keyword)
    return held if isinstance(held, list) else []


def named(schema: dict[str, JsonValue], keyword: str) -> dict[str, JsonValue]:
    """Give the object under a keyword, empty when there is none."""
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def number(held: JsonValue) -> float:
    """Take what a keyword holds as the number that it is known to be."""
    assert isinstance(held, int | float)
    return held


def _exact(value: float) -> Fraction:
    """Give the number that was written: 0.3 is three times 0.1, which binary fractions deny."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def _first_double(value: list[JsonValue]) -> str:
    seen = set()
    for part in value:
        key = key_of(part)
        if key in seen:
            return show_value(part)
        seen.add(key)
    raise AssertionError("the list has no double")
