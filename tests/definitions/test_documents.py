"""What the documents say of definitions is what the program does."""

import re
from pathlib import Path

import pytest

from support.definitions import faults_in
from wonder.definitions.kinds import KINDS
from wonder.language.expressions.functions import FUNCTIONS, SPECIAL_FUNCTIONS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "reference" / "definitions.md").read_text(encoding="utf-8")


def example_in(document: str) -> str:
    return re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)[0]


def test_the_example_of_the_guide_is_valid_without_a_warning() -> None:
    assert faults_in(example_in(GUIDE)) == []


def test_the_guide_lists_every_function_of_expressions_and_no_other() -> None:
    listed = re.findall(r"\nFunctions: (.*?)\.\n", GUIDE, re.DOTALL)[0]
    assert re.split(r",\s", listed) == sorted({*FUNCTIONS, *SPECIAL_FUNCTIONS})


@pytest.mark.parametrize("kind", KINDS.own)
def test_the_guide_lists_every_field_of_each_kind_of_action(kind: str) -> None:
    """ACT-10"""
    row = re.findall(rf"\n\| `{kind}`[ *]*\|(.*?)\|", GUIDE)[0]
    listed = dict(re.findall(r"`(\w+)(\??)[`:]", row))
    for name, field in KINDS.own[kind].configuration.model_fields.items():
        assert listed[field.alias or name] == ("" if field.is_required() else "?")
