"""`wonder mcp`: servers are listed without being started, and asked for their tools when somebody wants to know."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.mcp_peers import everything, hostile
from wonder.cli.main import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A working directory with a project that knows some servers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///runs.db")
    log = {"LOG_FILE": str(tmp_path / "log"), "TOKEN": "written-where-it-should-not-be"}
    definition = {
        "workflow": {
            "name": "w",
            "initial_node": "a",
            "nodes": {
                "a": {"action": {"kind": "mcp_tool", "implementation": {"mcp_server_id": "good", "tool_name": "do"}}}
            },
        },
        "mcp_servers": {
            "good": {"transport": "stdio", "command": hostile("well"), "env": log},
            "bad": {"transport": "stdio", "command": hostile("dies-at-start")},
            "all": {"transport": "stdio", "command": everything()},
            "far": {"transport": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"x-token": "abc"}},
        },
    }
    (tmp_path / "w.json").write_text(json.dumps(definition))
    assert main(["deploy", "w.json"]) == 0
    capsys.readouterr()
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Run a command that answers in JSON."""
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_servers_are_listed_and_none_is_started(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither deploying nor listing starts a command; values of variables and headers are not shown."""
    status, found = answer(capsys, "mcp", "list")
    assert status == 0
    assert [one["name"] for one in found["servers"]] == ["all", "bad", "far", "good"]
    assert found["servers"][3]["env"] == ["LOG_FILE", "TOKEN"]
    assert main(["mcp", "list"]) == 0
    shown = capsys.readouterr().out
    assert "http://127.0.0.1:1/mcp" in shown
    assert "written-where" not in shown + str(found)
    assert not (project / "log").exists()


def test_the_tools_of_a_server_are_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what each takes."""
    status, found = answer(capsys, "mcp", "tools", "all", "--allow-mcp", "all")
    assert status == 0
    assert "get-sum" in [tool["name"] for tool in found["tools"]]
    assert main(["mcp", "tools", "good", "--allow-mcp", "good"]) == 0
    assert capsys.readouterr().out == "do  \n  n: integer (optional)\n  returns any value: it has no output schema\n"
    assert (project / "log").read_text().endswith("ended\n")


def test_a_server_that_can_not_be_reached_fails_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1, with what it said."""
    status, found = answer(capsys, "mcp", "tools", "bad", "--allow-mcp", "bad")
    assert (status, found["code"]) == (1, "MCP_SERVER_LOST")
    assert "cannot read the file that I need" in found["error"]
    assert answer(capsys, "mcp", "tools", "far")[1]["code"] == "ADDRESS_REFUSED"


def test_a_server_that_is_not_there_is_not_accepted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2."""
    status, found = answer(capsys, "mcp", "tools", "nobody")
    assert (status, found["code"]) == (2, "NOT_FOUND")
