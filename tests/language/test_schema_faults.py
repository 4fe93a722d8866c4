"""What is refused in a schema, before anything is checked against it."""

import time
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from support.schema_samples import random_document
from wonder.language.schemas import BadSchema, compile_validator, schema_faults
from wonder.language.schemas.bounds import SCHEMA_DEPTH, SUBSCHEMAS


def codes(schema: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(fault.code, fault.path) for fault in schema_faults(schema)]


@pytest.mark.parametrize(
    "schema",
    [
        True,
        False,
        {},
        {"type": ["string", "null"], "minLength": 2.0},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/me"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "$ref": "#/definitions/a"},
        {"properties": {"next": {"$ref": "#"}}},
        {"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"},
        {"$defs": {"a/b~ c": {}}, "$ref": "#/$defs/a~1b~0%20c"},
        {"properties": {"$ref": {"type": "string"}, "$id": {}, "pattern": {}}},
        {"const": {"$ref": "http://example.com"}, "examples": [{"pattern": "("}]},
        {"default": {"$ref": "http://example.com", "pattern": "("}},
        {"pattern": "(a+)+$"},
        {"format": "no-such-format", "x-mine": {"$ref": "http://example.com"}},
        {"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}}},
    ],
)
def test_a_schema_that_needs_nothing_but_itself_has_no_faults(schema):
    assert codes(schema) == []


@pytest.mark.parametrize(
    ("schema", "code", "path"),
    [
        (5, "SCHEMA_NOT_A_SCHEMA", ()),
        ([], "SCHEMA_NOT_A_SCHEMA", ()),
        ("string", "SCHEMA_NOT_A_SCHEMA", ()),
        ({"properties": {"a": "string"}}, "SCHEMA_NOT_A_SCHEMA", ("properties", "a")),
        ({"items": [{}]}, "SCHEMA_NOT_A_SCHEMA", ("items",)),
        ({"type": "objekt"}, "SCHEMA_UNKNOWN_TYPE", ("type",)),
        ({"type": ["string", "int"]}, "SCHEMA_UNKNOWN_TYPE", ("type", 1)),
        ({"type": []}, "SCHEMA_BAD_KEYWORD", ("type",)),
        ({"type": ["null", "null"]}, "SCHEMA_BAD_KEYWORD", ("type",)),
        ({"properties": []}, "SCHEMA_BAD_KEYWORD", ("properties",)),
        ({"required": True}, "SCHEMA_BAD_KEYWORD", ("required",)),
        ({"minLength": -1}, "SCHEMA_BAD_KEYWORD", ("minLength",)),
        ({"not": {"minimum": "3"}}, "SCHEMA_BAD_KEYWORD", ("not", "minimum")),
        ({"anyOf": []}, "SCHEMA_BAD_KEYWORD", ("anyOf",)),
        ({"multipleOf": 0}, "SCHEMA_BAD_KEYWORD", ("multipleOf",)),
        ({"$ref": 3}, "SCHEMA_BAD_KEYWORD", ("$ref",)),
        ({"exclusiveMinimum": True}, "SCHEMA_BAD_KEYWORD", ("exclusiveMinimum",)),
        ({"dependencies": {}}, "SCHEMA_OLD_KEYWORD", ("dependencies",)),
        ({"additionalItems": False}, "SCHEMA_OLD_KEYWORD", ("additionalItems",)),
        ({"$ref": "https://example.com/a.json"}, "SCHEMA_OUTSIDE_REF", ("$ref",)),
        ({"$ref": "file:///etc/passwd"}, "SCHEMA_OUTSIDE_REF", ("$ref",)),
        ({"$ref": "other.json#/a"}, "SCHEMA_OUTSIDE_REF", ("$ref",)),
        ({"items": {"$dynamicRef": "https://example.com/a"}}, "SCHEMA_OUTSIDE_REF", ("items", "$dynamicRef")),
        ({"$schema": "https://example.com/mine"}, "SCHEMA_OUTSIDE_REF", ("$schema",)),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "SCHEMA_OUTSIDE_REF", ("$ref",)),
        ({"properties": {"a": {"$id": "https://example.com"}}}, "SCHEMA_NESTED_ID", ("properties", "a", "$id")),
        ({"$ref": "#/$defs/a"}, "SCHEMA_BAD_REF", ("$ref",)),
        ({"$ref": "#nowhere"}, "SCHEMA_BAD_REF", ("$ref",)),
        ({"allOf": [{}], "$ref": "#/allOf/01"}, "SCHEMA_BAD_REF", ("$ref",)),
        ({"enum": [{"type": "x"}], "$ref": "#/enum/0"}, "SCHEMA_BAD_REF", ("$ref",)),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, "SCHEMA_BAD_REF", ("$defs", "b", "$anchor")),
        ({"pattern": "("}, "SCHEMA_BAD_REGEX", ("pattern",)),
        ({"patternProperties": {"[": {}}}, "SCHEMA_BAD_REGEX", ("patternProperties", "[")),
        ({"pattern": "^(?=a)"}, "SCHEMA_REGEX_BOMB", ("pattern",)),
        ({"pattern": r"(a+)\1"}, "SCHEMA_REGEX_BOMB", ("pattern",)),
        ({"pattern": "((a{1,100}){1,100}){1,100}"}, "SCHEMA_REGEX_BOMB", ("pattern",)),
        ({"pattern": "a" * 5000}, "SCHEMA_REGEX_BOMB", ("pattern",)),
        ({"$ref": "#"}, "SCHEMA_ENDLESS", ("$ref",)),
        ({"allOf": [{"anyOf": [{"$ref": "#"}]}]}, "SCHEMA_ENDLESS", ("allOf", 0, "anyOf", 0, "$ref")),
        ({"not": {"if": {"$ref": "#/not"}}}, "SCHEMA_ENDLESS", ("not", "if", "$ref")),
        ({"properties": {"x": {"$ref": "#", "default": {}}}}, "SCHEMA_ENDLESS", ("properties", "x", "default")),
        ({"type": "string", "default": 3}, "SCHEMA_BAD_DEFAULT", ("default",)),
        ({"minimum": float("nan")}, "SCHEMA_BAD_VALUE", ("minimum",)),
        ({"enum": [{1, 2}]}, "SCHEMA_BAD_VALUE", ("enum", 0)),
    ],
)
def test_each_fault_is_told_with_its_code_and_place(schema, code, path):
    assert codes(schema) == [(code, path)]


def test_all_faults_are_told_at_once():
    schema = {
        "type": "objekt",
        "properties": {
            "a": {"type": "string", "minLength": "3"},
            "b": {"$ref": "http://example.com"},
            "c": {"$ref": "#/$defs/c"},
            "d": {"pattern": "["},
        },
        "required": "a",
    }
    assert [fault.code for fault in schema_faults(schema)] == [
        "SCHEMA_BAD_KEYWORD",
        "SCHEMA_OUTSIDE_REF",
        "SCHEMA_BAD_REF",
        "SCHEMA_BAD_REGEX",
        "SCHEMA_BAD_KEYWORD",
        "SCHEMA_UNKNOWN_TYPE",
    ]


@pytest.mark.parametrize(
    ("schema", "message", "hint"),
    [
        ({"type": "strnig"}, '"strnig" is not a type', 'write "string"'),
        (
            {"minLength": "3"},
            '`minLength` must be a whole number of at least 0; found "3"',
            "write 3 without quotes",
        ),
        (
            {"$defs": {"address": {}}, "$ref": "#/$defs/adress"},
            '"#/$defs/adress" points at no schema in this schema',
            'write "#/$defs/address"',
        ),
        (
            {"properties": {"n": {"default": {"m": 1.5}, "properties": {"m": {"type": "integer"}}}}},
            'the default {"m":1.5} does not fit its own schema at m: expected integer, found 1.5',
            "change the default, or what the schema asks for",
        ),
    ],
)
def test_a_fault_says_what_was_found_and_how_to_mend_it(schema, message, hint):
    [fault] = schema_faults(schema)
    assert (fault.message, fault.hint) == (message, hint)


def nested(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def doubled(levels: int, keyword: str, below: bool = False) -> Any:
    """Each definition refers twice to the one before it, so that following them doubles the work each time."""
    schema: dict[str, Any] = {"$defs": {"a0": {"type": "string"}}, "$ref": f"#/$defs/a{levels}"}
    for level in range(1, levels + 1):
        reference = {"$ref": f"#/$defs/a{level - 1}"}
        part = {"properties": {"x": reference}} if below else reference
        schema["$defs"][f"a{level}"] = {keyword: [part, dict(part)]}
    return schema


def chained(levels: int) -> Any:
    references = {f"a{level}": {"$ref": f"#/$defs/a{level - 1}"} for level in range(1, levels + 1)}
    return {"$defs": {"a0": {}, **references}}


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        (nested(SCHEMA_DEPTH + 1), "SCHEMA_TOO_DEEP"),
        (nested(50_000), "SCHEMA_TOO_DEEP"),
        ({"properties": {str(n): {} for n in range(SUBSCHEMAS + 1)}}, "SCHEMA_TOO_LARGE"),
        ({"enum": ["x" * 2_000_000]}, "SCHEMA_TOO_LARGE"),
        (doubled(40, "allOf"), "SCHEMA_TOO_LARGE"),
        (doubled(40, "oneOf"), "SCHEMA_TOO_LARGE"),
        (doubled(40, "anyOf", below=True), "SCHEMA_TOO_LARGE"),
        (chained(5_000), "SCHEMA_TOO_DEEP"),
        ({"anyOf": [{"pattern": f"^.{{1,{500 + n}}}$"} for n in range(300)]}, "SCHEMA_REGEX_BOMB"),
        (
            {"properties": {f"p{n}": {"default": {}, "$ref": "#"} for n in range(30)}},
            "SCHEMA_ENDLESS",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bomb_is_refused_in_bounded_time(schema, code):
    began = time.process_time()
    assert {fault.code for fault in schema_faults(schema)} == {code}
    assert time.process_time() - began < 60  # of the processor: it takes 2 seconds, and unbounded work years


@pytest.mark.parametrize("keyword", ["minimum", "multipleOf", "const", "default"])
def test_an_integer_that_no_validator_can_be_made_with_is_refused(keyword):
    """Of a schema that was taken and could not be compiled, nobody could start a run or fail one."""
    schema = {"properties": {"a": {keyword: 10**5_000}}}
    [fault] = schema_faults(schema)
    assert (fault.code, fault.path) == ("SCHEMA_BAD_VALUE", ("properties", "a", keyword))
    assert codes({"minimum": 10**999 - 1}) == []
    compile_validator({"minimum": 10**999 - 1})


def test_a_schema_at_the_limits_is_taken():
    assert codes(nested(SCHEMA_DEPTH // 2)) == []
    assert codes({"properties": {str(n): {"type": "string"} for n in range(SUBSCHEMAS - 1)}}) == []
    assert codes(doubled(10, "anyOf")) == []
    assert codes(chained(50)) == []


def test_a_schema_that_refers_to_itself_in_many_ways_is_no_bomb():
    """The validator remembers what it found through such references, so the work does not double."""
    count = 60
    schema = {
        "$ref": "#/$defs/d0",
        "$defs": {
            f"d{n}": {
                "anyOf": [
                    {"required": ["x"], "properties": {"x": {"$ref": f"#/$defs/d{(n * 7 + k) % count}"}}}
                    for k in range(5)
                ]
            }
            for n in range(count)
        },
    }
    assert codes(schema) == []
    value: Any = 1
    for _ in range(190):
        value = {"x": value}
    began = time.process_time()
    assert compile_validator(schema).is_valid(value)
    assert not compile_validator(schema | {"not": {}}).is_valid(value)
    assert time.process_time() - began < 60


def test_compiling_a_faulty_schema_raises_with_all_faults():
    with pytest.raises(BadSchema, match=r'at type: "objekt" is not a type; write "object" \(and 1 more\)') as caught:
        compile_validator({"type": "objekt", "x": 1, "uniqueItems": 1})
    assert [fault.path for fault in caught.value.faults] == [("type",), ("uniqueItems",)]
    assert caught.value.code == "BAD_SCHEMA"


def broken(random: Random, schema: Any) -> Any:
    """Put something wrong somewhere into a schema, or something right."""
    if not isinstance(schema, dict) or not schema:
        return {random.choice(("type", "minLength", "required", "items", "allOf")): random.choice(PIECES)}
    keyword = random.choice(list(schema))
    if isinstance(schema[keyword], dict) and random.random() < 0.6:
        return schema | {keyword: broken(random, schema[keyword])}
    return schema | {keyword: random.choice(PIECES)}


PIECES = (
    None,
    True,
    0,
    -1,
    1.5,
    "string",
    "x",
    [],
    {},
    ["a"],
    ["a", "a"],
    [{}],
    [1],
    {"a": {}},
    {"a": ["b"]},
    {"a": 1},
)


def test_the_form_of_a_schema_is_judged_as_the_official_meta_schema_does():
    """Our own words for what is wrong, but not our own opinion."""
    meta = jsonschema_rs.Draft202012Validator(
        {"$ref": "https://json-schema.org/draft/2020-12/schema"}, validate_formats=False, offline=True
    )
    form = {"SCHEMA_NOT_A_SCHEMA", "SCHEMA_UNKNOWN_TYPE", "SCHEMA_BAD_KEYWORD"}
    judged = {True: 0, False: 0}
    for seed in range(3_000):
        random = Random(seed)
        schema = broken(random, random_document(random))
        ours = not any(fault.code in form for fault in schema_faults(schema))
        assert ours == meta.is_valid(schema), (seed, schema, schema_faults(schema))
        judged[ours] += 1
    assert min(judged.values()) > 300
