"""CTX-5b: only what was written is checked, and all of it."""

import pytest

from wonder.engine.state_check import StateCheck
from wonder.language.targets import Change
from wonder.language.values import JsonValue

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "a": {"type": ["object", "integer"], "properties": {"b": {"type": "integer"}}},
        "rows": {"type": "array", "items": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("state", "paths", "fits"),
    [
        ({"n": 1}, [("state", "n")], True),
        ({"n": "x"}, [("state", "n")], False),
        ({"a": {"b": 1}}, [("state", "a", "b")], True),
        ({"a": {"b": "x"}}, [("state", "a", "b")], False),
        ({"rows": [1, "x"]}, [("state", "rows", 1)], False),
        # A later write of the same node has replaced what the first had written into.
        ({"a": 5}, [("state", "a", "b"), ("state", "a")], True),
        ({"a": {}}, [("state", "a", "b"), ("state", "a")], True),
        ({"a": "x"}, [("state", "a", "b"), ("state", "a")], False),
        ({"rows": []}, [("state", "rows", 0), ("state", "rows")], True),
    ],
)
def test_what_was_written_to_state_must_fit_its_schema(
    state: JsonValue, paths: list[tuple[str | int, ...]], fits: bool
) -> None:
    check = StateCheck(SCHEMA)
    # First a state in which every path is there, so that the second look finds what is remembered of it.
    assert not check.faults({"n": 1, "a": {"b": 1}, "rows": [1, 1]}, [Change(path, None) for path in paths])
    faults = check.faults(state, [Change(path, None) for path in paths])
    assert (not faults) is fits, faults
