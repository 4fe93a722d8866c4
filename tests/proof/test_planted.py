"""The list of planted bugs fits the source as it is, and one of them is really caught."""

from collections import Counter

import pytest
from proof.bugs.bug import ROOT, SOURCE, Bug, OldTextMissing
from proof.planted import BUGS, ROOMS, TABLE, main


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_old_text_of_every_planted_bug_is_in_its_file_once(bug: Bug) -> None:
    text = (ROOT / SOURCE / bug.file).read_text("utf-8")
    changed = bug.changed(text)
    assert changed != text
    if bug.file.endswith(".py"):
        compile(changed, bug.file, "exec")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_what_ought_to_catch_a_planted_bug_is_there(bug: Bug) -> None:
    assert bug.catchers
    for catcher in bug.catchers:
        place, _, test = catcher.partition("::")
        if place.startswith("tests/"):
            assert not test or f"def {test}(" in (ROOT / place).read_text("utf-8"), catcher
        else:
            assert place.startswith(("simulation --seeds ", "simulation --patterns "))


def test_there_are_enough_of_them_everywhere_and_each_has_a_name_of_its_own() -> None:
    assert len(BUGS) >= 34
    assert all(len(bugs) >= 5 for bugs in ROOMS.values())
    assert max(Counter(bug.name for bug in BUGS).values()) == 1


def test_the_table_tells_of_each_of_them_and_none_was_missed() -> None:
    told = TABLE.read_text("utf-8")
    assert [bug.name for bug in BUGS if f"| `{bug.name}` | `{bug.file}` | {bug.harm} | `" not in told] == []
    assert "**nobody**" not in told


def test_a_bug_whose_text_is_gone_or_there_twice_is_told() -> None:
    with pytest.raises(
        OldTextMissing, match=r"'join-fires-twice' is 2 times in engine/joins.py, and must be there once"
    ):
        BUGS[0].changed(BUGS[0].old * 2)


def test_a_planted_bug_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "late-result-takes-a-number-twice"]) == 0
    told = capsys.readouterr().out
    assert "without a bug, 1 catchers pass" in told
    assert "caught by tests/engine/test_engine_leftovers.py::test_evt_1_a_late_result_has_a_number_of_its_own" in told
    assert "1 bugs planted, 1 caught" in told
