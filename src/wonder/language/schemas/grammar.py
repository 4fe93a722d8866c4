"""What each keyword of JSON Schema 2020-12 must hold, said so that a person can fix it."""

import re
from collections.abc import Callable, Iterator

from wonder.language.schemas.faults import SchemaFault, show_value
from wonder.language.schemas.names import closest
from wonder.language.schemas.positions import Path
from wonder.language.values import JsonValue

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*\Z")


def grammar_faults(schema: JsonValue, path: Path) -> Iterator[SchemaFault]:
    """Say what is wrong with one subschema itself; the schemas inside it are not looked at."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield SchemaFault(
            "SCHEMA_NOT_A_SCHEMA",
            path,
            f"a schema is an object, true or false; found {show_value(schema)}",
            _how_to_write(schema),
        )
        return
    for keyword, held in schema.items():
        if keyword == "type":
            yield from _type_faults(held, (*path, "type"))
        elif keyword in _GONE:
            message = f"`{keyword}` is a keyword of older drafts of JSON Schema, which 2020-12 does not have"
            yield SchemaFault("SCHEMA_OLD_KEYWORD", (*path, keyword), message, _GONE[keyword])
        elif keyword in _GRAMMAR:
            fits, expected = _GRAMMAR[keyword]
            if not fits(held):
                message = f"`{keyword}` must be {expected}; found {show_value(held)}"
                yield SchemaFault("SCHEMA_BAD_KEYWORD", (*path, keyword), message, _hint(keyword, expected, held))


def _type_faults(held: JsonValue, path: Path) -> Iterator[SchemaFault]:
    named = held if isinstance(held, list) else [held]
    unknown = [(index, name) for index, name in enumerate(named) if name not in TYPES]
    for index, name in unknown:
        near = closest(name, _TYPE_WORDS) if isinstance(name, str) else None
        hint = f'write "{_TYPE_WORDS[near]}"' if near else f"the types are {', '.join(TYPES)}"
        message = f"{show_value(name)} is not a type"
        yield SchemaFault("SCHEMA_UNKNOWN_TYPE", (*path, index) if isinstance(held, list) else path, message, hint)
    if not named or (not unknown and len(set(map(str, named))) < len(named)):
        message = f"`type` must be one type, or a list of different ones; found {show_value(held)}"
        yield SchemaFault("SCHEMA_BAD_KEYWORD", path, message, "list each type once, at least one")


def _how_to_write(found: JsonValue) -> str:
    if isinstance(found, str):
        name = found.rstrip("?")
        return f'write {{"type": "{name}"}}' if name in TYPES else 'write for example {"type": "string"}'
    if isinstance(found, list):
        return "write the schemas of a tuple under prefixItems, alternatives under anyOf"
    return 'write for example {"type": "string"}, or true for any value'


def _hint(keyword: str, expected: str, held: JsonValue) -> str:
    if keyword == "required" and isinstance(held, bool):
        return "list the names under `required` of the object that has the property"
    if isinstance(held, str) and held.strip().lstrip("-").isdecimal():
        return f"write {held.strip()} without quotes"
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(held, bool):
        return f"write the limit itself under {keyword}"
    return f"make it {expected}"


def _is_named_schemas(held: JsonValue) -> bool:
    return isinstance(held, dict)


def _is_listed_schemas(held: JsonValue) -> bool:
    return isinstance(held, list) and len(held) > 0


def _is_count(held: JsonValue) -> bool:
    if isinstance(held, bool) or not isinstance(held, int | float):
        return False
    return held >= 0 and (isinstance(held, int) or held.is_integer())


def _is_number(held: JsonValue) -> bool:
    return isinstance(held, int | float) and not isinstance(held, bool)


def _is_positive(held: JsonValue) -> bool:
    return isinstance(held, int | float) and not isinstance(held, bool) and held > 0


def _is_text(held: JsonValue) -> bool:
    return isinstance(held, str)


def _is_flag(held: JsonValue) -> bool:
    return isinstance(held, bool)


def _is_list(held: JsonValue) -> bool:
    return isinstance(held, list)


def _is_names(held: JsonValue) -> bool:
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        return False
    return len({str(name) for name in held}) == len(held)


def _is_lists_of_names(held: JsonValue) -> bool:
    return isinstance(held, dict) and all(map(_is_names, held.values()))


def _is_anchor(held: JsonValue) -> bool:
    return isinstance(held, str) and _ANCHOR.match(held) is not None


_NAMED_SCHEMAS = (_is_named_schemas, "an object of schemas by name")
_LISTED_SCHEMAS = (_is_listed_schemas, "a list of at least one schema")
_COUNT = (_is_count, "a whole number of at least 0")
_NUMBER = (_is_number, "a number")
_TEXT = (_is_text, "a string")
_FLAG = (_is_flag, "true or false")

_GRAMMAR: dict[str, tuple[Callable[[JsonValue], bool], str]] = {
    "$anchor": (_is_anchor, "a name of letters, digits, `-`, `_` and `.` that starts with a letter or `_`"),
    "$comment": _TEXT,
    "$defs": _NAMED_SCHEMAS,
    "$dynamicAnchor": (_is_anchor, "a name of letters, digits, `-`, `_` and `.` that starts with a letter or `_`"),
    "$dynamicRef": _TEXT,
    "$id": _TEXT,
    "$ref": _TEXT,
    "$schema": _TEXT,
    "allOf": _LISTED_SCHEMAS,
    "anyOf": _LISTED_SCHEMAS,
    "contentEncoding": _TEXT,
    "contentMediaType": _TEXT,
    "definitions": _NAMED_SCHEMAS,
    "dependentRequired": (_is_lists_of_names, "an object of lists of different names"),
    "dependentSchemas": _NAMED_SCHEMAS,
    "deprecated": _FLAG,
    "description": _TEXT,
    "enum": (_is_list, "a list of values"),
    "examples": (_is_list, "a list of values"),
    "exclusiveMaximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "format": _TEXT,
    "maxContains": _COUNT,
    "maxItems": _COUNT,
    "maxLength": _COUNT,
    "maxProperties": _COUNT,
    "maximum": _NUMBER,
    "minContains": _COUNT,
    "minItems": _COUNT,
    "minLength": _COUNT,
    "minProperties": _COUNT,
    "minimum": _NUMBER,
    "multipleOf": (_is_positive, "a number above 0"),
    "oneOf": _LISTED_SCHEMAS,
    "pattern": _TEXT,
    "patternProperties": _NAMED_SCHEMAS,
    "prefixItems": _LISTED_SCHEMAS,
    "properties": _NAMED_SCHEMAS,
    "readOnly": _FLAG,
    "required": (_is_names, "a list of different names"),
    "title": _TEXT,
    "uniqueItems": _FLAG,
    "writeOnly": _FLAG,
}

# Not ignored, as the draft would have it: who writes one of these means it.
_GONE = {
    "$recursiveAnchor": "use $anchor",
    "$recursiveRef": 'use $ref: "#"',
    "$vocabulary": "leave it out; it belongs to a meta-schema",
    "additionalItems": "put the schemas of the first elements under prefixItems, and that of the others under items",
    "dependencies": "use dependentRequired for lists of names, dependentSchemas for schemas",
}

# Words that people write for types, from other languages.
_TYPE_WORDS = {name: name for name in TYPES} | {
    "bool": "boolean",
    "dict": "object",
    "double": "number",
    "float": "number",
    "int": "integer",
    "list": "array",
    "map": "object",
    "none": "null",
    "str": "string",
    "text": "string",
    "undefined": "null",
}
