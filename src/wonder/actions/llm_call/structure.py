"""What an answer has to be, and how a model is told: by its provider's structured output, or in the prompt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from wonder.definitions.records.providers import Structured
from wonder.language.schemas import Schema, Validator, compile_validator
from wonder.language.values import encode_json

WRAPPED: Final = "answer"
"""Providers give objects only, so any other value is asked for as the one member of an object."""

_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES: Final = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
)


class NativeForm(NamedTuple):
    """A schema as a provider takes it; strict where the provider can hold every word of it."""

    schema: dict[str, Any]
    is_strict: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer must be: a text, or JSON that fits; and what is sent so that it is."""

    is_text: bool
    validator: Validator | None
    native: NativeForm | None = None
    is_wrapped: bool = False
    instruction: str | None = None


def shape_of(schema: Schema, structured: Structured, native: Callable[[dict[str, Any]], NativeForm | None]) -> Shape:
    """Work out how to ask for values of a schema; `native` gives the provider's form of one, where it has any."""
    if schema is True or not isinstance(schema, dict) or not schema:
        return Shape(is_text=True, validator=None if schema is not False else compile_validator(False))
    validator = compile_validator(schema)
    if schema.get("type") == "string" and not schema.keys() & {"enum", "const"}:
        return Shape(is_text=True, validator=validator)
    form, is_wrapped = None, False
    if structured != "prompt":
        is_wrapped = schema.get("type") != "object"
        # A reference counts from the root of its schema, which would be another one inside a wrapper.
        if not (is_wrapped and "$ref" in encode_json(schema)):
            form = native(_wrap(schema) if is_wrapped else schema)
    if form is None:
        return Shape(is_text=False, validator=validator, instruction=_instruction(schema))
    instruction = _instruction(_wrap(schema) if is_wrapped else schema) if structured == "both" else None
    return Shape(False, validator, form, is_wrapped, instruction)


def is_closed(schema: object) -> bool:
    """Say whether every object in a schema names all that it may hold, as some providers ask for."""

    def closed(part: dict[str, Any]) -> bool:
        names_others = part.get("additionalProperties", False) not in (False, True) or "patternProperties" in part
        is_open = part.get("type") == "object" and "properties" not in part
        return not names_others and not is_open

    return _all(schema, closed)


def is_within(schema: object, keywords: frozenset[str]) -> bool:
    """Say whether a schema uses no keyword but these."""
    return _all(schema, lambda part: part.keys() <= keywords)


def requires_all(schema: object) -> bool:
    """Say whether every object in a schema requires all that it names and allows nothing else."""

    def required(part: dict[str, Any]) -> bool:
        if part.get("type") != "object":
            return True
        named = set(part.get("properties", {}))
        return named == set(part.get("required", [])) and part.get("additionalProperties") is False

    return _all(schema, required)


def keep(schema: Any, keywords: frozenset[str]) -> Any:
    """Return a schema without any keyword but these: it allows more, so what comes is checked all the same."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for keyword, held in schema.items():
        if keyword not in keywords:
            continue
        if keyword in _MAPS and isinstance(held, dict):
            kept[keyword] = {name: keep(part, keywords) for name, part in held.items()}
        elif keyword in _LISTS and isinstance(held, list):
            kept[keyword] = [keep(part, keywords) for part in held]
        elif keyword in _SINGLES:
            kept[keyword] = keep(held, keywords)
        else:
            kept[keyword] = held
    return kept


def _all(schema: object, holds: Callable[[dict[str, Any]], bool]) -> bool:
    if not isinstance(schema, dict):
        return False  # `true` and `false` are schemas that no provider takes
    parts = [part for name in _MAPS if isinstance(schema.get(name), dict) for part in schema[name].values()]
    parts += [part for name in _LISTS if isinstance(schema.get(name), list) for part in schema[name]]
    parts += [schema[name] for name in _SINGLES if name in schema and not isinstance(schema[name], bool)]
    return holds(schema) and all(_all(part, holds) for part in parts)


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {WRAPPED: schema}
    return {"type": "object", "properties": properties, "required": [WRAPPED], "additionalProperties": False}


def _instruction(schema: dict[str, Any]) -> str:
    return (
        "Answer with JSON only, without any text before or after it. It must fit this JSON Schema:\n"
        f"{encode_json(schema)}"
    )
