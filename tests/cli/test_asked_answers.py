"""CMD-11: on a terminal, `wonder answer` asks for an answer field by field."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.asking import Asker
from wonder.cli.main import main

RUN_COMMAND = "from wonder.cli.main import entry; entry()"
SCHEMA: Any = {
    "type": "object",
    "required": ["ok", "how", "amount", "place"],
    "properties": {
        "ok": {"type": "boolean", "description": "May it be paid?"},
        "how": {"enum": ["card", "cash"]},
        "amount": {"type": "integer", "minimum": 1},
        "note": {"type": "string"},
        "copies": {"type": "integer", "default": 2},
        "place": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 2}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
ASK: Any = {
    "workflow": {
        "name": "ask",
        "initial_node": "ask",
        "output_schema": {"type": "object", "properties": {"said": {}}},
        "nodes": {
            "ask": {
                "action": {"kind": "human_input", "implementation": {"prompt": "Pay?", "schema": SCHEMA}},
                "output_mapping": {"output.said": "$"},
            }
        },
    }
}


@pytest.fixture
def item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """A question of a run that waits for its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WONDER_DATABASE_URL", f"sqlite:///{tmp_path}/wonder.db")
    (tmp_path / "ask.json").write_text(json.dumps(ASK))
    assert main(["run", "ask.json"]) == 3
    capsys.readouterr()
    assert main(["inbox", "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["items"][0]["id"])


def on_terminal(item: str, *typed: str) -> tuple[int, str]:
    """Run the command on a real terminal, and type one line whenever it waits for one."""
    ours, theirs = pty.openpty()
    program = f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {RUN_COMMAND}"
    child = subprocess.Popen(
        [sys.executable, "-c", program, "answer", item],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown, lines, last = b"", list(typed), b""
    for _ in range(600):
        if not select.select([ours], [], [], 2)[0]:
            if child.poll() is not None:
                break
            # A line that is typed before the question has been asked may be dropped by the terminal.
            os.write(ours, last)
            continue
        try:
            got = os.read(ours, 4_096)
        except OSError:
            break
        shown += got
        if lines and shown.endswith((b": ", b"] ", b"out) ")):
            last = lines.pop(0).encode()
            os.write(ours, last)
    status = child.wait(60)
    # Only now: a terminal that goes away hangs up on a process that is about to end.
    os.close(ours)
    return status, shown.decode()


def questions(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    capsys.readouterr()
    assert main(["inbox", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["items"])


def test_cmd_11_a_person_is_asked_field_by_field(item: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["perhaps", "y", "2", "0", "seven", "7", "", "", "B", "Berlin", "a", "b", "", ""]
    status, shown = on_terminal(item, *(f"{line}\n" for line in typed))
    assert status == 0, shown
    for said in ("Pay?", "May it be paid?", "write y or n", "at least 1, found 0", "'seven' is not a number"):
        assert said in shown
    assert questions(capsys) == []
    assert main(["runs", "list", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    said = run["output"]["said"]
    assert said == {
        "ok": True,
        "how": "cash",
        "amount": 7,
        "copies": 2,
        "place": {"city": "Berlin"},
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize("ends", ["\x03", "\x04"])
def test_cmd_11_who_gives_up_stores_nothing(item: str, capsys: pytest.CaptureFixture[str], ends: str) -> None:
    status, shown = on_terminal(item, "y\n", "card\n", ends)
    assert status == 130, shown
    assert "nothing was stored; the question is still open" in shown
    assert [one["id"] for one in questions(capsys)] == [item]


def test_cmd_11_an_answer_that_is_not_confirmed_is_asked_for_again(
    item: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ["n\n", "1\n", "1\n", "\n", "\n", "Rome\n", "\n", "n\n"]
    status, shown = on_terminal(item, *first, "\x03")
    assert status == 130, shown
    assert len(questions(capsys)) == 1


def test_cmd_11_without_a_terminal_an_answer_must_be_given(item: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answer", item]) == 2
    assert "nobody can be asked for one here; write it as JSON" in capsys.readouterr().err
    assert main(["answer", "01NOTHERE", "true"]) == 2


@pytest.mark.parametrize(
    ("schema", "typed", "expected"),
    [
        ({"type": "boolean"}, ["YES"], True),
        ({"type": "boolean", "default": False}, [""], False),
        ({"enum": [1, 2, "x"]}, ["2"], 2),
        ({"enum": [1, 2, "x"]}, ["3"], "x"),
        ({"enum": [10, 20]}, ["2"], 20),
        ({"type": "number"}, ["x", "1.5"], 1.5),
        ({"type": "string"}, [" a b "], " a b "),
        ({"type": ["string", "null"]}, [""], None),
        ({"type": "string", "pattern": "^a"}, ["b", "ab"], "ab"),
        ({}, ["{", '{"a": 1}'], {"a": 1}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["[]", "7"], 7),
        ({"const": 3}, [], 3),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, ["", "4", "x", "5", ""], [4, 5]),
        (
            {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}},
            ["y", "one", "y", "two", "n"],
            [{"a": "one"}, {"a": "two"}],
        ),
        (
            {"$defs": {"n": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}},
            ["4"],
            {"a": 4},
        ),
        ({"type": "object", "properties": {"in": {"type": "object", "properties": {"x": {"type": "null"}}}}}, [""], {}),
        (
            {
                "type": "object",
                "required": ["decision"],
                "properties": {"decision": {"enum": ["extend", "fail"]}, "extend_ms": {"type": "integer"}},
                "if": {"properties": {"decision": {"const": "extend"}}},
                "then": {"required": ["extend_ms"]},
            },
            ["extend", "", "1", "60000"],
            {"decision": "extend", "extend_ms": 60000},
        ),
    ],
)
def test_cmd_11_what_a_schema_asks_for(schema: Any, typed: list[str], expected: Any) -> None:
    lines = iter(typed)
    assert Asker(schema, lambda _: next(lines)).ask() == expected
    assert list(lines) == []
