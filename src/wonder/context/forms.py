"""Forms: how a JSON Schema asks for its values to be stored: a typed column, columns, a child table, or JSON.

A form is a good guess, never a promise: a value that does not fit its form is kept beside the columns, so a schema that
is read too simply here costs a query some comfort and no value its exactness.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import unquote

from msgspec import Struct

from wonder.language.values import JsonValue

ScalarKind: TypeAlias = Literal["integer", "number", "boolean", "string"]


class ScalarForm(Struct, frozen=True):
    """One value of one type: a typed column."""

    kind: ScalarKind


class ObjectForm(Struct, frozen=True):
    """An object whose properties are known: their columns, prefixed."""

    properties: Mapping[str, JsonValue]


class ArrayForm(Struct, frozen=True):
    """A list whose elements are all alike: a child table with a row for each."""

    items: JsonValue


class OpenForm(Struct, frozen=True):
    """Anything else: a JSON column."""


Form: TypeAlias = ScalarForm | ObjectForm | ArrayForm | OpenForm

OPEN: Final = OpenForm()
_SCALARS: Final = ("integer", "number", "boolean", "string")
_CHOICES: Final = ("anyOf", "oneOf", "allOf")
# Beyond these a schema is stored as JSON: choosing a form must stay cheap, whatever the schema.
_MAX_REFS: Final = 64
_MAX_CHOICES: Final = 64
_MAX_NESTED_CHOICES: Final = 16


def form_of(schema: JsonValue, document: JsonValue, refs: frozenset[str]) -> tuple[Form, frozenset[str]]:
    """Choose the form that a schema asks for, and return the refs that were followed with those given.

    A ref that is followed already is a recursion: its depth is unknown, so it is stored as JSON.
    """
    return _form(schema, document, refs, 0)


def _form(schema: JsonValue, document: JsonValue, refs: frozenset[str], nesting: int) -> tuple[Form, frozenset[str]]:
    while isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str):
        if ref in refs or len(refs) == _MAX_REFS:
            return OPEN, refs
        refs |= {ref}
        schema = _resolve(ref, document)
    if not isinstance(schema, dict) or nesting > _MAX_NESTED_CHOICES:
        return OPEN, refs
    kinds = _kinds(schema)
    if kinds is None:
        return _form_of_choice(schema, document, refs, nesting)
    return _form_of_kind(kinds, schema), refs


def _kinds(schema: Mapping[str, JsonValue]) -> frozenset[str] | None:
    """The types, apart from null, that a schema admits by what it says itself; None where it does not say."""
    match schema:
        case {"type": str(kind)}:
            return frozenset({kind})
        case {"type": [*kinds]}:
            return _merge_numbers({kind for kind in kinds if isinstance(kind, str) and kind != "null"})
        case {"properties": dict()}:
            return frozenset({"object"})
        case {"items": _}:
            return frozenset({"array"})
        case {"const": constant}:
            return _merge_numbers({_kind_of(constant)} - {"null"})
        case {"enum": [*constants]}:
            return _merge_numbers({_kind_of(constant) for constant in constants} - {"null"})
        case _:
            return None


def _merge_numbers(kinds: Iterable[str]) -> frozenset[str]:
    kinds = frozenset(kinds)
    return frozenset({"number"}) if kinds == {"integer", "number"} else kinds


def _kind_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            return "object"


def _form_of_kind(kinds: frozenset[str], schema: Mapping[str, JsonValue]) -> Form:
    if len(kinds) != 1:
        return OPEN
    (kind,) = kinds
    if kind in _SCALARS:
        return ScalarForm(cast(ScalarKind, kind))
    properties, items = schema.get("properties"), schema.get("items", True)
    if kind == "object" and isinstance(properties, dict) and properties:
        return ObjectForm(properties)
    if kind == "array" and "prefixItems" not in schema and not isinstance(items, list):
        return ArrayForm(items)
    return OPEN


def _form_of_choice(
    schema: Mapping[str, JsonValue], document: JsonValue, refs: frozenset[str], nesting: int
) -> tuple[Form, frozenset[str]]:
    """The form of `anyOf: [T, {type: null}]` is T's, and so is that of choices which are all the same scalar."""
    choices = next((schema[keyword] for keyword in _CHOICES if keyword in schema), None)
    if not isinstance(choices, list):
        return OPEN, refs
    choices = [choice for choice in choices if not _is_null(choice)]
    # Only the outermost choice is looked through in full: choices of choices would cost a power of their number.
    if not choices or len(choices) > (1 if nesting else _MAX_CHOICES):
        return OPEN, refs
    first, *others = [_form(choice, document, refs, nesting + 1) for choice in choices]
    if others and not (isinstance(first[0], ScalarForm) and all(form == first[0] for form, _ in others)):
        return OPEN, refs
    return first


def _is_null(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _resolve(ref: str, document: JsonValue) -> JsonValue:
    """Follow a ref inside its own document; True, which leaves all open, where it leads nowhere."""
    if ref != "#" and not ref.startswith("#/"):
        return True
    found = document
    for segment in unquote(ref).split("/")[1:]:
        segment = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and segment in found:
            found = found[segment]
        elif isinstance(found, list) and segment.isdecimal() and len(segment) < 6 and int(segment) < len(found):
            found = found[int(segment)]
        else:
            return True
    return found
