"""The place of each part of a file, for whoever finds a fault in it later."""

import pytest

from wonder.definitions.source import Place, read_source

YAML = """\
# a comment
workflow:
  name: greet
  nodes:
    start: {action: say, input_mapping: {name: $.name}}
  tags: [one,
         two]
shared: &shared
  deep: 1
again: *shared
"""
JSON = '{\n  "workflow": {"name": "greet",\r\n    "tags": ["one", "é\\n", {"x": 1}]}}'


@pytest.mark.parametrize(
    ("text", "file", "path", "line", "column"),
    [
        (YAML, "f.yaml", (), 2, 1),
        (YAML, "f.yaml", ("workflow",), 2, 1),
        (YAML, "f.yaml", ("workflow", "name"), 3, 3),
        (YAML, "f.yaml", ("workflow", "nodes", "start", "input_mapping", "name"), 5, 42),
        (YAML, "f.yaml", ("workflow", "tags", 0), 6, 10),
        (YAML, "f.yaml", ("workflow", "tags", 1), 7, 10),
        (YAML, "f.yaml", ("workflow", "tags", 2), 6, 3),  # the nearest parent that exists
        (YAML, "f.yaml", ("workflow", "tags", -1), 6, 3),
        (YAML, "f.yaml", ("workflow", "missing", "deeper"), 2, 1),
        (YAML, "f.yaml", ("workflow", "name", "deeper"), 3, 3),
        (YAML, "f.yaml", ("workflow", 0), 2, 1),
        (YAML, "f.yaml", ("again",), 10, 1),
        (YAML, "f.yaml", ("again", "deep"), 9, 3),  # where the anchored value was written
        (YAML.replace("\n", "\r\n"), "f.yaml", ("workflow", "tags", 1), 7, 10),
        ("\ufeff" + YAML, "f.yaml", ("workflow",), 2, 1),
        ("\u00e9\U0001f600: {x: 1}", "f.yaml", ("\u00e9\U0001f600", "x"), 1, 6),
        ("a: \u2028\u0085\nb: 1", "f.yaml", ("b",), 2, 1),
        (JSON, "f.json", (), 1, 1),
        (JSON, "f.json", ("workflow", "name"), 2, 16),
        (JSON, "f.json", ("workflow", "tags", 2, "x"), 3, 29),
        (JSON, "f.yaml", ("workflow", "tags", 2, "x"), 3, 29),
        ("7", "f.json", ("a", "b"), 1, 1),
    ],
)
def test_each_part_of_a_file_knows_its_place(
    text: str, file: str, path: tuple[str | int, ...], line: int, column: int
) -> None:
    assert read_source(text, file).place_of(path) == Place(file, line, column)


def test_a_place_is_shown_as_editors_write_it() -> None:
    assert str(Place("a.yaml", 3, 7)) == "a.yaml:3:7"
