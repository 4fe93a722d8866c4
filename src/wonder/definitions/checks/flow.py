"""What flows where: names that are read but never there, and values that can't fit where they go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wonder.definitions.checks.memory import Memory
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.language.expressions import ROOTS, Expression
from wonder.language.expressions import show_path as show_in_expression
from wonder.language.mapping_faults import MappingSyntax
from wonder.language.mappings import compile_mapping
from wonder.language.paths import PathSyntax, Query, compile_query, parse_dotted
from wonder.language.schemas import Schema, Shape, closest, describe
from wonder.language.values import JsonValue, show_path

ANYTHING: Schema = {}
ALL_NAMES = ""
"""Among the names that were written: the whole was, with names that nobody knows."""


@dataclass(frozen=True)
class Sight:
    """What can be read at one place: the schema of each root, or of `$` itself."""

    roots: Mapping[str, Schema]
    whole: Schema | None = None
    """The schema of `$` where that is one value without roots: the output of an action or task."""
    written: frozenset[str] = frozenset()
    """Names of `state` that a branch may have written: they are there, and no schema says what they are (CTL-7)."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Roots that are not here, with where they are."""
    memory: Memory = field(default_factory=Memory)

    @cached_property
    def names(self) -> frozenset[str]:
        """The roots, as the expression language takes them: once for all expressions that see the same."""
        return ROOTS | self.roots.keys()

    def shape(self, path: Path) -> Shape | None:
        """Say what is known of the value at a path; None if its root does not exist here."""
        if self.whole is not None:
            return self.memory.shape_at(self.whole, path)
        # CTL-15: the error of the token is read in both spellings.
        if path[:2] == ("state", "_last_error"):
            path = path[1:]
        if not path:
            return None
        if path[0] == "state" and len(path) > 1 and (path[1] in self.written or ALL_NAMES in self.written):
            return Shape("open")
        root = self.roots.get(str(path[0]))
        return None if root is None else self.memory.shape_at(root, path[1:])


def check_expression_reads(expression: Expression, sight: Sight, where: Path, findings: Findings) -> None:
    """Note every path of an expression that can't be there."""
    for path in expression.paths:
        # A bare name is a field of state, so that is what a text in the wrong quotes has become.
        if path[0] == "state" and len(path) == 2 and path[1] in expression.quoted:
            _check_quoted(str(path[1]), sight, where, findings)
        else:
            check_read(path, sight, where, findings)


def _check_quoted(name: str, sight: Sight, where: Path, findings: Findings) -> None:
    shape, message = sight.shape(("state", name)), f'"{name}" in double quotes is a name, the field {name} of state'
    if shape and shape.kind == "absent":
        findings.error("unknown_field", where, f"{message}, which does not exist", f"write '{name}' for the string")
    elif shape and shape.kind == "open" and name not in sight.written:
        hint = f"write '{name}' for the string, or {show_in_expression(('state', name))} for the field"
        findings.warning("quoted_name", where, f"{message}, which no schema has", hint)


def check_read(path: Path, sight: Sight, where: Path, findings: Findings) -> bool:
    """Note a path that can't be there; say whether it can."""
    shape = sight.shape(path)
    if shape is None:
        root = str(path[0])
        near = closest(root, list(sight.roots))
        why = f": {sight.elsewhere[root]}" if root in sight.elsewhere else ""
        hint = f"did you mean '{near}'?" if near and not why else f"available here: {_names(sight.roots)}"
        findings.error("unknown_name", where, f"there is no '{root}' here{why}", hint)
        return False
    if shape.kind == "absent":
        _note_absent(path, shape, sight, where, findings)
    return shape.kind != "absent"


def _note_absent(path: Path, shape: Shape, sight: Sight, where: Path, findings: Findings) -> None:
    assert shape.at is not None
    offset = 0 if sight.whole is not None else 1
    at = shape.at + offset + (path[:2] == ("state", "_last_error"))
    above = path[:at]
    parent = show_path(above) or "the output"
    reason, hint = f"{parent} has no '{path[at]}'", "read another field, or add it to the schema"
    if near := closest(str(path[at]), shape.available):
        hint = f"did you mean '{near}'?"
    elif shape.available:
        hint = f"its schema has {_names(shape.available)}"
    elif (here := sight.shape(above)) and here.kind == "known" and here.schema not in (ANYTHING, True):
        reason = f"{parent} is of type {describe(here.schema)}"
        hint = "read it as a whole, or correct its schema"
    findings.error("unknown_field", where, f"'{show_path(path)}' does not exist: {reason}", hint)


def check_mapping(template: JsonValue, sight: Sight, where: Path, findings: Findings) -> bool:
    """Note what is wrong with a mapping in itself and with what it reads; say whether it is sound."""
    before = len(findings.faults)
    try:
        mapping = compile_mapping(template)
    except MappingSyntax as refusal:
        for fault in refusal.faults:
            findings.error(refusal.code.lower(), (*where, *fault.path), fault.message, fault.hint)
        return False
    for place, query in mapping.queries:
        if query.prefix:
            check_read(query.prefix, sight, (*where, *place), findings)
    sound = len(findings.faults) == before
    _check_texts(template, sight, where, findings)
    return sound


def _check_texts(template: JsonValue, sight: Sight, where: Path, findings: Findings) -> None:
    """Warn of each text that spells what could be read here, but lacks the `$.` that reads it."""
    if isinstance(template, dict) and "$literal" not in template:
        for key, part in template.items():
            _check_texts(part, sight, (*where, key), findings)
    elif isinstance(template, list):
        for i, part in enumerate(template):
            _check_texts(part, sight, (*where, i), findings)
    elif isinstance(template, str) and _spells_known_field(template, sight):
        hint = f"write $.{template} for the value, or {{$literal: {template}}} for the string"
        findings.warning("path_as_text", where, f"'{template}' is a string here, not the value at that path", hint)


def _spells_known_field(text: str, sight: Sight) -> bool:
    root, dot, _ = text.partition(".")
    if not dot or root not in sight.roots:
        return False
    try:
        shape = sight.shape(parse_dotted(text))
    except PathSyntax:
        return False
    return shape is not None and shape.kind == "known"


def check_fit(template: JsonValue, sight: Sight, target: Schema, taker: str, where: Path, findings: Findings) -> None:
    """Note each part of a sound mapping whose value can never fit what the target takes."""
    if target is True or target == ANYTHING:
        return
    shape = sight.memory.shape_at(target, ())
    if shape.kind != "known":
        return
    target = shape.schema
    if isinstance(template, dict) and "$literal" not in template and isinstance(target, dict):
        types = target.get("type", "object")
        if types == "object" or (isinstance(types, list) and "object" in types):
            _check_fields(template, sight, target, taker, where, findings)
            return
    mismatch = sight.memory.disjoint(schema_of_mapping(template, sight), target)
    if mismatch:
        findings.error(
            "type_mismatch",
            where,
            f"{mismatch.message} for {taker}",
            "give another value, or correct the schema",
            expected=mismatch.expected,
            actual=mismatch.actual,
        )


def schema_of_mapping(template: JsonValue, sight: Sight) -> Schema:
    """Describe the values that a mapping can give."""
    if isinstance(template, str) and template.startswith("$"):
        return _schema_of_query(compile_query(template), sight)
    if isinstance(template, list):
        # What is not found is null in a list.
        parts: list[JsonValue] = [{"anyOf": [schema_of_mapping(part, sight), {"type": "null"}]} for part in template]
        return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)}
    if isinstance(template, dict) and "$literal" not in template:
        properties: dict[str, JsonValue] = {key: schema_of_mapping(part, sight) for key, part in template.items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    return {"const": template["$literal"] if isinstance(template, dict) else template}


def _schema_of_query(query: Query, sight: Sight) -> Schema:
    if not query.singular:
        return {"type": "array"}
    shape = sight.shape(query.path) if query.path is not None else None
    return shape.schema if shape and shape.kind == "known" else ANYTHING


def _check_fields(
    template: dict[str, Any], sight: Sight, target: dict[str, Any], taker: str, where: Path, findings: Findings
) -> None:
    for key, part in template.items():
        shape = sight.memory.shape_at(target, (key,))
        if shape.kind == "known":
            check_fit(part, sight, shape.schema, f"'{key}' of {taker}", (*where, key), findings)
        elif shape.kind == "absent":
            near = closest(key, list(shape.available))
            hint = f"did you mean '{near}'?" if near else f"it takes {_names(shape.available)}"
            findings.error("unknown_field", (*where, key), f"{taker} has no input '{key}'", hint)
    for name in target.get("required", []):
        if name not in template:
            findings.error("missing_input", where, f"{taker} needs '{name}', which is not mapped", f"map '{name}'")


def _names(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(f"'{name}'" for name in listed[:12]) + (", …" if len(listed) > 12 else "") or "nothing"
