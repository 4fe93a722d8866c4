"""Target paths and writing (CTX-5a)."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wonder.language.paths import PathSyntax
from wonder.language.targets import Change, TargetUnwritable, parse_target, write

BRANCH_ROOTS = ("state", "output", "_branch")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("state.a.b", ("state", "a", "b")),
        ("output.x", ("output", "x")),
        ("output", ("output",)),
        ("state", ("state",)),
        ('state."a b"', ("state", "a b")),
        ("state.list[2]", ("state", "list", 2)),
        ("$.state.x", ("state", "x")),
        ("_branch.output.x", ("_branch", "output", "x")),
        ("_branch.output", ("_branch", "output")),
    ],
)
def test_ctx_5a_a_target_is_a_path_from_a_root_that_can_be_written(text: str, path: object) -> None:
    target = parse_target(text, BRANCH_ROOTS)
    assert (target.text, target.path) == (text, path)


@pytest.mark.parametrize(
    "text", ["input.x", "_branch.output.x", "x", "_last_error", "state.", "state.a-b", "$", "$.state[*]"]
)
def test_ctx_5a_any_other_target_is_refused(text: str) -> None:
    with pytest.raises(PathSyntax):
        parse_target(text)


@pytest.mark.parametrize("text", ["_branch", "_branch.index", "_branch.parent.output.x", "_branch.item"])
def test_of_a_branch_only_its_output_can_be_written(text: str) -> None:
    with pytest.raises(PathSyntax, match=r"write to _branch\.output"):
        parse_target(text, BRANCH_ROOTS)


@pytest.mark.parametrize(
    ("state", "path", "after", "changed"),
    [
        ({"a": 1}, ("state", "a"), {"a": 9}, (("state", "a"), 9)),
        ({"a": 1}, ("state", "b"), {"a": 1, "b": 9}, (("state", "b"), 9)),
        ({}, ("state", "a", "b", "c"), {"a": {"b": {"c": 9}}}, (("state", "a"), {"b": {"c": 9}})),
        ({"a": {"x": 1}}, ("state", "a", "b"), {"a": {"x": 1, "b": 9}}, (("state", "a", "b"), 9)),
        ({"l": [1, 2]}, ("state", "l", 0), {"l": [9, 2]}, (("state", "l", 0), 9)),
        ({"l": [1, 2]}, ("state", "l", 2), {"l": [1, 2, 9]}, (("state", "l", 2), 9)),
        ({"l": []}, ("state", "l", 0, "x"), {"l": [{"x": 9}]}, (("state", "l", 0), {"x": 9})),
        ({"l": [{}]}, ("state", "l", 0, "x"), {"l": [{"x": 9}]}, (("state", "l", 0, "x"), 9)),
        ({}, ("state", "l", 0), {"l": [9]}, (("state", "l"), [9])),
        ({"a": None}, ("state", "a"), {"a": 9}, (("state", "a"), 9)),
        ({"a": 1}, ("state",), 9, (("state",), 9)),
    ],
)
def test_ctx_5a_writing_makes_what_is_missing_and_tells_what_changed(
    state: dict, path: tuple, after: object, changed: tuple
) -> None:
    root = {"state": state, "output": {}}
    before = copy.deepcopy(root)
    new_root, change = write(root, path, 9)
    assert new_root == {"state": after, "output": {}}
    assert change == Change(*changed)
    assert root == before


@pytest.mark.parametrize(
    ("state", "path", "reached"),
    [
        ({"a": 1}, ("state", "a", "b"), "state.a is a number"),
        ({"a": "x"}, ("state", "a", 0), "state.a is a string"),
        ({"a": True}, ("state", "a", "b"), "state.a is a boolean"),
        ({"a": None}, ("state", "a", "b"), "state.a is null"),
        ({"l": [1]}, ("state", "l", 2), "state.l has 1 elements; the index can be at most 1"),
        ({"l": [1]}, ("state", "l", "x"), "state.l is a list"),
        ({"o": {}}, ("state", "o", 0), "state.o is an object"),
        ({}, ("state", "l", 1), "state.l is missing"),
        ({}, ("state", "a", "l", 3, "x"), "state.a.l is missing"),
    ],
)
def test_ctx_5a_writing_through_what_holds_nothing_is_refused(state: dict, path: tuple, reached: str) -> None:
    with pytest.raises(TargetUnwritable) as caught:
        write({"state": state}, path, 9)
    assert reached in str(caught.value)
    assert caught.value.path == path


SEGMENT = st.sampled_from(["a", "b", 0, 1, 2])
VALUE = st.recursive(
    st.sampled_from([None, 1, "x", True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


def naive_write(root: dict, path: tuple, value: object) -> dict:
    """The same with a deep copy, step by step, as a person would tell it."""
    root = copy.deepcopy(root)
    holder = root
    for segment, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(holder, dict) and isinstance(segment, str):
            there = segment in holder
        elif isinstance(holder, list) and isinstance(segment, int) and segment <= len(holder):
            there = segment < len(holder)
        else:
            raise LookupError
        new = value if following is None else holder[segment] if there else {} if isinstance(following, str) else []
        if there or isinstance(holder, dict):
            holder[segment] = new
        else:
            holder.append(new)
        holder = new
    return root


def put(root: dict, path: tuple, value: object) -> dict:
    """What a store does with a change: put the value at a place that is there, or the next one."""
    holder = root
    for segment in path[:-1]:
        holder = holder[segment]
    if isinstance(holder, list) and path[-1] == len(holder):
        holder.append(value)
    else:
        holder[path[-1]] = value
    return root


@settings(max_examples=300)
@given(
    st.dictionaries(st.sampled_from("ab"), VALUE),
    st.lists(st.tuples(st.lists(SEGMENT, max_size=4), VALUE), min_size=1, max_size=6),
)
def test_ctx_5a_writes_equal_those_of_a_deep_copying_model(state: dict, writes: list) -> None:
    root: dict = {"state": state}
    stored = copy.deepcopy(root)
    for segments, value in writes:
        path = ("state", *segments)
        before = json.dumps(root)
        try:
            expected = naive_write(root, path, value)
        except LookupError:
            with pytest.raises(TargetUnwritable):
                write(root, path, value)
            continue
        new_root, change = write(root, path, value)
        assert new_root == expected
        assert json.dumps(root) == before
        assert put(stored, change.path, copy.deepcopy(change.value)) == expected
        root = new_root
