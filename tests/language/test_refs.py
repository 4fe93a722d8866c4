"""Refs as triggers write them: what they name, and templates that hold them (PHS-2, PHS-6)."""

from typing import Any

import pytest

from wonder.language.paths import MISSING, PathSyntax
from wonder.language.paths.getters import getter
from wonder.language.refs import compile_refs, is_ref, parse_ref, refs_in


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("@output", ("output",)),
        ("@item", ("item",)),
        ("@output.a.b[0].c", ("output", "a", "b", 0, "c")),
        ("@fetch-items.output.a-b", ("fetch-items", "output", "a-b")),
        ('@output."a b"."c.d"', ("output", "a b", "c.d")),
        ('@"my step".output.x', ("my step", "output", "x")),
        ('@output."say ""hi-there"""', ("output", 'say "hi-there"')),
        ("@étape-1.output", ("étape-1", "output")),
    ],
)
def test_phs_2_a_ref_names_a_value_at_any_depth(text: str, path: tuple[Any, ...]) -> None:
    assert parse_ref(text) == path


@pytest.mark.parametrize("text", ["@", "@output.", "@output..a", "@output[x]", "@output[-1]", '@"open', "@a b", "@a@b"])
def test_what_is_no_ref_is_told(text: str) -> None:
    with pytest.raises(PathSyntax):
        parse_ref(text)


@pytest.mark.parametrize(("value", "expected"), [("@x", True), ("@@x", False), ("x@y", False), ("", False), (1, False)])
def test_phs_2_only_a_whole_text_with_one_at_is_a_ref(value: Any, expected: bool) -> None:
    assert is_ref(value) is expected


ROOT: Any = {"output": {"n": None, "a": [1, {"b": 2}]}}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"x": "@output.n"}, {"x": None}),
        ({"x": "@output.absent"}, MISSING),
        ({"x": ["@output.a[1].b", "text", 7]}, {"x": [2, "text", 7]}),
        ({"x": [{"y": "@output.a[9]"}]}, MISSING),
        ({"@key": "@@home", "n": 1}, {"@key": "@home", "n": 1}),
        ({}, {}),
        ({"deep": {"plain": [None, True, "x"]}}, {"deep": {"plain": [None, True, "x"]}}),
    ],
)
def test_phs_6_a_template_has_values_in_the_place_of_its_refs_or_is_missing(template: Any, value: Any) -> None:
    assert compile_refs(template, getter)(ROOT) == value


def test_each_ref_of_a_template_is_told_with_its_place() -> None:
    assert list(refs_in({"a": "@x", "b": ["no", {"c": "@y.z"}], "d": "@@w"})) == [
        (("a",), "@x"),
        (("b", 1, "c"), "@y.z"),
    ]
