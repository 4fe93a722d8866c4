"""`wonder run` and a run that waits: it leaves with status 3, or stays with --wait (CMD-4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import wonder
from wonder.cli.main import main

DAY_MS = 86_400_000


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory, and the address of an empty database."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    return url


def write(name: str, kind: str, implementation: dict[str, Any], /, **more: Any) -> None:
    node = {"action": {"kind": kind, "implementation": implementation}, **more}
    graph = {"name": name, "initial_node": "only", "nodes": {"only": node}}
    Path(f"{name}.json").write_text(json.dumps({"workflow": graph}))


ASK = {"prompt": "Go on?", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("kind", "implementation"),
    [
        ("human_input", ASK),
        ("human_input", {**ASK, "deadline_ms": DAY_MS}),
        ("wait_for_event", {"event": "paid"}),
        ("wait_for_event", {"event": "paid", "timeout_ms": DAY_MS}),
    ],
)
def test_cmd_4_a_run_that_waits_is_left_with_status_3_with_a_deadline_or_without(
    database: str, kind: str, implementation: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write("waits", kind, implementation)
    assert main(["run", "waits.json"]) == 3
    assert "… waiting for a person or an outside event" in capsys.readouterr().out
    assert main(["run", "waits.json", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["status"] == "waiting"


def test_cmd_4_a_sub_workflow_that_waits_until_a_deadline_is_left_as_well(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("asks", "human_input", {**ASK, "deadline_ms": DAY_MS})
    assert main(["deploy", "asks.json"]) == 0
    write("calls", "workflow_call", {"workflow_def_id": "asks", "version": 1})
    assert main(["run", "calls.json"]) == 3


def test_cmd_4_a_run_that_sleeps_beside_a_question_is_not_left(database: str) -> None:
    """It moves on by itself."""
    nap = {"action": {"kind": "sleep", "implementation": {"ms": 300}}}
    ask = {"action": {"kind": "human_input", "implementation": {**ASK, "deadline_ms": 600}}}
    start = {"action": {"kind": "sleep", "implementation": {"ms": 1}}}
    ways = [{"from": "start", "to": "nap"}, {"from": "start", "to": "ask"}, {"from": "nap", "to": "fails"}]
    fails = {"action": {"kind": "assert", "implementation": {"expr": "1 = 2", "message": "no"}}}
    nodes = {"start": start, "nap": nap, "ask": ask, "fails": fails}
    graph = {"name": "both", "initial_node": "start", "nodes": nodes, "transitions": ways}
    Path("both.json").write_text(json.dumps({"workflow": graph}))
    assert main(["run", "both.json"]) == 1


def test_cmd_4_with_wait_the_command_stays_until_the_answer_has_come(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("waits", "human_input", {**ASK, "deadline_ms": DAY_MS})
    with wonder("run", "waits.json", "--wait") as command:
        command.said("wonder answer ")
        (line,) = [line for line in command.out if "wonder answer " in line]
        assert command.process.poll() is None
        assert main(["answer", line.split("wonder answer ")[1].split()[0], "{}"]) == 0
        assert command.ended() == 0
        assert any("✓ completed" in line for line in command.out)


def test_cmd_4_with_wait_the_command_stays_until_a_deadline_has_passed(database: str) -> None:
    write("waits", "human_input", {**ASK, "deadline_ms": 300})
    assert main(["run", "waits.json", "--wait"]) == 1


def test_a_run_shows_the_names_of_its_nodes(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("waits", "human_input", ASK, name="Nice Label")
    assert main(["run", "waits.json", "--json"]) == 3
    run_id = json.loads(capsys.readouterr().out)["run_id"]
    assert main(["runs", "show", run_id]) == 0
    assert "only (Nice Label)  0 " in capsys.readouterr().out
    assert main(["runs", "show", run_id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"][0]["node_name"] == "Nice Label"
