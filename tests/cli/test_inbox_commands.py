"""`wonder inbox` and `wonder answer`, with the sample of approvals (ACT-4, ACT-4a, ACT-4b)."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

SAMPLE = Path(__file__).parents[2] / "samples" / "approvals" / "invoice.yaml"
GIVEN = '{"number": "N-7", "cents": 12345, "bookkeeper": "dora"}'


class Shell:
    """Runs commands on one database."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._url, self._capsys = url, capsys

    def __call__(self, *words: str, status: int = 0) -> str:
        assert main([*words, "--db", self._url]) == status
        told = self._capsys.readouterr()
        return told.out if status in (0, 3) else told.err

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(f"sqlite:///{tmp_path / 'wonder.db'}", capsys)


def test_act_4a_the_sample_of_approvals_is_played_on_the_command_line(shell: Shell) -> None:
    shell("run", str(SAMPLE), "--input", GIVEN, status=3)
    (item,) = shell.json("inbox")["items"]
    assert "2 of 3 approvers must agree; waits for ann, bob, carl" in shell("inbox")
    shown = shell("inbox", "show", item["id"])
    assert "amount in cents: 12345" in shown
    assert "invoice" in shown
    yes, no = '{"ok": true}', '{"ok": false, "why": "dear"}'
    assert "stays open until more approvers have answered" in shell("answer", item["id"], yes, "--by", "ann")
    assert "'ann' has answered" in shell("answer", item["id"], no, "--by", "ann", status=2)
    assert "its approvers are 'ann', 'bob', 'carl'" in shell("answer", item["id"], yes, "--by", "dora", status=2)
    assert "can't be claimed" in shell("inbox", "claim", item["id"], "--by", "bob", status=2)
    assert shell.json("inbox", "--mine", "--by", "ann")["items"] == []
    assert shell("inbox", "--mine", "--by", "ann") == "no such questions\n"
    shell("inbox", "delegate", item["id"], "--to", "emil", "--by", "bob")
    assert [one["id"] for one in shell.json("inbox", "list", "--mine", "--by", "emil")["items"]] == [item["id"]]
    assert "waits for emil, carl" in shell("inbox", "list")
    assert shell("inbox", "--json", "list") == shell("inbox", "list", "--json") == shell("inbox", "--json")
    shell("answer", item["id"], no, "--by", "carl")
    shell("answer", item["id"], yes, "--by", "emil")
    details = shell.json("inbox", "show", item["id"])
    assert (details["status"], details["answer"]["agreed"]) == ("answered", {"ok": True})
    assert [one["by"] for one in details["answers"]] == ["ann", "carl", "emil"]


def test_act_4b_a_question_is_claimed_released_and_answered_on_the_command_line(shell: Shell) -> None:
    shell("run", str(SAMPLE), "--input", GIVEN, status=3)
    (first,) = shell.json("inbox")["items"]
    for name in ("ann", "bob"):
        shell("answer", first["id"], '{"ok": true}', "--by", name)
    (item,) = shell.json("inbox", "--assignee", "dora", "--workflow", "invoice")["items"]
    assert "assigned to dora" in shell("inbox")
    told = shell("inbox", "claim", item["id"], "--by", "eve")
    assert "claimed" in told
    assert "claimed by eve" in told
    assert shell.json("inbox", "--unclaimed")["items"] == []
    assert len(shell.json("inbox", "--claimed")["items"]) == 1
    assert "is claimed by 'eve'" in shell("answer", item["id"], '"4711"', "--by", "dora", status=2)
    assert "released" in shell("inbox", "release", item["id"], "--by", "dora")
    shell("answer", item["id"], '"4711"', "--by", "dora")
    shown = shell("runs", "show", item["run_id"])
    assert "May invoice N-7 be paid?" in shown
    assert 'dora answered "4711"' in shown
    assert "answered, run" in shell("inbox", "show", item["id"])
    assert shell("inbox") == "no questions: no run waits for a person\n"
