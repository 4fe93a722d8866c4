"""CTX-5b: what is known of the value at a path, so that unknown names are found when a definition is created."""

from random import Random
from typing import Any

import pytest

from support.depth import tries
from support.schema_samples import fitting_value, random_document
from wonder.language.schemas import closest, compile_validator, schema_faults, shape_at

STRING = {"type": "string"}
NUMBER = {"type": "number"}
CLOSED = {"type": "object", "properties": {"a": STRING}}
OPEN = CLOSED | {"additionalProperties": True}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "v": NUMBER}}},
}


@pytest.mark.parametrize(
    ("schema", "path", "found"),
    [
        (CLOSED, [], CLOSED),
        (CLOSED, ["a"], STRING),
        ({"properties": {"a": CLOSED}}, ["a", "a"], STRING),
        ({"additionalProperties": NUMBER, "properties": {"a": STRING}}, ["b"], NUMBER),
        ({"patternProperties": {"^x": NUMBER}, "properties": {"a": STRING}}, ["x1"], NUMBER),
        ({"items": NUMBER}, [0], NUMBER),
        ({"items": NUMBER}, [-1], NUMBER),
        ({"prefixItems": [STRING], "items": NUMBER}, [0], STRING),
        ({"prefixItems": [STRING], "items": NUMBER}, [1], NUMBER),
        ({"anyOf": [{"type": "null"}, CLOSED]}, ["a"], STRING),
        ({"anyOf": [CLOSED, {"properties": {"a": NUMBER}}]}, ["a"], {"anyOf": [STRING, NUMBER]}),
        ({"allOf": [CLOSED, {"properties": {"b": NUMBER}}]}, ["b"], NUMBER),
        ({"allOf": [CLOSED, {"properties": {"a": {"minLength": 1}}}]}, ["a"], {"allOf": [STRING, {"minLength": 1}]}),
        (
            CLOSED | {"then": {"properties": {"b": NUMBER}}, "else": {"properties": {"b": NUMBER}}, "if": {}},
            ["a"],
            STRING,
        ),
        ({"const": {"a": [7]}}, ["a", 0], {"enum": [7]}),
        ({"enum": [{"a": 1}, {"a": 2}, None]}, ["a"], {"enum": [1, 2]}),
        (TREE, ["left", "left", "v"], NUMBER),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": CLOSED}}, ["a"], STRING),
    ],
)
def test_a_declared_value_is_known_with_its_schema(schema, path, found):
    shape = shape_at(schema, path)
    assert (shape.kind, shape.schema) == ("known", found)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (True, ["a"]),
        ({}, ["a", "b", 3]),
        ({"type": "object"}, ["a"]),
        ({"type": "object", "properties": {}}, ["a"]),
        ({"type": "array"}, [3]),
        (OPEN, ["b"]),
        ({"additionalProperties": {}, "properties": {"a": STRING}}, ["b"]),
        (CLOSED | {"required": ["b"]}, ["b"]),
        (CLOSED | {"dependentRequired": {"a": ["b"]}}, ["b"]),
        (CLOSED | {"unevaluatedProperties": NUMBER}, ["b"]),
        (CLOSED | {"dependentSchemas": {"a": {"properties": {"b": NUMBER}}}}, ["b"]),
        (CLOSED | {"if": {"properties": {"b": {"const": 1}}}, "then": {"required": ["a"]}}, ["b"]),
        (CLOSED | {"if": {}, "then": {"properties": {"b": NUMBER}}}, ["b"]),
        ({"anyOf": [CLOSED, {"type": "object"}]}, ["b"]),
        ({"anyOf": [CLOSED, OPEN]}, ["b"]),
        ({"anyOf": [{"properties": {"b": NUMBER}}, {"type": "object"}]}, ["b"]),
        ({"allOf": [CLOSED, {"additionalProperties": True}]}, ["b"]),
        ({"prefixItems": [STRING]}, [5]),
        ({"prefixItems": [STRING], "items": NUMBER}, [-1]),
        ({"properties": {"a": {"items": NUMBER}}}, ["a", "length"]),  # nothing says that it is a list
        ({"not": CLOSED}, ["b"]),
        (CLOSED | {"properties": {"a": True}}, ["a", "x"]),
    ],
)
def test_what_nobody_declared_and_nobody_closed_is_open(schema, path):
    shape = shape_at(schema, path)
    assert (shape.kind, shape.schema) == ("open", True)


@pytest.mark.parametrize(
    ("schema", "path", "at", "available"),
    [
        (False, ["a"], 0, ()),
        (CLOSED, ["b"], 0, ("a",)),
        (CLOSED, ["a", "b"], 1, ()),
        (CLOSED, [0], 0, ()),
        (CLOSED | {"additionalProperties": False}, ["b"], 0, ("a",)),
        (CLOSED | {"allOf": [{"required": ["a"]}]}, ["b"], 0, ("a",)),
        (CLOSED | {"anyOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]}, ["b"], 0, ("a",)),
        ({"type": "array", "items": STRING}, ["length"], 0, ()),
        ({"type": "array", "items": CLOSED}, [0, "b"], 1, ("a",)),
        ({"type": "array", "maxItems": 2}, [2], 0, ()),
        ({"prefixItems": [STRING], "items": False}, [1], 0, ()),
        ({"type": ["string", "null"]}, ["a"], 0, ()),
        ({"properties": {"a": False, "b": True}}, ["a"], 0, ("b",)),
        ({"anyOf": [{"type": "null"}, CLOSED]}, ["b"], 0, ("a",)),
        ({"oneOf": [CLOSED, {"properties": {"b": NUMBER}}]}, ["c"], 0, ("a", "b")),
        ({"allOf": [CLOSED, {"properties": {"b": NUMBER}}]}, ["c"], 0, ("a", "b")),
        ({"allOf": [CLOSED | {"additionalProperties": False}, {"properties": {"b": NUMBER}}]}, ["b"], 0, ("a", "b")),
        ({"const": {"a": 1}}, ["b"], 0, ()),
        (TREE, ["left", "right"], 1, ("left", "v")),
    ],
)
def test_ctx_5b_a_name_that_a_closed_schema_does_not_have_is_absent(schema, path, at, available):
    shape = shape_at(schema, path)
    assert (shape.kind, shape.at, shape.available) == ("absent", at, available)


def test_a_known_schema_stands_alone():
    shape = shape_at(TREE, ["left"])
    assert schema_faults(shape.schema) == []
    validator = compile_validator(shape.schema)
    assert validator.is_valid({"left": {"v": 1}})
    assert not validator.is_valid({"left": {"v": "x"}})


def test_two_definitions_of_the_same_name_stay_two():
    schema = {
        "$defs": {"n": {"type": "string", "$defs": {"n": NUMBER}}},
        "properties": {"a": {"properties": {"s": {"$ref": "#/$defs/n"}, "n": {"$ref": "#/$defs/n/$defs/n"}}}},
    }
    validator = compile_validator(shape_at(schema, ["a"]).schema)
    assert validator.is_valid({"s": "x", "n": 1})
    assert not validator.is_valid({"s": 1})
    assert not validator.is_valid({"n": "x"})


def closed(schema: Any) -> Any:
    """Say the convention of CTX-5b in JSON Schema's own words: what no part of a schema mentions is refused."""
    if not isinstance(schema, dict):
        return schema
    inside = inner(schema)
    return inside | {"unevaluatedProperties": False} if lists_properties(schema) else inside


def inner(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    copy = dict(schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        if keyword in copy:
            copy[keyword] = [inner(part) for part in copy[keyword]]
    for keyword in ("if", "then", "else"):
        if keyword in copy:
            copy[keyword] = inner(copy[keyword])
    for keyword in ("items", "additionalProperties"):
        if keyword in copy:
            copy[keyword] = closed(copy[keyword])
    for keyword in ("properties", "patternProperties", "$defs"):
        if keyword in copy:
            copy[keyword] = {name: closed(part) for name, part in copy[keyword].items()}
    if "dependentSchemas" in copy:
        copy["dependentSchemas"] = {name: inner(part) for name, part in copy["dependentSchemas"].items()}
    if "prefixItems" in copy:
        copy["prefixItems"] = [closed(part) for part in copy["prefixItems"]]
    return copy


def lists_properties(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    beside = [part for keyword in ("allOf", "anyOf", "oneOf") for part in schema.get(keyword, [])]
    beside += [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
    beside += schema.get("dependentSchemas", {}).values()
    return bool(schema.get("properties")) or any(map(lists_properties, beside))


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value)] + [found for name, part in below for found in paths_of(part, (*path, name))]


def test_a_path_that_a_fitting_value_has_is_never_absent_and_its_value_fits_what_is_known():
    seen = {"known": 0, "open": 0}
    for seed in range(tries(1_200, 12_000)):
        random = Random(seed)
        schema = random_document(random)
        validator = compile_validator(closed(schema))
        for _ in range(6):
            value = fitting_value(random, schema, schema)
            if not validator.is_valid(value):
                continue
            for path, part in paths_of(value):
                shape = shape_at(schema, path)
                assert shape.kind != "absent", (seed, schema, value, path)
                assert compile_validator(shape.schema).is_valid(part), (seed, schema, value, path, shape)
                seen[shape.kind] += bool(path)
    assert min(seen.values()) > 400


@pytest.mark.parametrize(
    ("name", "candidates", "found"),
    [
        ("nmae", ["name", "age"], "name"),
        ("user_name", ["userName", "user"], "userName"),
        ("xyz", ["name", "age"], None),
        ("a", [], None),
        ("x" * 100_000, ["y" * 100_000] * 1000, None),
    ],
)
def test_the_name_that_was_probably_meant_is_found(name, candidates, found):
    assert closest(name, candidates) == found
