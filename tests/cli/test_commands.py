"""The command line: what a person and a program see, and the exit statuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.definitions import GREET_EVERYONE
from wonder.cli.main import entry, main

WONDER = Path(sys.executable).with_name("wonder")
VALID = Path(__file__).parents[1] / "definitions" / "valid"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one good file, the module that it calls, and a file with two mistakes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    (tmp_path / "greetings.py").write_text("def say(**words): ...\n")
    (tmp_path / "good.yaml").write_text(GREET_EVERYONE)
    (tmp_path / "bad.yaml").write_text(
        GREET_EVERYONE.replace("sibling_group: start", "sibling_group: strat").replace("$.name}", "$.nme}")
    )
    return tmp_path


def test_validate_says_that_a_good_file_is_valid_and_stores_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "good.yaml"]) == 0
    assert capsys.readouterr().out == "✓ good.yaml: valid\n"
    assert not (folder / ".wonder").exists()


def test_validate_shows_each_fault_under_its_line_and_ends_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "bad.yaml"]) == 2
    shown = capsys.readouterr().out
    assert "bad.yaml:13:23: error unknown_name: there is no 'nme' here" in shown
    assert "  13 |       input_mapping: {name: $.nme}\n       |                       ^" in shown
    assert "did you mean 'name'?" in shown
    assert "error unknown_sibling_group: 'strat' is neither a node nor the ref of a transition" in shown
    assert shown.endswith("✗ bad.yaml: 2 errors\n")


def test_validate_goes_on_behind_a_bad_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "missing.yaml", "bad.yaml", "good.yaml"]) == 2
    shown = capsys.readouterr().out
    assert "missing.yaml:1:1: error unreadable_file: the file can't be read: No such file or directory" in shown
    assert "✓ good.yaml: valid" in shown


def test_validate_prints_json_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--json", "bad.yaml"]) == 2
    shown = json.loads(capsys.readouterr().out)
    assert shown["valid"] is False
    first = shown["files"][0]["errors"][0]
    assert first == {
        "type": "unknown_name",
        "severity": "error",
        "path": "workflow.nodes.greet.input_mapping.name",
        "message": "there is no 'nme' here",
        "hint": "did you mean 'name'?",
        "file": "bad.yaml",
        "line": 13,
        "column": 23,
    }


def test_deploying_twice_is_harmless_and_a_change_makes_a_version(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RES-2, FIL-6"""
    assert main(["deploy", "good.yaml"]) == 0
    assert "✓ good.yaml: workflow greet-everyone (new)" in capsys.readouterr().out
    assert main(["deploy", "good.yaml"]) == 0
    assert "workflow greet-everyone (version 1, unchanged)" in capsys.readouterr().out
    (folder / "good.yaml").write_text(GREET_EVERYONE.replace("60000", "90000"))
    assert main(["deploy", "good.yaml"]) == 0
    assert "workflow greet-everyone (version 2, new)" in capsys.readouterr().out
    assert main(["workflows", "diff", "greet-everyone"]) == 0
    assert "workflow.timeout_ms\n  - 60000\n  + 90000" in capsys.readouterr().out


def test_the_first_version_is_compared_with_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["deploy", "good.yaml"])
    capsys.readouterr()
    assert main(["workflows", "diff", "greet-everyone"]) == 0
    assert "version 1 is the first, so there is nothing to compare it with" in capsys.readouterr().out


def test_a_changed_part_is_compared_with_its_version_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["deploy", "good.yaml"])
    (folder / "good.yaml").write_text(GREET_EVERYONE.replace("max_attempts: 3", "max_attempts: 4"))
    main(["deploy", "good.yaml"])
    capsys.readouterr()
    main(["workflows", "diff", "greet-everyone"])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "workflow.nodes.greet.task",
        '  - "greet-one@1"',
        '  + "greet-one@2"',
        "tasks.greet-one.retry.max_attempts",
        "  - 3",
        "  + 4",
    ]


@pytest.mark.parametrize("file", sorted(VALID.glob("*.yaml")), ids=lambda file: file.stem)
def test_whatever_is_valid_can_be_deployed_twice_and_shown(
    folder: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RES-2: reading back what was stored gives the same content, so the second time nothing is new."""
    assert main(["deploy", "--json", str(file)]) == 0
    stored = json.loads(capsys.readouterr().out)["files"][0]["definitions"]
    assert main(["deploy", "--json", str(file)]) == 0
    again = json.loads(capsys.readouterr().out)["files"][0]["definitions"]
    assert again == [{**one, "new": False} for one in stored]
    for one in stored:
        if one["kind"] == "workflow":
            assert main(["workflows", "show", one["name"]]) == 0


def test_a_file_without_a_workflow_is_told_to_be_stored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parts.yaml").write_text("actions: {say: {kind: python, implementation: {function: 'greetings:say'}}}\n")
    assert main(["deploy", "parts.yaml"]) == 0
    assert capsys.readouterr().out == "✓ parts.yaml: 1 new version, 0 unchanged\n"


def test_inv_9_a_file_with_errors_is_not_stored_at_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "bad.yaml"]) == 2
    assert "nothing was stored" in capsys.readouterr().out
    assert main(["workflows", "list"]) == 0
    assert "no workflows yet" in capsys.readouterr().out


def test_workflows_list_and_show_give_versions_and_the_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["deploy", "good.yaml"])
    capsys.readouterr()
    assert main(["workflows", "list"]) == 0
    titles, row = capsys.readouterr().out.splitlines()
    assert titles.split() == ["NAME", "VERSION", "VERSIONS", "ENABLED", "CHANGED", "TAGS", "DESCRIPTION"]
    assert row.split()[:4] == ["greet-everyone", "1", "1", "yes"]
    assert main(["workflows", "show", "greet-everyone"]) == 0
    shown = capsys.readouterr().out
    assert "● start  greet-everyone.start@1: update_context\n  └─▶ greet  for each name of input.names" in shown
    assert "└─▶ done  joins all of start, append _branch.output.line into state.lines" in shown
    assert main(["workflows", "show", "greet-everyone@1", "--json"]) == 0
    definition = json.loads(capsys.readouterr().out)["definition"]
    assert definition["workflow"]["nodes"]["greet"]["task"] == "greet-one@1"


def test_what_is_not_there_is_said_clearly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workflows", "list"]) == 2
    assert "there is no such file; deploy or migrate first" in capsys.readouterr().err
    main(["db", "migrate"])
    assert main(["workflows", "show", "nobody"]) == 2
    assert "there is no workflow 'nobody'" in capsys.readouterr().err
    assert main(["workflows", "show", "nobody", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "NOT_FOUND"
    assert main(["frobnicate"]) == 2
    assert "there is no command 'frobnicate'" in capsys.readouterr().err


def test_db_migrate_and_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "migrate"]) == 0
    assert "applied" in capsys.readouterr().out
    assert main(["db", "migrate"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert main(["db", "check"]) == 0
    assert ": no errors" in capsys.readouterr().out


def test_cmd_1_and_2_the_database_is_named_by_flag_then_environment_then_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wonder.toml").write_text('database_url = "sqlite:///from-file.db"\n')
    main(["db", "migrate"])
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///from-environment.db")
    main(["db", "migrate"])
    main(["db", "migrate", "--db", "sqlite:///from-flag.db"])
    assert sorted(path.name for path in folder.glob("*.db")) == ["from-environment.db", "from-file.db", "from-flag.db"]
    (folder / "wonder.toml").write_text("database_url = 3\n")
    monkeypatch.delenv("WONDER_DATABASE_URL")
    assert main(["db", "migrate"]) == 2
    assert "'database_url' in wonder.toml must be a string" in capsys.readouterr().err
    (folder / "wonder.toml").write_text('databse_url = "sqlite:///from-file.db"\n')
    assert main(["db", "migrate"]) == 2
    assert "unknown setting 'databse_url'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "greet@x"], "'greet@x' is not a valid workflow name; write NAME, NAME@VERSION or LIBRARY/NAME"),
        (["show", "greet@99999999999999999999"], "is not a valid workflow name"),
        (["diff", "greet", "x"], "'x' is not a version; write a whole number of at least 1"),
        (["diff", "greet", "1", "0"], "'0' is not a version"),
    ],
)
def test_a_version_that_is_none_is_refused(
    words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workflows", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_file_may_name_what_was_deployed_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RES-4"""
    (folder / "user.yaml").write_text(
        "workflow: {name: user, initial_node: a, nodes: {a: {task: greet-one, input_mapping: {name: x}}}}\n"
    )
    assert main(["validate", "user.yaml"]) == 2
    assert "there is no task 'greet-one' in the file, the project or a library" in capsys.readouterr().out
    main(["deploy", "good.yaml"])
    assert main(["validate", "user.yaml"]) == 0
    assert main(["deploy", "user.yaml"]) == 0
    capsys.readouterr()
    main(["workflows", "show", "user", "--json"])
    assert json.loads(capsys.readouterr().out)["definition"]["workflow"]["nodes"]["a"]["task"] == "greet-one@1"


def test_the_same_commands_work_on_postgresql(
    folder: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "--db", postgres_url, "good.yaml"]) == 0
    assert main(["workflows", "show", "greet-everyone", "--db", postgres_url]) == 0
    assert main(["db", "check", "--db", postgres_url]) == 0
    assert "no errors" in capsys.readouterr().out


def test_the_program_reads_standard_input_and_survives_a_closed_pipe(folder: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for program in ([WONDER], [sys.executable, "-m", "wonder"]):
        command = [*program, "validate", "-"]
        read = subprocess.run(command, input=GREET_EVERYONE.encode(), capture_output=True, check=False)
        assert (read.returncode, read.stdout.decode()) == (0, "✓ <stdin>: valid\n")
    piped = subprocess.run(
        f"{WONDER} schema | head -c 10", shell=True, capture_output=True, check=False, env=environment
    )
    assert piped.stderr == b""


def test_an_interrupt_while_a_command_is_imported_ends_with_130_and_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["wonder", "run", "greet.json"])
    monkeypatch.setattr("wonder.cli.main.import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        entry()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_help_lists_every_command_and_needs_none_of_the_heavy_parts(folder: Path) -> None:
    script = (
        "import sys\n"
        "from wonder.cli.main import main\n"
        "main(['--help'])\n"
        "heavy = {'pydantic', 'apsw', 'asyncpg', 'asyncio', 'jsonschema_rs', 'rich', 'yaml', 'jsonpath'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for command in ("validate", "deploy", "schema", "workflows", "db"):
        assert f"\n  {command}" in shown.stdout
    assert shown.stderr.strip() == "[]"
