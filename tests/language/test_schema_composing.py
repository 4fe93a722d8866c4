"""Schemas put together to one, and what is always there in the values of a schema."""

from random import Random
from typing import Any

import pytest

from support.schema_samples import fitting_value, random_document
from wonder.language.schemas import compile_validator, schema_faults
from wonder.language.schemas.composing import both_schema, either_schema, list_schema, object_schema
from wonder.language.schemas.presence import may_be_missing, required_names

S, N, INT, NULL = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "null"}


def obj(required: str = "", /, **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required.split()}


def test_a_composed_schema_takes_what_its_parts_take():
    checked = 0
    for seed in range(300):
        random = Random(seed)
        first, second = random_document(random), random_document(random)
        one, two = compile_validator(first), compile_validator(second)
        both, either = (
            compile_validator(both_schema([first, second])),
            compile_validator(either_schema([first, second])),
        )
        pair = compile_validator(object_schema({"a": first, "b": second}, ["a"]))
        many = compile_validator(list_schema(first))
        values = [fitting_value(random, schema, schema) for schema in (first, second) * 4]
        for value in values:
            assert both.is_valid(value) == (one.is_valid(value) and two.is_valid(value)), seed
            assert either.is_valid(value) == (one.is_valid(value) or two.is_valid(value)), seed
            assert pair.is_valid({"a": value}) == one.is_valid(value), seed
            assert pair.is_valid({"a": values[0], "b": value}) == (one.is_valid(values[0]) and two.is_valid(value)), (
                seed
            )
            assert many.is_valid([values[0], value]) == (one.is_valid(values[0]) and one.is_valid(value)), seed
            checked += 1
        assert not pair.is_valid({"b": values[1]})
    assert checked == 2_400


def test_definitions_of_the_same_name_stay_apart():
    def tree(leaf: Any) -> Any:
        return {"$ref": "#/$defs/t", "$defs": {"t": obj("v", v=leaf, next={"$ref": "#/$defs/t"})}}

    schema = object_schema(
        {"a": tree(S), "b": tree(N), "c": {"$ref": "#/definitions/x", "definitions": {"x": INT}}}, []
    )
    assert schema_faults(schema) == []
    fits = compile_validator(schema).is_valid
    assert fits({"a": {"v": "x", "next": {"v": "y"}}, "b": {"v": 1, "next": {"v": 2}}, "c": 5})
    assert not fits({"a": {"v": "x", "next": {"v": 1}}})
    assert not fits({"b": {"v": 1, "next": {"v": "x"}}})
    assert not fits({"c": 1.5})


def test_of_schemas_that_hold_together_those_that_others_imply_are_left_out():
    assert both_schema([N, INT, N, {}, True]) == INT
    assert both_schema([INT, N]) == INT
    assert both_schema([]) == {}
    assert both_schema([S, N]) == {"allOf": [S, N]}
    assert either_schema([S, S]) == S


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (obj("a b", a=S), ["a", "b"]),
        ({"allOf": [obj("a"), obj("b")]}, ["a", "b"]),
        ({"anyOf": [obj("a b"), obj("b c"), NULL]}, ["b"]),
        ({"$ref": "#/$defs/x", "$defs": {"x": obj("a")}}, ["a"]),
        ({}, []),
        (S, []),
    ],
)
def test_the_names_that_every_object_has(schema, names):
    assert sorted(required_names(schema)) == names


@pytest.mark.parametrize(
    ("schema", "path", "missing"),
    [
        (obj("a", a=S), ("a",), False),
        (obj("", a=S), ("a",), True),
        (obj("a", a=obj("b", b=S)), ("a", "b"), False),
        (obj("a", a=obj("", b=S)), ("a", "b"), True),
        (obj("a", a={"anyOf": [obj("b", b=S), NULL]}), ("a", "b"), True),
        ({"anyOf": [obj("a", a=S), obj("a", a=N)]}, ("a",), False),
        ({"anyOf": [obj("a", a=S), obj("b", b=N)]}, ("a",), True),
        ({"type": ["object", "null"], "required": ["a"]}, ("a",), True),
        ({"type": "array", "items": S}, (0,), False),
        ({"type": ["array", "null"], "items": S}, (0,), True),
        ({"type": "object"}, ("a",), False),  # nothing is said about it
        ({}, ("a", "b"), False),
        ({"type": "object", "additionalProperties": True}, ("a",), False),
        ({"type": "object", "additionalProperties": S}, ("a",), True),
        ({"enum": [{"a": 1}, {"a": 2}]}, ("a",), False),
        ({"enum": [{"a": 1}, {}]}, ("a",), True),
    ],
)
def test_whether_a_value_may_be_missing_at_a_path(schema, path, missing):
    assert may_be_missing(schema, path) is missing
