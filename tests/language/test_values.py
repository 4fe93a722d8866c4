"""CTX-7: values are JSON, come back as they went in, and bad ones are refused at the door."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wonder.language.values import (
    MAX_DIGITS,
    BadValue,
    canonical_json,
    check_value,
    encode_json,
    parse_json,
    show_path,
)

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_a_value_comes_back_as_it_went_in(value: Any) -> None:
    # repr tells 1 from 1.0, True from 1 and 0.0 from -0.0, which == does not.
    assert repr(parse_json(encode_json(value))) == repr(value)
    assert parse_json(canonical_json(value)) == value


def test_integers_of_any_size_come_back() -> None:
    # Not parametrized: the ids of parameters are made with str(), which stops at 4,300 digits.
    for number in [2**53 + 1, 2**63, -(2**63) - 1, 2**200, 10**5000, -(10**5000), 10 ** (MAX_DIGITS - 1)]:
        assert parse_json(encode_json([number])) == [number]
        assert parse_json(canonical_json({"n": number})) == {"n": number}


def test_long_integers_count_by_the_square_of_their_digits() -> None:
    few = [10**9_000] * 10
    assert parse_json(encode_json(few)) == check_value(few)
    # To read all that 16 MB hold would take 15 seconds, and to write them again half of that.
    many = "[" + ",".join(["9" * 9_000] * 20) + "]"
    with pytest.raises(BadValue, match="too many long integers"):
        parse_json(many)
    with pytest.raises(BadValue, match="the value takes about"):
        check_value([10**9_000] * 20)
    assert len(str(parse_json("[" + ",".join(["9" * 100] * 100_000) + "]"))) > 10_000_000


def test_equal_objects_have_one_canonical_text() -> None:
    assert canonical_json({"b": 1, "a": {"d": [], "c": {}}}) == '{"a":{"c":{},"d":[]},"b":1}'
    assert canonical_json({"b": 10**5000, "a": 1}).startswith('{"a":1,"b":1000')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1e999", "beyond what a double can hold"),
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        (r'"\u0000"', "U+0000"),
        (r'{"\u0000": 1}', "U+0000"),
        (r'["\ud800"]', "at [0]: the text holds a lone surrogate (U+D800)"),
        ("[" * 201 + "]" * 201, "nested deeper than 200"),
        ("[" * 100_000, "nested deeper than 200"),
        ('{"a": [1,', "not JSON"),
        ("", "not JSON: Expecting value at line 1, column 1"),
        ("[1] x", "not JSON: Extra data at line 1, column 5"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ("9" * (MAX_DIGITS + 1), "an integer of 10,001 digits"),
    ],
)
def test_what_is_not_plain_json_is_refused_with_its_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(BadValue) as caught:
        parse_json(text)
    assert reason in str(caught.value)


def test_a_document_over_the_size_limit_is_refused() -> None:
    with pytest.raises(BadValue, match="the limit is 10"):
        parse_json('"0123456789"', max_bytes=10)
    with pytest.raises(BadValue, match="the limit is 10 bytes"):
        parse_json("[" + " " * 20 + "]", max_bytes=10)
    with pytest.raises(BadValue, match="the limit is 10"):
        check_value(["0123456789"], max_bytes=10)


def test_the_depth_limit_itself_is_allowed() -> None:
    assert parse_json("[" * 200 + "]" * 200)


@pytest.mark.parametrize("value", [(1, 2), {1}, {1: 2}, {"a": b"x"}, [float("nan")], object()])
def test_python_values_that_are_not_json_are_refused(value: object) -> None:
    with pytest.raises(BadValue):
        check_value(value)


def test_a_fault_names_its_place() -> None:
    with pytest.raises(BadValue) as caught:
        check_value({"orders": [{"total": float("inf")}]})
    assert caught.value.path == ("orders", 0, "total")
    assert show_path(caught.value.path) == "orders[0].total"
    assert show_path(("state", "a b", 2, "c-d")) == 'state."a b"[2].c-d'
