"""The command line under hostile words, files and surroundings: an exit status, a clear text, never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.definitions import GREET_EVERYONE
from wonder.cli.main import main

WONDER = Path(sys.executable).with_name("wonder")
ESCAPE = "\x1b[2J"
REVERSED = "\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one good file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    (tmp_path / "good.yaml").write_text(GREET_EVERYONE)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "--json"],
        ["validate", "--json", "--nope", "good.yaml"],
        ["deploy", "--json", "good.yaml", "--db", "mysql://x"],
        ["deploy", "--json", "good.yaml", "--db", "sqlite:///text.db"],
        ["deploy", "--json", "good.yaml", "--db", "sqlite:///no/such/folder/x.db"],
        ["deploy", "--json", "good.yaml", "--db", "sqlite:///a\udcffb.db"],
        ["workflows", "--json"],
        ["workflows", "show", "--json", "nobody"],
        ["workflows", "show", "--json", "greet@x"],
        ["workflows", "list", "--json", "--limit", "x"],
        ["db", "check", "--json"],
        ["frobnicate", "--json"],
    ],
    ids=" ".join,
)
def test_who_asks_for_json_gets_one_document_of_json_also_when_refused(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "text.db").write_text("this is no database " * 100)
    assert main(words) == 2
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {"error", "code"}


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["run", "x" * 300], 2, "no workflow of this name"),
        (["backup", "x" * 300], 2, "can't be made: File name too long"),
        (["backup", "loop/x"], 2, "can't be made"),
        (["project", "set", "files_root", "~nobody-at-all/files"], 2, "unknown user"),
        (["project", "set", "files_root", "loop"], 0, "files_root of the project is"),
        (["project", "set", "files_root", "x" * 300], 0, "files_root of the project is"),
        (["mcp", "allow", "server", "--folder", "~nobody-at-all"], 2, "unknown user"),
        (["mcp", "allow", "server", "--folder", "loop"], 2, "there is no MCP server"),
    ],
    ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
)
def test_a_path_that_can_t_be_there_is_no_traceback(
    words: list[str], status: int, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Too long, a link to itself, of an unknown user: Python has an exception of its own for each."""
    (folder / "loop").symlink_to("loop")
    assert main(["deploy", "good.yaml"]) == 0
    capsys.readouterr()
    assert main(words) == status
    printed = capsys.readouterr()
    assert told in printed.out + printed.err


def test_a_mistake_in_the_words_of_a_command_is_told_with_its_usage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflows", "diff"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: wonder workflows diff" in shown.err
    assert "the following arguments are required" in shown.err


def test_what_a_file_holds_never_steers_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "raw.yaml").write_text(f"workflow: {ESCAPE}red")
    (folder / "names.json").write_text(
        json.dumps({"workflow": {f"{ESCAPE}{REVERSED}": 1, "name": "x", "nodes": {"a\n": {"task": f"{ESCAPE}t"}}}})
    )
    assert main(["validate", "raw.yaml", "names.json"]) == 2
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert REVERSED not in shown
    assert "there is no field '\\x1b[2J\\u202e' here" in shown
    assert 'at workflow.nodes."a\\n"' in shown


def test_what_is_stored_never_steers_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    condition = json.dumps(f"state.lines IS NOT '{ESCAPE}{REVERSED}'")
    fan_out = "- {from: start, to: greet, "
    assert fan_out in GREET_EVERYONE
    hostile = GREET_EVERYONE.replace(fan_out, f"{fan_out}condition: {condition}, ")
    (folder / "hostile.yaml").write_text(hostile)
    assert main(["deploy", "good.yaml"]) == 0
    assert main(["deploy", "hostile.yaml"]) == 0
    assert main(["workflows", "show", "greet-everyone"]) == 0
    assert main(["workflows", "diff", "greet-everyone"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert REVERSED not in shown
    assert "\\u202e" in shown


def test_a_fault_is_shown_in_its_own_line_whatever_else_breaks_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '\ufeff{"workflow": {"name": "x", "description": "a\u2028b\x85c",\n "typo": 1}}'
    (folder / "lines.json").write_text(text)
    assert main(["validate", "lines.json"]) == 2
    shown = capsys.readouterr().out
    assert (
        "lines.json:2:2: error unknown_field: there is no field 'typo' here\n     2 |  \"typo\": 1}}\n       |  ^"
        in shown
    )
    assert '     1 | {"workflow": ' in shown


def test_an_integer_of_any_size_is_printed_as_it_was_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CTX-7"""
    large = "7" * 5_000
    (folder / "large.yaml").write_text(GREET_EVERYONE.replace("{name: $.name}", f"{{name: $.name, large: {large}}}"))
    assert main(["deploy", "large.yaml"]) == 0
    capsys.readouterr()
    assert main(["workflows", "show", "greet-everyone", "--json"]) == 0
    assert f'"large":{large}' in capsys.readouterr().out


def test_settings_that_are_nested_without_end_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wonder.toml").write_text("x = " + "[" * 5_000)
    assert main(["deploy", "good.yaml"]) == 2
    assert "wonder.toml can't be read: it is nested too deeply" in capsys.readouterr().err
    (folder / "wonder.toml").write_text("x = " + "9" * 5_000)
    assert main(["workflows", "list"]) == 2
    assert "wonder.toml can't be read: Exceeds the limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "status", "out", "error"),
    [
        ("{wonder} validate good.yaml > /dev/full", 1, "", "wonder: the output can't be written: No space left"),
        ("{wonder} validate good.yaml >&-", 0, "", ""),
        ("{wonder} validate - <&-", 2, "standard input is closed", ""),
        ("PYTHONIOENCODING=ascii {wonder} validate good.yaml", 0, "\\u2713 good.yaml: valid", ""),
        ("PYTHONIOENCODING=ascii {wonder} validate --json é.yaml", 2, '"file": "\\u00e9.yaml"', ""),
        ("{wonder} validate --json good.yaml | head -c 0", 0, "", ""),
    ],
)
def test_a_stream_that_is_full_closed_or_without_unicode_ends_no_command_with_a_traceback(
    command: str, status: int, out: str, error: str, folder: Path
) -> None:
    ran = subprocess.run(
        ["bash", "-c", command.format(wonder=WONDER)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False)
    assert out in ran.stdout
    assert error in ran.stderr
