"""What every kind of action must fulfil, built in or of a package (ACT-8, ACT-10)."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from support.definitions import faults_in
from wonder.actions.guide import all_guides
from wonder.actions.protocol import ActionKind
from wonder.actions.registry import at_work
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import Kind
from wonder.definitions.records.fields import Record
from wonder.definitions.references import ResourceKind
from wonder.definitions.source import read_source
from wonder.language.schemas import schema_faults

_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def assert_conforms(kind: Kind, equipment: Any) -> None:
    """Hold a kind against all that its declaration says of it."""
    _assert_fields_exist(kind)
    working = at_work(kind, equipment)
    assert isinstance(working, ActionKind)
    said = ("kind", "configuration", "carried_out", "pure", "scoped")
    assert [getattr(working, name) for name in said] == [getattr(kind, name) for name in said]
    assert list(kind.errors) == sorted(set(kind.errors))
    assert all(map(_CODE.fullmatch, kind.errors))
    (guide,) = [guide for guide in all_guides() if guide.kind == kind.kind]
    assert guide.summary
    assert guide.gives
    assert guide.errors == kind.errors
    assert faults_in(guide.example) == []
    examples = list(_implementations(read_source(guide.example, "example.yaml").value, kind.kind))
    assert examples, "the example uses the kind"
    for written in examples:
        _assert_places_exist(kind, written)


def _assert_fields_exist(kind: Kind) -> None:
    record = kind.configuration
    assert issubclass(record, Record)
    fields = {field.alias or name for name, field in record.model_fields.items()}
    assert record.secret_fields <= fields
    assert kind.references.keys() <= fields
    assert set(kind.references.values()) <= set(get_args(ResourceKind))
    assert set(kind.schema_fields) <= fields
    assert kind.typescript_field is None or kind.typescript_field in fields
    assert kind.function_field is None or kind.function_field in fields
    assert not kind.scoped or "scope" in fields


def _assert_places_exist(kind: Kind, written: dict[str, Any]) -> None:
    """See that what a kind finds in an implementation is there, where the kind says that it is."""
    implementation = kind.configuration.model_validate(written)
    whole = implementation.model_dump(by_alias=True)
    for place, text in (*kind.templates(implementation), *kind.expressions(implementation)):
        assert _at(whole, place) == text
    for place, text in kind.context_paths(implementation):
        assert _at(whole, place) == text
    for place, target, expr in kind.assignments(implementation):
        assert (_at(whole, place)["path"], _at(whole, place)["expr"]) == (target, expr)
    findings = Findings()
    kind.check(implementation, ("implementation",), findings)
    assert findings.faults == []
    for known in (implementation, None):
        for schema in (kind.input_schema(known, lambda _: None), kind.output_schema(known, lambda _: None)):
            assert list(schema_faults(schema)) == []


def _implementations(value: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Give the implementations of all actions of a kind in a definition."""
    if isinstance(value, dict):
        if value.get("kind") == kind and "implementation" in value:
            yield value["implementation"]
        for held in value.values():
            yield from _implementations(held, kind)
    elif isinstance(value, list):
        for held in value:
            yield from _implementations(held, kind)


def _at(value: Any, place: tuple[str | int, ...]) -> Any:
    for segment in place:
        value = value[segment]
    return value
