"""What functions print beside a run: it is kept apart from the result, and does not tear the live view (CMD-4)."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.commands import wonder
from wonder.cli.main import main

LOUD = """\
import asyncio, os, subprocess, sys, threading, time
import wonder

print("an import speaks")

@wonder.function
def loud(n):
    print("a function speaks")
    thread = threading.Thread(target=print, args=("a thread speaks",))
    thread.start()
    thread.join()
    subprocess.run(["sh", "-c", "echo a program speaks; echo to stderr >&2"])
    os.write(1, b"a descriptor is written to\\n")
    sys.stdout.write("half a")
    time.sleep(0.3)
    print(" line")
    return n

@wonder.function
async def whispers(n):
    for part in ("branch", " ", str(n)):
        sys.stdout.write(part)
        await asyncio.sleep(0.01)
    await asyncio.to_thread(print, " in a thread")
    print("no end", end="")
    return n

@wonder.function(quick=True)
def floods():
    print("\\n".join(["x" * 100] * 3_000))
    return 1
"""
SAID = [
    "an import speaks",
    "a function speaks",
    "a thread speaks",
    "a program speaks",
    "to stderr",
    "a descriptor is written to",
    "half a line",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module that prints, and workflows that call it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    Path("loud.py").write_text(LOUD)
    for name in ("loud", "floods"):
        action = {"kind": "python", "implementation": {"function": f"loud:{name}"}}
        node = {"action": action, "input_mapping": {"n": 1} if name == "loud" else {}}
        graph = {"name": name, "initial_node": "first-node", "nodes": {"first-node": node}}
        Path(f"{name}.json").write_text(json.dumps({"workflow": graph}))
    action = {"kind": "python", "implementation": {"function": "loud:whispers"}}
    node = {"action": action, "input_mapping": {"n": "$._branch.index"}}
    nodes = {"begin": {"action": {"kind": "update_context", "implementation": {"updates": []}}}, "whisper": node}
    ways = [{"from": "begin", "to": "whisper", "spawn_count": 3}]
    graph = {"name": "whispers", "initial_node": "begin", "nodes": nodes, "transitions": ways}
    Path("whispers.json").write_text(json.dumps({"workflow": graph}))
    return tmp_path


def test_cmd_4_a_program_gets_one_json_document_whatever_functions_print(folder: Path) -> None:
    with wonder("run", "loud.json", "--json") as command:
        assert command.ended() == 0
    assert json.loads("\n".join(command.out))["status"] == "completed"
    assert sorted(line for line in command.err if line in SAID) == sorted(SAID)


def test_cmd_4_what_a_person_reads_in_a_pipe_is_kept_apart_too(folder: Path) -> None:
    with wonder("run", "loud.json") as command:
        assert command.ended() == 0
    assert command.out[0].startswith("✓ completed")
    assert len(command.out) == 2


def test_cmd_4_a_run_that_is_retried_prints_as_a_run_does(folder: Path) -> None:
    Path("loud.py").write_text("import wonder\nprint('spoken')\n@wonder.function\ndef loud(n):\n    print(1 / 0)\n")
    with wonder("run", "loud.json", "--json") as command:
        assert command.ended() == 1
    failed = json.loads("\n".join(command.out))
    with wonder("runs", "retry", failed["run_id"], "--module", "loud", "--json") as command:
        assert command.ended() == 1
    assert json.loads("\n".join(command.out))["error"]["code"] == "PYTHON_EXCEPTION"
    assert "spoken" in command.err


def test_cmd_4_inside_of_a_program_the_streams_are_put_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    assert main(["run", "floods.json", "--json"]) == 0
    assert sys.stdout is before
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "completed"
    assert printed.err.count("x" * 100) == 3_000


def logged_by(name: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Run a workflow, and give what is in the logs of the run."""
    with wonder("run", f"{name}.json", "--json") as command:
        assert command.ended() == 0
    run_id = json.loads("\n".join(command.out))["run_id"]
    assert main(["logs", "--run", run_id, "--limit", "0", "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert {one["run_id"] for one in found} <= {run_id}
    return found


def test_evt_4a_what_functions_print_is_in_the_logs_of_their_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what modules print that are imported for them; of threads and programs nobody knows the run."""
    logged = logged_by("loud", capsys)
    assert [one["message"] for one in logged] == ["an import speaks", "a function speaks", "half a line"]
    assert {(one["service"], one["level"], one["node"]) for one in logged} == {("stdout", "info", "first-node")}
    assert main(["query", "SELECT message FROM logs WHERE project_id IS NULL", "--json"]) == 0
    assert "a thread speaks" in capsys.readouterr().out


def test_evt_4a_lines_that_async_functions_print_at_once_are_kept_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logged = logged_by("whispers", capsys)
    assert sorted(one["message"] for one in logged if "an import" not in one["message"]) == [
        *(f"branch {number} in a thread" for number in range(3)),
        *["no end"] * 3,
    ]
    assert len({one["token_id"] for one in logged}) == 3


def test_evt_4a_a_flood_of_lines_is_cut_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged = [one["message"] for one in logged_by("floods", capsys)]
    shown = logged.count("x" * 100)
    # What its module has printed may count to the same second.
    assert shown in (99, 100)
    assert logged[-1] == f"{3_000 - shown:,} more lines are not shown"


@pytest.mark.parametrize("name", ["loud", "floods"])
def test_cmd_4_on_a_terminal_it_is_printed_above_the_live_view(folder: Path, name: str) -> None:
    """Even more than a pipe takes, printed by a function that keeps the loop busy."""
    screen = shown_on_terminal(["run", f"{name}.json"])
    assert [line for line in screen if "first-node" in line] == [next(line for line in screen if "first-node" in line)]
    assert [line for line in screen if "completed ·" in line or "running ·" in line][1:] == []
    if name == "loud":
        assert sorted(line for line in screen if line in SAID) == sorted(SAID)
        assert screen.index("half a line") < next(i for i, line in enumerate(screen) if "first-node" in line)
    else:
        assert screen.count("x" * 100) == 3_000


def shown_on_terminal(words: list[str]) -> list[str]:
    """Run a command on a terminal, and give the lines that the terminal shows in the end."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from wonder.cli.main import entry; entry()", *words]
    process = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    data = b""
    try:
        while chunk := _read(ours):
            data += chunk
    finally:
        assert process.wait(timeout=60) == 0
        os.close(ours)
    return _lines(data.decode())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux says so when the last writer has gone
        return b""


def _lines(text: str) -> list[str]:
    """Obey what a terminal is told: go up, clear a line or the rest of the screen, begin a line."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r?\n|[^\x1b\r\n]+", text):
        if part.endswith("\n"):
            row += 1
            if row == len(lines):
                lines.append("")
        elif part.startswith("\x1b"):
            match part[-1]:
                case "A":
                    row -= int(part[2:-1])
                case "K":
                    lines[row] = ""
                case "J":
                    lines[row:] = [""]
        else:
            lines[row] += part
    return lines
