"""CTX-5b: defaults are filled in at the start."""

from copy import deepcopy

import pytest

from wonder.language.schemas import compile_defaults, fill_defaults

NESTED = {
    "properties": {
        "limit": {"type": "integer", "default": 10},
        "retry": {
            "type": "object",
            "default": {},
            "properties": {"times": {"default": 3}, "codes": {"default": [500]}},
        },
        "user": {"$ref": "#/$defs/user"},
        "users": {"type": "array", "items": {"$ref": "#/$defs/user"}},
        "by_name": {"additionalProperties": {"$ref": "#/$defs/user"}},
        "pair": {"prefixItems": [True, {"$ref": "#/$defs/user"}], "items": {"properties": {"x": {"default": 0}}}},
    },
    "allOf": [{"properties": {"mode": {"default": "fast"}}}],
    "anyOf": [{"properties": {"unsure": {"default": 1}}}],
    "$defs": {"user": {"properties": {"role": {"default": "guest"}, "friend": {"$ref": "#/$defs/user"}}}},
}
FILLED = {"limit": 10, "retry": {"times": 3, "codes": [500]}, "mode": "fast"}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ({}, FILLED),
        (
            {"limit": None, "mode": 0, "retry": {"times": 1}},
            {"limit": None, "mode": 0, "retry": {"times": 1, "codes": [500]}},
        ),
        ({"user": {}}, FILLED | {"user": {"role": "guest"}}),
        ({"user": {"friend": {"role": "x"}}}, FILLED | {"user": {"role": "guest", "friend": {"role": "x"}}}),
        ({"users": [{}, 5, {"role": "x"}]}, FILLED | {"users": [{"role": "guest"}, 5, {"role": "x"}]}),
        ({"by_name": {"ann": {}}}, FILLED | {"by_name": {"ann": {"role": "guest"}}}),
        ({"pair": [{}, {}, {}]}, FILLED | {"pair": [{}, {"role": "guest"}, {"x": 0}]}),
        ("text", "text"),
        ([{}], [{}]),
    ],
)
def test_missing_properties_are_set_to_their_defaults(value, filled):
    before = deepcopy(value)
    assert fill_defaults(NESTED, value) == filled
    assert value == before


def test_a_value_that_needs_nothing_is_given_back_itself():
    value = FILLED | {"users": [{"role": "x"}]}
    assert fill_defaults(NESTED, value) is value
    assert fill_defaults({"properties": {"a": {}}}, value) is value


def test_changing_a_filled_value_does_not_change_the_schema():
    first = fill_defaults(NESTED, {})
    first["retry"]["codes"].append(502)
    assert fill_defaults(NESTED, {}) == FILLED


def test_filling_is_not_limited_by_how_many_values_there_are():
    fill = compile_defaults({"items": {"properties": {"a": {"default": 1}}}})
    assert fill([{}] * 20_000) == [{"a": 1}] * 20_000


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"$ref": "#", "default": {}}}},
        {"properties": {f"p{n}": {"$ref": "#", "default": {}} for n in range(40)}},
    ],
)
def test_defaults_that_ask_for_themselves_end(schema):
    assert set(fill_defaults(schema, {})) == set(schema["properties"])


def test_a_deep_value_is_filled():
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"default": 1}}}
    value = {"n": 1}
    expected = {"n": 1}
    for _ in range(190):
        value, expected = {"next": value}, {"next": expected, "n": 1}
    assert fill_defaults(schema, value) == expected
