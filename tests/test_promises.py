"""The promises of the source documents (docs/rules/promises.md): a test shows each, or its row names an issue."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules" / "promises.md"
NOT_YET = ROOT / "docs" / "rules" / "not-yet.md"
SOURCES = ("Execution model", "Execution", "Tasks", "Primitives", "Phases")

_ROW = re.compile(r"^\| (.+) \| ([A-Z]{3}-\d+[a-z]?) \| (.+) \|$")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_ISSUE = re.compile(r'(?:missing: )?issue "([^"]+)"')
_LISTED = re.compile(r"^\| [A-Z]{3}-\d+[a-z]? \| .+ \| (.+) \|$", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str, list[str]]]:
    """Give the promise, the rule and the evidence of each row of the tables."""
    lines = [line for line in text.splitlines() if line.startswith("|") and set(line) - set("|-")]
    found = [(line, _ROW.match(line)) for line in lines if not line.startswith("| promise |")]
    assert [line for line, row in found if not row] == [], "a row has a promise, a rule and what shows it"
    return [(row[1], row[2], row[3].split("<br>")) for _, row in found if row]


@cache
def functions_of(file: str) -> frozenset[str]:
    """List the functions of a file of tests."""
    if not (ROOT / file).exists():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse((ROOT / file).read_text("utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, functions))


def fault(evidence: str, issues: set[str]) -> str | None:
    """Say what is wrong with the evidence of a row, if anything is."""
    if test := _TEST.fullmatch(evidence):
        return None if test[2] in functions_of(test[1]) else f"there is no test {evidence}"
    if issue := _ISSUE.fullmatch(evidence):
        return None if issue[1] in issues else f"docs/rules/not-yet.md knows no issue {issue[1]!r}"
    return f"neither a test nor an issue: {evidence}"


def known_issues() -> set[str]:
    """List the issues that docs/rules/not-yet.md names."""
    return set(_LISTED.findall(NOT_YET.read_text("utf-8")))


def test_every_promise_is_shown_by_a_test_that_exists_or_names_its_issue() -> None:
    issues = known_issues()
    promised = rows(PAGE.read_text("utf-8"))
    faults = [f"{promise}: {why}" for promise, _, shown in promised for one in shown if (why := fault(one, issues))]
    assert faults == []
    assert len(promised) > 300


def test_every_source_document_has_its_part_and_no_promise_stands_twice_in_a_table() -> None:
    text = PAGE.read_text("utf-8")
    parts = re.split(r"^# (.+)$", text, flags=re.MULTILINE)[1:]
    assert tuple(parts[2::2]) == SOURCES
    for table in re.split(r"^##? .+$", text, flags=re.MULTILINE):
        promises = [promise for promise, _, _ in rows(table)]
        assert [one for one in set(promises) if promises.count(one) > 1] == []


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("`tests/test_promises.py::test_a_row_without_evidence_is_found`", None),
        ("`tests/test_promises.py::test_that_nobody_wrote`", "there is no test"),
        ("`tests/test_nothing.py::test_that_nobody_wrote`", "there is no test"),
        ('issue "Later"', None),
        ('missing: issue "Never"', "knows no issue 'Never'"),
        ("to be shown", "neither a test nor an issue"),
    ],
)
def test_a_row_without_evidence_is_found(evidence: str, expected: str | None) -> None:
    found = fault(evidence, {"Later"})
    assert found is None if expected is None else expected in str(found)
