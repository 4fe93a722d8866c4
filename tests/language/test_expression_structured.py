"""EXP-5: structured conditions mean the same as the expressions that they spell."""

from typing import Any

import pytest

from wonder.language.expressions import (
    ExpressionFailed,
    ExpressionSyntax,
    ExpressionTooLarge,
    Names,
    compile_expression,
    compile_structured,
)

NAMES = Names()
STATE: dict[str, Any] = {
    "approved": True,
    "count": 5,
    "name": "Ada Lovelace",
    "tags": ["a", "b", 1, True, None, [1, 2], {"y": 1, "x": 2}],
    "plain": ["a", "b"],
    "empty": [],
    "nothing": None,
    "object": {"b": 1, "a": 2},
}


def field(path: str) -> dict[str, Any]:
    return {"type": "field", "path": path}


def literal(value: Any) -> dict[str, Any]:
    return {"type": "literal", "value": value}


def comparison(left: Any, operator: str, *right: Any) -> dict[str, Any]:
    operands = {"right": right[0]} if right else {}
    return {"type": "comparison", "left": left, "operator": operator, **operands}


def evaluate(definition: Any) -> Any:
    return compile_structured(definition, NAMES).evaluate({"state": STATE})


@pytest.mark.parametrize(
    ("path", "operator", "value", "outcome"),
    [
        ("state.approved", "==", True, True),
        ("state.approved", "!=", True, False),
        ("state.count", "==", 5.0, True),
        ("state.count", "<", 6, True),
        ("state.count", "<=", 5, True),
        ("state.count", ">", 5, False),
        ("state.count", ">=", 5, True),
        ("state.count", "==", "5", False),  # no conversion, as in SQLite
        ("state.count", "<", "5", True),  # numbers come before texts
        ("state.nothing", "==", None, None),
        ("state.absent", "==", 1, None),
        ("state.object", "==", {"a": 2, "b": 1}, True),  # canonical JSON: the order of keys is none
        ("state.plain", "==", ["a", "b"], True),
        ("state.plain", "==", ["b", "a"], False),
        ("state.count", "in", [1, 5], True),
        ("state.count", "not_in", [1, 5], False),
        ("state.count", "in", [], False),
        ("state.count", "not_in", [], True),
        ("state.count", "in", [1, None], None),
        ("state.absent", "in", [1], None),
        ("state.object", "in", [{"a": 2, "b": 1}], True),
        ("state.tags", "contains", "a", True),
        ("state.tags", "contains", [1, 2], True),
        ("state.tags", "contains", {"x": 2, "y": 1}, True),
        ("state.tags", "contains", "z", None),  # one element is null
        ("state.plain", "contains", "z", False),
        ("state.plain", "contains", "A", False),
        ("state.plain", "contains", None, None),
        ("state.empty", "contains", None, False),
        ("state.name", "contains", "Love", True),
        ("state.name", "contains", "love", False),
        ("state.name", "contains", "", True),
        ("state.count", "contains", 5, True),
        ("state.absent", "contains", "a", None),
        ("state.name", "starts_with", "Ada", True),
        ("state.name", "starts_with", "ada", False),
        ("state.name", "ends_with", "lace", True),
        ("state.name", "ends_with", "", True),
        ("state.name", "starts_with", None, None),
        ("state.absent", "ends_with", "x", None),
    ],
)
def test_exp_5_a_comparison_of_a_field_with_a_literal(path: str, operator: str, value: Any, outcome: Any) -> None:
    assert evaluate(comparison(field(path), operator, literal(value))) is outcome


@pytest.mark.parametrize(
    ("path", "operator", "outcome"),
    [
        ("state.count", "exists", True),
        ("state.nothing", "exists", False),
        ("state.absent", "exists", False),
        ("state.count", "is_null", False),
        ("state.nothing", "is_null", True),
        ("state.absent", "is_null", True),
    ],
)
def test_exp_5_exists_is_is_not_null(path: str, operator: str, outcome: bool) -> None:
    assert evaluate(comparison(field(path), operator)) is outcome


def test_exp_5_both_operands_may_be_fields_or_literals() -> None:
    assert evaluate(comparison(literal(5), "==", field("state.count"))) is True
    assert evaluate(comparison(literal("b"), "in", field("state.plain"))) is True
    assert evaluate(comparison(literal("z"), "not_in", field("state.plain"))) is True
    assert evaluate(comparison(literal("z"), "in", field("state.absent"))) is None


def test_exp_5_in_needs_a_list() -> None:
    with pytest.raises(ExpressionFailed, match="the operator in needs a list"):
        evaluate(comparison(literal("z"), "in", field("state.name")))


TRUE, FALSE, NULL = (comparison(literal(value), "==", literal(1)) for value in (1, 2, None))


@pytest.mark.parametrize(
    ("definition", "outcome"),
    [
        ({"type": "and", "conditions": [TRUE, TRUE]}, True),
        ({"type": "and", "conditions": [TRUE, FALSE, NULL]}, False),
        ({"type": "and", "conditions": [TRUE, NULL]}, None),
        ({"type": "or", "conditions": [FALSE, NULL, TRUE]}, True),
        ({"type": "or", "conditions": [FALSE, NULL]}, None),
        ({"type": "or", "conditions": [FALSE]}, False),
        ({"type": "not", "condition": FALSE}, True),
        ({"type": "not", "condition": NULL}, None),
        ({"type": "not", "condition": {"type": "or", "conditions": [FALSE, TRUE]}}, False),
    ],
)
def test_exp_5_and_or_and_not_have_three_valued_logic(definition: Any, outcome: Any) -> None:
    assert evaluate(definition) is outcome
    assert compile_structured(definition, NAMES).matches({}) is (outcome is True)


def test_exp_5_a_structured_condition_has_the_interface_of_an_expression() -> None:
    names = Names(reads=("input.order.total",))
    definition = {
        "type": "and",
        "conditions": [
            comparison(field("total"), ">", literal(5)),
            comparison(field("state._last_error.code"), "exists"),
        ],
    }
    condition = compile_structured(definition, names)
    spelled = compile_expression("total > 5 and _last_error.code is not null", names)
    assert condition.paths == spelled.paths == (("input", "order", "total"), ("_last_error", "code"))
    assert condition.reads_last_error
    for total in (1, 9, None):
        scope = {"input": {"order": {"total": total}}, "_last_error": {"code": "X"}}
        assert condition.evaluate(scope) == spelled.evaluate(scope)


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ([], "at the condition: expected an object with a type"),
        ({}, "at type: expected comparison, and, or, not; found null"),
        ({"type": "xor"}, 'found "xor"'),
        ({"type": ["and"]}, "at type: expected"),
        ({"type": "and", "conditions": []}, "at conditions: expected a list of at least one"),
        ({"type": "and", "conditions": [TRUE, {"type": "not"}]}, r"at conditions\[1\].condition: expected an object"),
        ({"type": "not", "condition": TRUE, "extra": 1}, "at extra: this field is not known"),
        (comparison(field("state.a"), "~="), "at operator: expected one of =="),
        (comparison(field("state.a"), "=="), "at right: expected"),
        (comparison({"type": "field"}, "==", literal(1)), "at left.path: expected a path"),
        (comparison(field("state..a"), "==", literal(1)), "at left.path: expected a path"),
        (comparison({"type": "literal"}, "==", literal(1)), "at left.value: expected the value"),
        (comparison(field("state.a"), "in", literal("abc")), "at right.value: expected a list"),
        (comparison(field("state.a"), "exists", literal(1)), "at right: exists has no right operand"),
        (comparison("state.a", "==", literal(1)), "at left: expected"),
    ],
)
def test_exp_5_what_is_no_condition_is_told_with_its_place(definition: Any, reason: str) -> None:
    with pytest.raises(ExpressionSyntax, match=reason):
        compile_structured(definition, NAMES)


def test_exp_5_depth_and_size_are_limited() -> None:
    deep: Any = TRUE
    for _ in range(150):
        deep = {"type": "not", "condition": deep}
    with pytest.raises(ExpressionTooLarge, match="nested deeper"):
        compile_structured(deep, NAMES)
    with pytest.raises(ExpressionTooLarge, match="characters as JSON"):
        compile_structured(comparison(field("state.a"), "in", literal(["x" * 1000] * 200)), NAMES)


def test_ctx_6_a_field_may_be_written_as_a_jsonpath_as_well() -> None:
    paths = ["state.list[1]", "$.state.list[1]", "$['state'].list[1]"]
    compiled = [compile_structured(comparison(field(path), "==", literal(7)), NAMES) for path in paths]
    assert [one.paths for one in compiled] == [(("state", "list", 1),)] * 3
    assert all(one.matches({"state": {"list": [0, 7]}}) for one in compiled)
    with pytest.raises(ExpressionSyntax, match=r"left\.path"):
        compile_structured(comparison(field("$.state["), "is_null"), NAMES)
