"""Schemas written for people, in the notation of TypeScript: `string[]`, `{a: number, b?: string}`, `"x" | "y"`."""

from wonder.language.schemas.faults import show_value
from wonder.language.schemas.positions import Schema, as_schema
from wonder.language.schemas.references import References
from wonder.language.values import JsonValue

_LEVELS = 3
_PROPERTIES = 6
_ALTERNATIVES = 6
_LOOKED_AT = 50
_LENGTH = 160


def describe(schema: Schema) -> str:
    """Say in one short line which values a schema is about; limits such as `minLength` are left out."""
    if isinstance(schema, dict) and (targets := References(schema).targets(schema)):
        schema = targets[0]  # What is meant, at least at the top; further down a name says enough.
    text = _describe(schema, _LEVELS)
    return text if len(text) <= _LENGTH else _describe(schema, 1)[:_LENGTH]


def _describe(schema: JsonValue, levels: int) -> str:
    if not isinstance(schema, dict):
        return "never" if schema is False else "any"
    if "const" in schema:
        return show_value(schema["const"])
    if isinstance(choices := schema.get("enum"), list):
        return _joined([show_value(choice) for choice in choices[:_LOOKED_AT]]) or "never"
    if isinstance(reference := schema.get("$ref", schema.get("$dynamicRef")), str):
        return reference.removeprefix("#").rsplit("/", 1)[-1] or "object"
    named = schema.get("type")
    types = [str(name) for name in named] if isinstance(named, list) else [named] if isinstance(named, str) else []
    if types:
        return _joined([_of_type(name, schema, levels) for name in types])
    for keyword in ("anyOf", "oneOf"):
        if isinstance(alternatives := schema.get(keyword), list):
            return _joined([_describe(alternative, levels) for alternative in alternatives[:_LOOKED_AT]])
    if isinstance(parts := schema.get("allOf"), list):
        texts = dict.fromkeys(_in_brackets(_describe(part, levels)) for part in parts)
        texts.pop("any", None)
        return " & ".join(texts) or "any"
    return _by_keywords(schema, levels)


def _of_type(name: str, schema: dict[str, JsonValue], levels: int) -> str:
    match name:
        case "array":
            return _array(schema, levels)
        case "object":
            return _object(schema, levels)
        case _:
            return name


def _by_keywords(schema: dict[str, JsonValue], levels: int) -> str:
    """Describe a schema that names no type by what it says something about."""
    if "properties" in schema:
        return _object(schema, levels)
    if "items" in schema or "prefixItems" in schema:
        return _array(schema, levels)
    return "any"


def _array(schema: dict[str, JsonValue], levels: int) -> str:
    if not levels:
        return "array"
    rest = schema.get("items", True)
    if isinstance(first := schema.get("prefixItems"), list):
        texts = [_describe(part, levels - 1) for part in first[:_PROPERTIES]]
        if len(first) > _PROPERTIES or rest is not False:
            texts.append("...")
        return f"[{', '.join(texts)}]"
    return "[]" if rest is False else _in_brackets(_describe(rest, levels - 1)) + "[]"


def _object(schema: dict[str, JsonValue], levels: int) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        others = schema.get("additionalProperties", True)
        if levels and isinstance(others, dict) and others:
            return f"{{[name]: {_describe(others, levels - 1)}}}"
        return "{}" if others is False and not schema.get("patternProperties") else "object"
    if not levels:
        return "object"
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    texts = [
        f"{name if name.isidentifier() else show_value(name)}{'' if name in needed else '?'}: "
        f"{_describe(as_schema(part), levels - 1)}"
        for name, part in list(properties.items())[:_PROPERTIES]
    ]
    return "{" + ", ".join(texts + ["..."] * (len(properties) > _PROPERTIES)) + "}"


def _joined(texts: list[str]) -> str:
    different = list(dict.fromkeys(texts))
    if "any" in different:
        return "any"
    shown = different[:_ALTERNATIVES] + ["..."] * (len(different) > _ALTERNATIVES)
    return " | ".join(shown)


def _in_brackets(text: str) -> str:
    return f"({text})" if " | " in text or " & " in text else text
