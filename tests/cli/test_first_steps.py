"""What somebody does on the first day, and the slips that belong to it: each is told with what to do next."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.phase_workflows import ToolFile, phases, tool, transform
from wonder.cli.main import main

GREET = """\
workflow:
  name: greet
  input_schema: {type: object, required: [who], properties: {who: {type: string}}}
  initial_node: only
  nodes:
    only: {action: {kind: update_context, implementation: {updates: [{path: output.who, expr: input.who}]}}}
  triggers:
    - {workflowId: greet-next, inputs: {who: "@output.next"}}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory with a definition, and the address of an empty database."""
    monkeypatch.chdir(tmp_path)
    Path("greet.yaml").write_text(GREET)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    return url


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory without a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    return tmp_path


def heard(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(list(words))
    told = capsys.readouterr()
    return status, told.out + told.err


def test_a_workflow_that_is_stored_is_run_by_its_name(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """RES-7: as it is stored, from any folder."""
    assert heard(capsys, "deploy", "greet.yaml")[0] == 0
    Path("greet.yaml").unlink()
    status, said = heard(capsys, "run", "greet", "--input", '{"who": "Ada"}')
    assert (status, '{"who":"Ada"}' in said) == (0, True)
    assert "– trigger of 'greet-next' skipped: @output.next is not there" in said
    status, said = heard(capsys, "run", "greet", "--json", "--key", "k", "--input", '{"who": "Ada"}')
    shown = json.loads(said)
    assert (status, shown["output"]) == (0, {"who": "Ada"})
    assert "\n  input {" in heard(capsys, "runs", "show", shown["run_id"])[1]
    status, said = heard(capsys, "run", "greet")
    assert status == 2
    assert said.endswith(
        '"who" is missing, found {}\nno run was started; give the input with --input JSON, or --input @FILE\n'
    )
    status, said = heard(capsys, "run", "greeet")
    assert (status, "there is no file 'greeet', and no workflow of this name is stored" in said) == (2, True)
    graph = heard(capsys, "workflows", "show", "greet")[1]
    assert "  ■ ends here\n↳ triggers greet-next\n" in graph


def test_the_runs_of_one_workflow_are_listed_by_its_name(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.yaml").write_text(GREET.replace("name: greet", "name: other").replace("greet-next", "greet"))
    for file in ("greet.yaml", "other.yaml", "greet.yaml"):
        assert heard(capsys, "run", file, "--input", '{"who": "Ada"}')[0] == 0
    listed = json.loads(heard(capsys, "runs", "list", "--workflow", "greet", "--json")[1])["runs"]
    every = json.loads(heard(capsys, "runs", "list", "--json")[1])["runs"]
    assert [one["run_id"] for one in listed] == [every[0]["run_id"], every[2]["run_id"]]
    more = heard(capsys, "runs", "list", "--workflow", "greet", "--limit", "1", "--status", "completed")[1]
    assert "more: wonder runs list --status completed --workflow greet --cursor " in more
    assert heard(capsys, "runs", "list", "--workflow", "greet", "--status", "failed") == (0, "no runs match\n")
    assert "there is no workflow 'greeet'" in heard(capsys, "runs", "list", "--workflow", "greeet")[1]


def test_a_long_input_is_shown_in_part_with_the_command_that_shows_it_all(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = json.loads(heard(capsys, "run", "greet.yaml", "--json", "--input", json.dumps({"who": "x" * 1_000}))[1])
    shown = heard(capsys, "runs", "show", run["run_id"])[1]
    assert f"x… (`wonder runs context {run['run_id']}` shows it all)\n" in shown
    assert json.loads(heard(capsys, "runs", "show", run["run_id"], "--json")[1])["input"] == {"who": "x" * 1_000}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["schedule", "list"], "there is no command 'schedule'; did you mean 'schedules'?"),
        (["frobnicate"], "there is no command 'frobnicate'; `wonder --help` lists them"),
        (["run", "greet"], "there is no file 'greet', and no workflow of this name is stored"),
        (["run", "greet.yaml"], "the file can't be read"),
        (["run", "./greet"], "the file can't be read"),
        (["run", "nap.yaml", "--input", "{who: Ada}"], "--input: not JSON: "),
        (["run", "nap.yaml", "--input", "who=Ada"], 'write it as \'{"name": "value"}\', or @FILE'),
        (["run", "nap.yaml", "--input", "@nap.yaml"], "the input file nap.yaml: not JSON"),
        (["validate", "server.yaml"], "each of its arguments as a list: [python, shop.py]"),
        (["doctor"], "database_url         .wonder/wonder.db"),
    ],
)
def test_a_slip_of_the_first_day_is_told_with_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    Path("nap.yaml").write_text("name: nap\nsteps:\n  - - {name: nap, sleep: {ms: 0}}\n")
    Path("server.yaml").write_text("mcp_servers: {s: {transport: stdio, command: python shop.py}}\n")
    status, said = heard(capsys, *words)
    assert (status, told in said) == (2, True), said
    assert not Path(".wonder").exists()


def test_what_is_not_found_is_told_with_the_command_that_lists_what_there_is(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heard(capsys, "deploy", "greet.yaml")[0] == 0
    for words in (["runs", "show"], ["schedules", "show"], ["workflows", "show"]):
        assert heard(capsys, *words, "none")[1].endswith(f"see `wonder {words[0]} list`\n")
    create = ["schedules", "create", "s", "--workflow", "greet", "--cron", "@daily", "--input", '{"who": "@date"}']
    assert heard(capsys, *create)[0] == 0
    assert "change that one with --replace" in heard(capsys, *create)[1]


def test_a_reason_of_several_lines_is_shown_under_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PHS-4: as the TypeScript compiler tells why two types differ."""
    wrong: Any = transform("wrong", "a: { n: number }[]", "b: { n: string }[]", "{ b: input.a }", a="@input.a")
    Path("wrong.json").write_text(json.dumps(phases("wrong", [wrong])))
    status, said = heard(capsys, "validate", "wrong.json")
    assert status == 2
    assert "\n      Type '{ n: number; }' is not assignable to type '{ n: string; }'.\n" in said
    assert "\\n" not in said.replace("\\ninterface", "").replace("\\nexport", "")


def test_a_server_is_shown_with_what_its_tools_give(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = ToolFile(folder)
    greeting = phases("greeting", [tool("hi", "greet", input={"who": "x"})], mcp_servers={"tools": tools.server})
    Path("greeting.json").write_text(json.dumps(greeting))
    assert heard(capsys, "deploy", "greeting.json", "--allow-mcp", "tools")[0] == 0
    assert heard(capsys, "mcp", "tools", "tools")[1].endswith("  who: string\n  returns {line: string}\n")
