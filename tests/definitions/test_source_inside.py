"""Places inside texts: a line and column of a text, found in the file that it was written in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wonder.definitions.source import read_source

TEXTS = st.text(st.sampled_from(list('ab"\\\n\t é{}:|#/')), min_size=1, max_size=40)


def places(text: str) -> list[tuple[int, int, str]]:
    """Every sign of a text with its line and column."""
    found, line, column = [], 1, 1
    for sign in text:
        found.append((line, column, sign))
        line, column = (line + 1, 1) if sign == "\n" else (line, column + 1)
    return found


@given(text=TEXTS, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_every_sign_of_a_json_text_is_found_where_it_was_written(text: str, ascii_only: bool, indent: int) -> None:
    written = json.dumps({"b": 1, "a": [{"source": text}]}, ensure_ascii=ascii_only, indent=indent)
    document, lines = read_source(written, "test.json"), written.split("\n")
    for line, column, sign in places(text):
        place = document.place_inside(("a", 0, "source"), line, column)
        assert place
        expected = json.dumps(sign, ensure_ascii=ascii_only)[1:-1]
        assert lines[place.line - 1][place.column - 1 :].startswith(expected)


@pytest.mark.parametrize("mark", ["|", "|-", "|+ # kept"])
@pytest.mark.parametrize("key", ["source", '"source"'])
def test_every_line_of_a_yaml_block_is_found(mark: str, key: str) -> None:
    written = f"a:\n  - {key}: {mark}\n\n      first\n        second\n    name: x\n"
    document = read_source(written, "test.yaml")
    assert str(document.place_inside(("a", 0, "source"), 2, 1)) == "test.yaml:4:7"
    assert str(document.place_inside(("a", 0, "source"), 3, 3)) == "test.yaml:5:9"


@pytest.mark.parametrize(
    "written", ["a: 'x y'", "a: x y", "a: >\n  x\n  y\n", 'a: "x y"', "a: |\n  x\n", "a: [x]", '{"a": 3}']
)
def test_what_can_not_be_told_is_not_guessed(written: str) -> None:
    """The place of its key is told instead."""
    assert read_source(written, "test.yaml").place_inside(("a",), 7, 3) is None
