"""What a person sees of a run while it goes on (SPEC 13)."""

import re

import pytest

from wonder.cli import live_view
from wonder.cli.live_view import _View
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.standing import NodeCount

REFS = {"n1": "begin", "n2": "work", "n3": "end"}


def header(status: str = "running") -> RunHeader:
    """A run under way, of which the view shows its status and id only."""
    known = dict.fromkeys(RunHeader.__struct_fields__)
    return RunHeader(**(known | {"id": "RUN", "status": status}))  # type: ignore[arg-type]


def drawn(capsys: pytest.CaptureFixture[str], counts: list[NodeCount]) -> list[str]:
    """The lines of one picture, without colours."""
    _View(on_terminal=True, quiet=False).show(REFS, counts, header())
    return re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", capsys.readouterr().out).splitlines()


def test_branches_that_wait_at_their_join_are_shown_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    counts = [
        NodeCount("n1", "completed", 1),
        NodeCount("n2", "waiting_for_siblings", 500),
        NodeCount("n2", "dispatched", 500),
    ]
    begin, work, status = drawn(capsys, counts)
    assert begin.startswith("✓ begin")
    assert work.startswith("▶ work")
    assert work.endswith("████████████░░░░░░░░░░░░ 500/1000")
    assert status.startswith("running · ")


def test_many_branches_are_one_line_with_their_counts(capsys: pytest.CaptureFixture[str]) -> None:
    counts = [NodeCount("n2", "completed", 990), NodeCount("n2", "failed", 4), NodeCount("n2", "cancelled", 6)]
    work, _ = drawn(capsys, counts)
    assert work.startswith("✗ work")
    assert work.endswith("990/1000 4 failed")


def test_a_pipe_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    view = _View(on_terminal=False, quiet=False)
    counts = [NodeCount("n2", "waiting_for_siblings", 3), NodeCount("n2", "executing", 2)]
    view.show(REFS, counts, header())
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(live_view, "_PLAIN_SECONDS", 0.0)
    view.show(REFS, counts, header())
    assert capsys.readouterr().out == "running: 3 of 5 node executions done\n"
