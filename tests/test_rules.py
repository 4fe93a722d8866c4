"""Every rule of control flow, context, expressions, tasks, actions, retries and files has a test that names it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

RULES = {
    "CTL": "1 2 3 4 5 5a 6 7 7a 8 9 9a 10 11 12 13 14 15 15a 16 17 18 19 20",
    "CTX": "1 2 3 4 5 5a 5b 6 7",
    "EXP": "1 2 3 4 5 6 7",
    "TSK": "1 2 3 4 5 6",
    "ACT": "1 2 3 4 5 6 7 8 9 10",
    "RET": "1 2 3 4",
    "RES": "1 2 3 4 5 6 7",
    "INV": "1 2 3 4 5 6 7 8",
    "LAY": "3",
    "FIL": "1 2 3 4 5 6 7",
    "PHS": "1 2 3 4 5 6",
}
NOT_YET: set[str] = set()

_IN_NAME = re.compile(r"^test_([a-z]{3})_(\d+[a-z]?)(?:_and_(\d+[a-z]?))?_")
_IN_DOCSTRING = re.compile(r"\b([A-Z]{3}-\d+[a-z]?)\b")


def rules_named_by(source: str) -> Iterator[str]:
    """Give the rules that the tests of a file name, in their own names or their docstrings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
            continue
        if found := _IN_NAME.match(node.name):
            family = found[1].upper()
            yield from (f"{family}-{number}" for number in found.groups()[1:] if number)
        yield from _IN_DOCSTRING.findall(ast.get_docstring(node) or "")


def test_every_rule_is_named_by_a_test() -> None:
    here = Path(__file__).parent
    named = {rule for file in here.rglob("test_*.py") for rule in rules_named_by(file.read_text("utf-8"))}
    wanted = {f"{family}-{number}" for family, numbers in RULES.items() for number in numbers.split()}
    assert sorted(wanted - named) == []
    assert sorted(NOT_YET & named) == [], "it has come: move it to the rules"


def test_a_rule_is_named_by_a_test_and_not_by_what_stands_around_it() -> None:
    source = '''
"""CTL-1."""
def test_ctl_2_and_3a_one():
    """CTL-4, TSK-5: both."""
    # CTL-6
async def test_another_ctl_7():
    pass
def ctl_8():
    """CTL-8."""
'''
    assert sorted(rules_named_by(source)) == ["CTL-2", "CTL-3a", "CTL-4", "TSK-5"]
