"""Values that cross the border to a user's code."""

import enum
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wonder.actions.copied_values import copy_value, take_value
from wonder.language.values import MAX_BYTES, BadValue, check_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)


class Colour(enum.StrEnum):
    """A text of a kind of its own."""

    RED = "red"


class Level(enum.IntEnum):
    """A number of a kind of its own."""

    HIGH = 3


class Real(float):
    """A float of a kind of its own."""


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_ctx_7_what_is_taken_is_what_check_value_lets_in(value: Any) -> None:
    """CTX-7: the fast way and the strict way agree, surrogates, U+0000, NaN and large integers included."""
    assert _outcome(take_value, value) == _outcome(check_value, value)


def _outcome(take: Callable[[Any], Any], value: Any) -> Any:
    try:
        return repr(take(value))
    except BadValue as refusal:
        return refusal.path, refusal.reason


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(value: Any) -> None:
    """Down to the innermost list."""
    copied = copy_value(value)
    assert repr(copied) == repr(value)
    assert _containers(copied).isdisjoint(_containers(value))


def _containers(value: Any) -> set[int]:
    if not isinstance(value, list | dict):
        return set()
    inner = value.values() if isinstance(value, dict) else value
    return {id(value)}.union(*map(_containers, inner))


def test_subclasses_become_the_plain_type_that_they_extend() -> None:
    """An enum, an ordered or default dict, a float of some library's."""
    given = defaultdict(list, {Colour.RED: [Level.HIGH, Real(1.5), OrderedDict(a=True)]})
    taken: Any = take_value(given)
    assert repr(taken) == "{'red': [3, 1.5, {'a': True}]}"


def test_what_is_held_several_times_is_taken_each_time() -> None:
    """Also a hundred thousand times."""
    row = {"a": [1]}
    assert take_value([row] * 100_000) == [row] * 100_000


def test_what_is_taken_is_not_changed_by_its_giver_later() -> None:
    """Such as a list that a function keeps and adds to."""
    kept = [1]
    taken = take_value({"kept": kept})
    kept.append(2)
    assert taken == {"kept": [1]}


def endless() -> Any:
    """A list that holds itself twice."""
    value: list[Any] = []
    value.extend([value, value])
    return value


def doubled() -> Any:
    """Two to the power of a hundred elements in little memory."""
    value: Any = 1
    for _ in range(100):
        value = [value, value]
    return value


class Treacherous(dict[str, int]):
    """A dict that can't be read."""

    def items(self) -> Any:
        """Fail."""
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1, 2}, "a Python set"),
        ((1, 2), "a Python tuple"),
        (b"x", "a Python bytes"),
        (object(), "a Python object"),
        ({"a": [float("nan")]}, r"at a\[0\]: nan"),
        (float("inf"), "inf"),
        ({1: "a"}, "not a string"),
        ({"a": "\x00"}, "U.0000"),
        ({"\ud800": 1}, "surrogate"),
        (10**20_000, "digits"),
        (endless(), "nested deeper"),
        (doubled(), "limit"),
        (["x" * 1_000_000] * 20, "limit"),
        ("x" * (MAX_BYTES + 1), "limit"),
        (Treacherous(a=1), "can't be read: RuntimeError"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "value",
)
def test_ctx_7_what_is_no_json_is_refused_at_once(value: Any, reason: str) -> None:
    """CTX-7: with what and where."""
    with pytest.raises(BadValue, match=reason):
        take_value(value)
