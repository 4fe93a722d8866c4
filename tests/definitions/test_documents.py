"""What the documents say of definitions is what the program does."""

import re
from pathlib import Path

import pytest

from support.definitions import faults_in
from wonder.cli.main import main
from wonder.definitions.records.implementations import IMPLEMENTATIONS
from wonder.language.expressions.functions import FUNCTIONS, SPECIAL_FUNCTIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")


def example_in(document: str) -> str:
    return re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)[0]


@pytest.mark.parametrize("document", [README, GUIDE], ids=["README", "guide"])
def test_every_example_is_valid_without_a_warning(document: str) -> None:
    assert faults_in(example_in(document)) == []


def test_the_mistake_that_the_readme_shows_is_told_in_these_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "greet.yaml").write_text(example_in(README).replace("$.name}", "$.nme}"), encoding="utf-8")
    main(["validate", "greet.yaml"])
    assert capsys.readouterr().out in README


def test_the_guide_lists_every_function_of_expressions_and_no_other() -> None:
    listed = re.findall(r"\nFunctions: (.*?)\.\n", GUIDE, re.DOTALL)[0]
    assert re.split(r",\s", listed) == sorted({*FUNCTIONS, *SPECIAL_FUNCTIONS})


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_the_guide_lists_every_field_of_each_kind_of_action(kind: str) -> None:
    """ACT-10"""
    row = re.findall(rf"\n\| `{kind}`[ *]*\|(.*?)\|", GUIDE)[0]
    listed = dict(re.findall(r"`(\w+)(\??)[`:]", row))
    for name, field in IMPLEMENTATIONS[kind].model_fields.items():
        assert listed[field.alias or name] == ("" if field.is_required() else "?")
