"""The command line takes phase files everywhere it takes graph files."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.phase_workflows import ToolFile, phases, text_of, tool, transform
from wonder.cli.main import main

SHOUT = transform("shout", "line: string", "loud: string", "{ loud: input.line.toUpperCase() }", line="@hi.output.line")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolFile:
    """An empty working directory with a server and a workflow that uses it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    tools = ToolFile(tmp_path)
    write("greeting", greeting(tools))
    return tools


def greeting(tools: ToolFile, name: str = "greeting") -> dict[str, Any]:
    steps = [[tool("hi", "greet", input={"who": "@input.who"})], [SHOUT]]
    return phases(name, *steps, mcp_servers={"tools": tools.server})


def write(name: str, definition: dict[str, Any]) -> str:
    """Write a definition into a file, and give the text."""
    text = json.dumps(definition, indent=1)
    Path(f"{name}.json").write_text(text)
    return text


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Run a command that answers in JSON."""
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_fil_5_a_phase_file_is_validated_and_nothing_is_stored(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "greeting.json", "--allow-mcp", "tools"]) == 0
    assert capsys.readouterr().out == "✓ greeting.json: valid\n"
    assert not Path(".wonder").exists()


def test_validate_does_not_start_a_server_that_nobody_has_accepted(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """RES-6: it says what would be started, how to allow it, and that the tool was not checked."""
    assert main(["validate", "greeting.json"]) == 0
    shown = capsys.readouterr().out
    assert "greeting.json:7:5: warning tool_not_checked: the tool 'greet' of 'tools' was not checked" in shown
    assert "mcp_typed.py" in shown
    assert "add --allow-mcp tools" in shown
    assert shown.endswith("✓ greeting.json: valid, 1 warning\n")
    assert tools.starts == 0


def test_phs_4_run_tells_the_same_errors_as_validate_of_a_file_that_is_refused(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [[tool("hi", "greet", input={"who": 3})], [tool("again", "greet", input={"who": "@nobody.output"})]]
    write("broken", phases("broken", *steps, mcp_servers={"tools": tools.server}))
    other = {"initial_node": "n", "nodes": {"n": {"action": {"kind": "sleep", "implementation": {"ms": "x"}}}}}
    write("graph", {"workflow": {"name": "graph", "nodes": {}, "initial_node": "n"}, "workflows": {"other": other}})
    for name, words in (("broken.json", ["--allow-mcp", "tools"]), ("graph.json", [])):
        _, validated = answer(capsys, "validate", name, *words)
        status, ran = answer(capsys, "run", name, *words)
        errors = validated["errors"] if name == "broken.json" else validated["files"][0]["errors"]
        assert (status, ran["error"]["errors"], len(errors)) == (2, errors, 2)


def test_phs_4_validate_tells_errors_in_the_shape_of_the_phase_form(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [[tool("hi", "greet", input={"who": 3})], [tool("again", "greet", input={"who": "@nobody.output"})]]
    write("broken", phases("broken", *steps, mcp_servers={"tools": tools.server}))
    assert answer(capsys, "validate", "broken.json", "--allow-mcp", "tools") == (
        2,
        {
            "error": "Workflow validation failed",
            "errors": [
                {
                    "type": "type_mismatch",
                    "step": "hi",
                    "field": "who",
                    "expected": {"type": "string"},
                    "actual": {"const": 3},
                    "message": "Expected string but got 3",
                },
                {
                    "type": "missing_ref",
                    "step": "again",
                    "field": "who",
                    "ref": "@nobody.output",
                    "message": "Step 'nobody' not found in previous phases",
                },
            ],
        },
    )
    assert main(["validate", "broken.json", "--allow-mcp", "tools"]) == 2
    shown = capsys.readouterr().out
    assert 'broken.json:12:6: error type_mismatch: Expected string but got 3\n    12 |      "who": 3\n' in shown
    assert "error missing_ref: Step 'nobody' not found in previous phases (@nobody.output)" in shown


def test_a_program_that_checks_several_files_hears_of_each(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors have the fields of both shapes, and their place."""
    write("broken", phases("broken", [tool("hi", "gret")], mcp_servers={"tools": tools.server}))
    status, shown = answer(capsys, "validate", "greeting.json", "broken.json", "--allow-mcp", "tools")
    assert (status, [file["valid"] for file in shown["files"]]) == (2, [True, False])
    (error,) = shown["files"][1]["errors"]
    assert (error["type"], error["step"], error["field"], error["line"]) == ("missing_schema", "hi", "tool", 7)


def test_a_phase_file_is_deployed_run_and_shown(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    """PHS-1: as it was written, to the byte; its graph, if that is asked for."""
    text = Path("greeting.json").read_text()
    assert main(["run", "greeting.json", "--input", '{"who": "you"}', "--allow-mcp", "tools"]) == 0
    assert capsys.readouterr().out.endswith('{"loud":"HELLO"}\n')
    assert main(["deploy", "greeting.json"]) == 0
    assert "workflow greeting (version 1, unchanged)" in capsys.readouterr().out
    status, shown = answer(capsys, "workflows", "show", "greeting")
    assert (status, shown["written"]) == (0, text)
    assert shown["definition"]["steps"] == json.loads(text)["steps"]
    assert shown["definition"]["_schemas"]["hi"]["output"] == text_of("line")
    assert main(["workflows", "show", "greeting"]) == 0
    assert text in capsys.readouterr().out
    _, graph = answer(capsys, "workflows", "show", "greeting", "--graph")
    assert list(graph["definition"]["workflow"]["nodes"]) == ["hi", "shout"]
    assert main(["workflows", "show", "greeting", "--graph"]) == 0
    assert "● hi  greeting.hi@1: mcp_tool\n  └─▶ shout" in capsys.readouterr().out


def test_an_input_that_does_not_fit_is_refused(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = answer(capsys, "run", "greeting.json", "--input", "{}", "--allow-mcp", "tools")
    assert (status, shown["error"]["code"]) == (2, "INPUT_REFUSED")
    assert '"who" is missing' in shown["error"]["message"]


def test_doctor_names_the_workflows_that_a_changed_tool_breaks(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """PHS-4: also another time, until they are fixed; those that go on with it are named apart."""
    write("other", phases("other", [tool("hi", "greet", input={"who": "x"})], mcp_servers={"tools": tools.server}))
    assert main(["deploy", "greeting.json", "other.json", "--allow-mcp", "tools"]) == 0
    assert main(["doctor"]) == 0
    assert "✓ 1 tool unchanged since the check of workflows" in capsys.readouterr().out
    tools.define(greet={"input": text_of("who"), "output": text_of("text"), "gives": {"text": "hello"}})
    for _ in range(2):
        status, shown = answer(capsys, "doctor")
        (found,) = shown["tools"]
        assert (status, found["state"], found["used_by"]) == (1, "changed", ["greeting@1", "other@1"])
        (broken,) = found["breaks"]
        assert (broken["workflow"], broken["errors"][0]["step"]) == ("greeting", "shout")
    assert main(["doctor"]) == 1
    assert (
        "✗ the tool 'greet' of the MCP server 'tools' has changed in a way that breaks these workflows\n    greeting@1"
        in capsys.readouterr().out
    )
    assert main(["deploy", "greeting.json"]) == 2, "it is checked with the tool as it is now"
    capsys.readouterr()
    fixed = transform("shout", "line: string", "loud: string", "{ loud: input.line }", line="@hi.output.text")
    write("greeting", {**greeting(tools), "steps": [greeting(tools)["steps"][0], [fixed]]})
    assert main(["deploy", "greeting.json", "other.json"]) == 0
    assert main(["doctor"]) == 0


def test_doctor_tells_what_has_changed_and_breaks_nothing(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "greeting.json", "--allow-mcp", "tools"]) == 0
    tools.define(greet={"input": text_of("who", how={"type": "string"}), "output": text_of("line")})
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "! the tool 'greet' of the MCP server 'tools' has changed; still compatible: greeting@1" in (
        capsys.readouterr().out
    )


def test_doctor_tells_what_can_not_be_asked(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    """A tool that is gone, with who used it; and each setting with its origin."""
    assert main(["deploy", "greeting.json", "--allow-mcp", "tools"]) == 0
    tools.define(other={})
    capsys.readouterr()
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "✗ the tool 'greet' of the MCP server 'tools' could not be checked" in shown
    assert "has no tool 'greet'; it has: other\n    used by greeting@1" in shown
    assert "database_url         .wonder/wonder.db     default" in shown


def test_res_6_doctor_starts_nothing_that_nobody_has_approved(
    tools: ToolFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """A workflow whose tools were never checked is looked at once they are."""
    assert main(["deploy", "greeting.json"]) == 0
    capsys.readouterr()
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "! the tool 'greet' of the MCP server 'tools' was not checked: the MCP server 'tools' is not" in shown
    assert "used by greeting@1; approve it with: wonder mcp allow tools" in shown
    assert tools.starts == 0
    assert main(["mcp", "allow", "tools"]) == 0
    assert main(["doctor"]) == 0
    assert "✓ 1 tool unchanged since the check of workflows" in capsys.readouterr().out
    tools.define(greet={"input": text_of("who"), "output": text_of("text")})
    assert answer(capsys, "doctor")[1]["tools"][0]["breaks"][0]["workflow"] == "greeting"


def test_fil_7_the_schema_knows_the_phase_form(tools: ToolFile, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema_rs

    status, schema = answer(capsys, "schema")
    editor = jsonschema_rs.Draft202012Validator(schema)
    good = greeting(tools)
    assert status == 0
    assert [error.message for error in editor.iter_errors(good)] == []
    assert [error.message for error in editor.iter_errors({"workflow": good})] == []
    unnamed = {name: part for name, part in good.items() if name != "name"}
    assert editor.is_valid({"workflows": {"inner": unnamed}})
    assert not editor.is_valid(unnamed)
    for wrong in ({"steps": [{"name": "a"}]}, {"steps": [[{"name": "a"}]]}, {"steps": [[{**SHOUT, "retri": 1}]]}):
        assert not editor.is_valid({**good, **wrong}), wrong
