"""The rules in docs/rules: every rule has a test that names it, and every rule that is cited exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = ROOT / "docs" / "rules"

_HEADING = re.compile(r"^## ([A-Z]{3}-\d+[a-z]?) \S", re.MULTILINE)
_ROW = re.compile(r"^\| ([A-Z]{3}-\d+[a-z]?) \|", re.MULTILINE)
_IN_NAME = re.compile(r"^test_([a-z]{3})_(\d+[a-z]?)(?:_and_(\d+[a-z]?))?_")
_CITED = re.compile(r"\b((?:LAY|RES|CTX|EXP|CTL|TSK|RET|ACT|PHS|EVT|INV|FIL|CMD|API|KEY)-\d+[a-z]?)\b")
_IN_DOCSTRING = re.compile(r"\b([A-Z]{3}-\d+[a-z]?)\b")


def rules() -> list[str]:
    """List the rules, in the order of their pages."""
    return [rule for page in sorted(RULES.glob("*.md")) for rule in _HEADING.findall(page.read_text("utf-8"))]


def not_yet() -> set[str]:
    """List the rules that are not built yet."""
    text = (RULES / "not-yet.md").read_text("utf-8")
    return set(_ROW.findall(text.partition("## Rules of which a part is missing")[0]))


def rules_named_by(source: str) -> Iterator[str]:
    """Give the rules that the tests of a file name, in their own names or their docstrings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
            continue
        if found := _IN_NAME.match(node.name):
            family = found[1].upper()
            yield from (f"{family}-{number}" for number in found.groups()[1:] if number)
        yield from _IN_DOCSTRING.findall(ast.get_docstring(node) or "")


def named() -> set[str]:
    """List the rules that some test names."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {rule for file in files if file != Path(__file__) for rule in rules_named_by(file.read_text("utf-8"))}


def test_a_rule_stands_once() -> None:
    assert len(rules()) == len(set(rules())) > 90


def test_every_rule_is_named_by_a_test_unless_it_is_listed_as_not_built() -> None:
    excused = named() | not_yet()
    assert [rule for rule in rules() if rule not in excused] == []


def test_a_rule_that_is_listed_as_not_built_has_no_test() -> None:
    assert sorted(not_yet() & named()) == [], "it is built: take it out of docs/rules/not-yet.md"


def test_what_is_listed_as_missing_is_a_rule() -> None:
    listed = _ROW.findall((RULES / "not-yet.md").read_text("utf-8"))
    assert sorted(set(listed) - set(rules())) == []


def test_every_rule_that_is_cited_exists() -> None:
    places = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.sql"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "simulation").rglob("*.py"),
        *(ROOT / "proof").rglob("*.py"),
        *(file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__)),
    ]
    known = set(rules())
    unknown = {
        f"{place.relative_to(ROOT)}: {rule}"
        for place in places
        for rule in _CITED.findall(place.read_text("utf-8"))
        if rule not in known
    }
    assert sorted(unknown) == []


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


def test_every_test_that_the_documents_name_exists() -> None:
    """A promise that is shown by a test that was renamed is shown by nothing."""
    named_files = re.compile(r"`(tests/[\w/]+(?:\.py)?)`")
    missing = {
        f"{page.relative_to(ROOT)}: {file}"
        for page in (ROOT / "docs").rglob("*.md")
        for file in named_files.findall(page.read_text("utf-8"))
        if not (ROOT / file).exists()
    }
    assert sorted(missing) == []


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """pytest takes the second one for the first, and fails to collect it."""
    names = sorted(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in set(names) if names.count(name) > 1] == []
