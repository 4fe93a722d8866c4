"""What a person wants to know of a kind of action: what it takes, what it gives, and an example (ACT-10)."""

from dataclasses import dataclass, replace
from importlib.resources import files
from inspect import getdoc
from typing import Any, Final

from wonder.actions.protocol import ActionKind
from wonder.actions.registry import announced_kinds
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.actions import SCOPED_KINDS
from wonder.definitions.records.fields import Record

_OURS: Final = {
    "llm_call": ("sends a prompt to a model", "the value that fits `produces`; a text where that is empty or a string"),
    "mcp_tool": (
        "calls a tool of an MCP server",
        "the tool's structured content; else what its text says as JSON; else {text, content}",
    ),
    "http_request": (
        "sends an HTTP request",
        "{status, headers (in lower case), body}; a status of 400 or above fails unless accepted",
    ),
    "human_input": ("asks a person, and waits for the answer", "the answer"),
    "update_context": ("assigns the values of expressions, in order", "{}"),
    "write_artifact": ("keeps content in the object store", "{artifact_id, content_type, size_bytes}"),
    "workflow_call": (
        "runs another workflow, and waits for its end",
        "the child's output; with `catch`, when it failed: {error: {code, message, run_id}}",
    ),
    "vector_search": ("finds the artifacts nearest to a query", "{matches: [{artifact_id, score, schema_data}]}"),
    "emit_metric": ("gives a number with dimensions", "{}"),
    "shell_command": (
        "runs a program with its arguments",
        "{exit_code, stdout, stderr}; another exit code than ok_exit_codes fails",
    ),
    "transform": ("computes in TypeScript, without a clock, chance or anything outside", "its value"),
    "sleep": ("waits for a time, or until a moment", "{}"),
    "python": ("calls a Python function with the input as keyword arguments", "what the function returns"),
    "wait_for_event": ("waits for an event from outside", "the event's payload"),
    "assert": ("fails unless an expression holds", "{}; or ASSERTION_FAILED"),
    "read_file": ("reads a file of the project's files_root", "{content, size_bytes}"),
    "write_file": ("writes a file of the project's files_root", "{path, size_bytes}"),
}
"""What each of our kinds does and gives."""


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
    """The module that adds it; None for ours."""


def all_guides() -> list[KindGuide]:
    """Describe every kind: ours, then those of installed packages, by name."""
    theirs = sorted(announced_kinds(), key=lambda kind: kind.kind)
    return [*map(_ours, sorted(KINDS.own)), *(_theirs(kind) for kind in theirs if kind.kind not in KINDS.own)]


def _ours(kind: str) -> KindGuide:
    summary, gives = _OURS[kind]
    example = (files("wonder.actions") / "examples" / f"{kind}.yaml").read_text("utf-8")
    fields = _fields(KINDS.own[kind])
    if kind in SCOPED_KINDS:
        fields = tuple(replace(one, note=_SCOPE_NOTE) if one.name == "scope" else one for one in fields)
    return KindGuide(kind, summary, fields, gives, example, None)


def _theirs(kind: ActionKind) -> KindGuide:
    # Both are for who writes a kind to give or to leave out.
    gives, example = getattr(kind, "gives", "what its package says"), getattr(kind, "example", "")
    summary = (getdoc(type(kind)) or "").partition("\n\n")[0].replace("\n", " ")
    fields = _fields(kind.configuration)
    return KindGuide(kind.kind, summary, fields, str(gives), str(example), type(kind).__module__)


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
