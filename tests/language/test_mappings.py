"""Mappings (CTX-5)."""

import pytest

from wonder.language.mapping_faults import MappingSyntax
from wonder.language.mappings import compile_mapping

ROOT = {
    "input": {"name": "Ada", "tags": ["x", "y"]},
    "state": {"count": 0, "none": None, "rows": [{"id": 1}, {"id": 2}]},
    "output": {},
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        (None, {}),
        ({}, {}),
        ({"who": "$.input.name"}, {"who": "Ada"}),
        ({"who": "$.input.nobody"}, {}),
        ({"none": "$.state.none"}, {"none": None}),
        ({"a": {"b": "$.absent"}}, {"a": {}}),
        (["$.absent", "$.state.count", "x"], [None, 0, "x"]),
        ({"ids": "$.state.rows[*].id"}, {"ids": [1, 2]}),
        ({"ids": "$.state.rows[?@.id > 5].id"}, {"ids": []}),
        ({"n": 1, "f": 1.0, "t": "text", "b": True, "z": None}, {"n": 1, "f": 1.0, "t": "text", "b": True, "z": None}),
        ({"price": {"$literal": "$5.00"}}, {"price": "$5.00"}),
        ({"x": {"$literal": {"$literal": "$.a"}}}, {"x": {"$literal": "$.a"}}),
        ({"x": {"deep": [{"$literal": "$.a"}, 1]}}, {"x": {"deep": ["$.a", 1]}}),
        ({"x": [{"$literal": "$"}, "$.state.count"]}, {"x": ["$", 0]}),
        ({"$literal": ["$.x"]}, ["$.x"]),
        ({"$ref": "a", "$.x": "b"}, {"$ref": "a", "$.x": "b"}),  # keys are never queries
        ("$.input", ROOT["input"]),
        ("$", ROOT),
        ("$.absent", None),
        ("$.absent[*]", []),
        ("text", "text"),
        (7, 7),
        ([], []),
        (" $.input", " $.input"),
    ],
)
def test_ctx_5_a_mapping_is_a_template_of_queries_and_literals(template: object, value: object) -> None:
    assert compile_mapping(template).apply(ROOT) == value


def test_ctx_5_keys_keep_the_order_of_the_template() -> None:
    built = compile_mapping({"b": "$.state.count", "a": 1, "c": "$.absent", "d": "$.input.name"}).apply(ROOT)
    assert list(built) == ["b", "a", "d"]


def test_each_query_is_known_by_its_place_in_the_template() -> None:
    mapping = compile_mapping({"a": "$.state.x", "b": ["y", {"c": "$.input[*]"}], "d": {"$literal": "$.no"}})
    assert [(path, query.text) for path, query in mapping.queries] == [
        (("a",), "$.state.x"),
        (("b", 1, "c"), "$.input[*]"),
    ]
    assert [(path, query.text) for path, query in compile_mapping("$.input").queries] == [((), "$.input")]


def test_all_faults_of_a_mapping_are_told_at_once_with_their_places() -> None:
    template = {"ok": "$.a", "price": "$5", "list": [1, "$.."], "both": {"$literal": 1, "x": "$["}}
    with pytest.raises(MappingSyntax) as caught:
        compile_mapping(template)
    assert [fault.path for fault in caught.value.faults] == [("price",), ("list", 1), ("both",)]
    assert str(caught.value).splitlines()[0] == (
        "at price: '$5' is not a query: unexpected token '5' at character 2; "
        'see RFC 9535 (JSONPath); write a string that begins with $ as {"$literal": "$…"}'
    )


def test_ctx_7_a_template_nested_too_deep_is_a_fault() -> None:
    template: object = "$.a"
    for _ in range(200):
        template = [template]
    compile_mapping(template)
    with pytest.raises(MappingSyntax) as caught:
        compile_mapping([template])
    assert [fault.message for fault in caught.value.faults] == ["nested deeper than 200 levels"]


def test_what_a_mapping_finds_is_passed_on_without_a_copy() -> None:
    assert compile_mapping({"rows": "$.state.rows"}).apply(ROOT)["rows"] is ROOT["state"]["rows"]
