"""What a person wants to know of a kind of action: what it takes, what it gives, and an example (ACT-10)."""

from dataclasses import dataclass, replace
from importlib.resources import files
from inspect import getdoc
from typing import Any, Final

from wonder.actions.registry import announced_kinds
from wonder.definitions.kinds import KINDS, Kind
from wonder.definitions.records.fields import Record

_SCOPE_NOTE: Final = 'in line in a node: "workflow"'


@dataclass(frozen=True)
class Field:
    """One field of a kind's implementation; `default` is None where there is none."""

    name: str
    type: str
    required: bool
    default: Any
    may_hold_secrets: bool
    note: str = ""
    """What else there is to say."""


@dataclass(frozen=True)
class KindGuide:
    """One kind of action; the example is a whole definition file, or nothing where a package gives none."""

    kind: str
    summary: str
    fields: tuple[Field, ...]
    gives: str
    example: str
    package: str | None
    """The module that adds it; None for a built-in one."""
    errors: tuple[str, ...] = ()
    """The codes of the errors that are its own."""


def all_guides() -> list[KindGuide]:
    """Describe every kind: built-in ones, then those of installed packages, by name."""
    theirs = sorted(announced_kinds(), key=lambda kind: kind.kind)
    return [
        *(_guide(kind, None) for kind in KINDS.own.values()),
        *(_guide(kind, type(kind).__module__) for kind in theirs if kind.kind not in KINDS.own),
    ]


def _guide(kind: Kind, package: str | None) -> KindGuide:
    summary = kind.summary or (getdoc(type(kind)) or "").partition("\n\n")[0].replace("\n", " ")
    fields = _fields(kind.configuration)
    if kind.scoped:
        fields = tuple(replace(one, note=_SCOPE_NOTE) if one.name == "scope" else one for one in fields)
    return KindGuide(kind.kind, summary, fields, str(kind.gives), _example(kind), package, tuple(kind.errors))


def _example(kind: Kind) -> str:
    """Give the example that a kind has, or the file beside its declaration."""
    folder, _, _ = type(kind).__module__.rpartition(".")
    if kind.example or not folder:
        return str(kind.example)
    file = files(folder) / "example.yaml"
    return file.read_text("utf-8") if file.is_file() else ""


def _fields(record: type[Record]) -> tuple[Field, ...]:
    schema = record.model_json_schema(by_alias=True)
    required, definitions = schema.get("required", []), schema.get("$defs", {})
    names = {field.alias or name: name for name, field in record.model_fields.items()}
    return tuple(
        Field(
            name,
            _type(described, definitions),
            name in required,
            described.get("default"),
            names.get(name) in record.secret_fields,
        )
        for name, described in schema.get("properties", {}).items()
    )


def _type(schema: Any, definitions: dict[str, Any]) -> str:
    """Say in words what a schema takes."""
    if "$ref" in schema:
        inner = definitions.get(schema["$ref"].rpartition("/")[2], {})
        return "{" + ", ".join(inner.get("properties", {})) + "}"
    if "const" in schema:
        return f"'{schema['const']}'"
    if "enum" in schema:
        return " or ".join(f"'{option}'" for option in schema["enum"])
    if options := schema.get("anyOf", schema.get("oneOf")):
        shown = dict.fromkeys(_type(option, definitions) for option in options if option.get("type") != "null")
        return " or ".join(shown)
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}), definitions)}"
    members = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    if kind == "object" and (described := [member for member in members if isinstance(member, dict)]):
        return f"object of {_type(described[-1], definitions)}"
    return _WORDS.get(str(kind), "JSON Schema" if isinstance(kind, list) else "any JSON")


_WORDS: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}
