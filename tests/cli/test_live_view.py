"""What a person sees of a run while it goes on."""

import re
from typing import Any

import msgspec
import pytest

from wonder.cli import live_view
from wonder.cli.live_view import _View
from wonder.cli.progress import ProgressLines, columns
from wonder.observe.watching import Progress
from wonder.operations.following import NodeProgress, RunProgress
from wonder.operations.run_records import Question, RunSummary

_TEXT = "the  quick\nbrown fox jumps over the lazy dog and away it goes, far far away over all the hills"
NODES = ("begin", "work", "end")


def under_way(*counts: tuple[str, str, int]) -> RunProgress:
    """A run under way, of which the view shows its status, its id and how far its nodes are."""
    known = dict.fromkeys(RunSummary.__struct_fields__)
    run = RunSummary(**(known | {"run_id": "RUN", "status": "running"}))  # type: ignore[arg-type]
    nodes = [
        NodeProgress(node=node, tokens={status: tokens for of, status, tokens in counts if of == node})
        for node in NODES
        if any(of == node for of, _, _ in counts)
    ]
    return RunProgress(run=run, nodes=nodes, is_at_rest=False, questions=[], events=[], functions=[])


def drawn(capsys: pytest.CaptureFixture[str], standing: RunProgress, told: list[Progress] | None = None) -> list[str]:
    """The lines of one picture, without colours."""
    view = _View(on_terminal=True)
    view.progress.add(told or [])
    view.show(standing)
    return re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", capsys.readouterr().out).splitlines()


def test_branches_that_wait_at_their_join_are_shown_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    standing = under_way(("begin", "completed", 1), ("work", "waiting_for_siblings", 500), ("work", "dispatched", 500))
    begin, work, status = drawn(capsys, standing)
    assert begin.startswith("✓ begin")
    assert work.startswith("▶ work")
    assert work.endswith("████████████░░░░░░░░░░░░ 500/1000")
    assert status.startswith("running · ")


def test_a_node_is_shown_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    known = under_way(("work", "executing", 1))
    named = NodeProgress(node="work", tokens={"executing": 1}, name="Nice\x1b[2J Label")
    work, _ = drawn(capsys, RunProgress(**(msgspec.structs.asdict(known) | {"nodes": [named]})))
    assert work.startswith("▶ work (Nice\\x1b[2J Label)")


def test_many_branches_are_one_line_with_their_counts(capsys: pytest.CaptureFixture[str]) -> None:
    standing = under_way(("work", "completed", 990), ("work", "failed", 4), ("work", "cancelled", 6))
    work, _ = drawn(capsys, standing)
    assert work.startswith("✗ work")
    assert work.endswith("990/1000 4 failed")


def test_a_pipe_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    view = _View(on_terminal=False)
    standing = under_way(("work", "waiting_for_siblings", 3), ("work", "executing", 2))
    view.show(standing)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(live_view, "_PLAIN_SECONDS", 0.0)
    view.show(standing)
    assert capsys.readouterr().out == "running: 3 of 5 node executions done\n"


def test_a_pipe_is_told_of_a_node_that_waits_in_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RES-6"""
    monkeypatch.setattr(live_view, "_PLAIN_SECONDS", 0.0)
    view = _View(on_terminal=False)
    view.progress.add([tells({"waiting_for": "max_llm_calls_per_hour", "ahead": 4})])
    view.show(under_way(("work", "executing", 1)))
    assert capsys.readouterr().out == "running: 0 of 1 node executions done; work waits in line: 4 ahead\n"
    view.show(under_way(("work", "completed", 1), ("end", "executing", 1)))
    assert capsys.readouterr().out == "running: 1 of 2 node executions done\n"


def test_a_question_is_shown_once_above_the_picture_of_a_run_that_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """ACT-4: at second sight, because a run that only waits is reported with its questions."""
    known = dict.fromkeys(Question.__struct_fields__)
    item = Question(**(known | {"id": "ITEM", "kind": "human_input", "prompt": "Go?\x1b[2J", "schema": {}}))  # type: ignore[arg-type]
    view = _View(on_terminal=True)
    view.show(under_way(("work", "suspended", 1)))
    view.ask([item])
    assert "Go?" not in capsys.readouterr().out
    view.ask([item])
    shown = capsys.readouterr().out
    assert shown.startswith("\x1b[2A\x1b[JGo?\\x1b[2J\n")
    assert "wonder answer ITEM JSON" in shown
    view.ask([item])
    view.ask([])
    view.ask([item])
    assert capsys.readouterr().out == ""


def tells(progress: Any, node: str = "work", branch: str = "0") -> Progress:
    """What an action tells."""
    return Progress(node, branch, "step", progress)


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        ({"text": "Once upon", "offset": 0}, "Once upon"),
        ({"text": _TEXT, "offset": 0}, "…far far away over all the hills"),
        ({"progress": 3, "total": 10}, "3/10"),
        ({"progress": 0.25, "total": 1.0, "message": "half of\nhalf"}, "0.25/1 half of half"),
        ({"progress": 7.0}, "7"),
        ({"waiting_for": "max_llm_calls_per_hour", "ahead": 4}, "waits in line: 4 ahead"),
        ("as I said: " + "x" * 500, "as I said: " + "x" * 20 + "…"),
        ({"done": [1, None]}, '{"done":[1,null]}'),
        ({"text": "\x1b[2J\x07\u202eevil", "offset": 0}, "\\x1b[2J\\x07\\u202eevil"),
        ({"progress": 1, "message": "\x1b]0;title\x07"}, "1 \\x1b]0;title\\x07"),
        ("東" * 100, "東" * 15 + "…"),
        ({"text": "東" * 100, "offset": 0}, "…" + "東" * 15),
    ],
)
def test_what_a_node_tells_last_is_shown_beside_it_and_never_wider_than_the_terminal(
    progress: Any, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ACT-1: of a text that is still coming, the end."""
    monkeypatch.setenv("COLUMNS", "60")
    work, _ = drawn(capsys, under_way(("work", "executing", 1)), [tells(progress)])
    assert work == f"▶ {'work'.ljust(24)} {shown}"
    assert columns(work) <= 60


def test_a_text_grows_until_another_branch_speaks_or_it_begins_again() -> None:
    lines = ProgressLines()
    lines.add([tells({"text": "Once ", "offset": 0}), tells({"text": "upon", "offset": 5})])
    assert lines.beside("", "work", 80) == "Once upon"
    lines.add([tells({"text": "Other", "offset": 0}, branch="1")])
    assert lines.beside("", "work", 80) == "Other"
    lines.add([tells({"text": " words", "offset": 5}, branch="1"), tells({"text": "Again", "offset": 0}, branch="1")])
    assert lines.beside("", "work", 80) == "Again"
    lines.add([tells({"progress": 1})])
    assert lines.beside("", "work", 80) == "1"
    assert lines.beside("", "begin", 80) == ""


def test_what_has_ended_and_what_has_no_room_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, _ = drawn(capsys, under_way(("work", "completed", 1)), [tells("still here")])
    assert "still here" not in work
    monkeypatch.setenv("COLUMNS", "20")
    work, _ = drawn(capsys, under_way(("work", "executing", 1)), [tells("still here")])
    assert "still here" not in work


def test_a_pipe_gets_nothing_of_what_nodes_tell(capsys: pytest.CaptureFixture[str]) -> None:
    view = _View(on_terminal=False)
    view.progress.add([tells("a secret of the pipe")])
    view.show(under_way(("work", "executing", 1)))
    assert capsys.readouterr().out == ""
