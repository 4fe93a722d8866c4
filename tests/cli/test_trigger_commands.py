"""Triggers as the command line shows them: what a run has triggered, and by what it was triggered (PHS-6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

DISPATCH = """\
workflow:
  name: dispatch
  output_schema: {type: object, properties: {items: {type: array}}}
  initial_node: only
  nodes:
    only: {action: {kind: update_context, implementation: {updates: [{path: output.items, expr: input.items}]}}}
  triggers:
    - {workflowId: handle, forEach: "@output.items", inputs: {n: "@item"}}
    - {workflowId: nobody, inputs: {}}
workflows:
  handle:
    input_schema: {type: object, properties: {n: {type: integer}}}
    initial_node: only
    nodes:
      only: {action: {kind: update_context, implementation: {updates: [{path: output.n, expr: input.n}]}}}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory with a definition, and the address of an empty database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dispatch.yaml").write_text(DISPATCH)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    return url


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_shows_what_it_has_triggered_and_that_shows_by_what(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """PHS-6: `triggerStatus`, `triggeredExecutionIds` and the reasons; `wonder run` waits for what was triggered."""
    ran = told(capsys, "run", "dispatch.yaml", "--input", '{"items": [7, 8]}')
    assert (ran["status"], set(ran)) == ("completed", {"run_id", "status", "output", "error"})
    shown = told(capsys, "runs", "show", ran["run_id"])
    assert (shown["status"], shown["triggerStatus"], shown["triggered_by"]) == ("completed", "failed", None)
    first, second = shown["triggers"]
    assert (first["status"], first["runs"], first["reason"]) == ("triggered", 2, None)
    assert (second["status"], second["reason"]["code"]) == ("failed", "NOT_FOUND")
    others = [told(capsys, "runs", "show", id) for id in shown["triggeredExecutionIds"]]
    assert [other["output"] for other in others] == [{"n": 7}, {"n": 8}]
    assert others[1]["triggered_by"] == {"run_id": ran["run_id"], "trigger": 0, "item": 1, "depth": 1, "attempt": 0}
    assert (others[1]["triggerStatus"], others[1]["triggeredExecutionIds"]) == (None, [])
    listed = told(capsys, "runs", "list")["runs"]
    assert {one["run_id"]: (one["triggered_by"] or {}).get("run_id") for one in listed} == {
        ran["run_id"]: None,
        **dict.fromkeys(shown["triggeredExecutionIds"], ran["run_id"]),
    }


def test_people_are_told_of_triggers_as_well(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "dispatch.yaml", "--input", '{"items": [7, 8]}']) == 0
    out = capsys.readouterr().out
    assert "triggered 2 runs: 2 completed" in out
    assert "✗ trigger of 'nobody': there is no workflow 'nobody'" in out
    source, other = [
        next(one["run_id"] for one in told(capsys, "runs", "list")["runs"] if (one["triggered_by"] is None) == is_first)
        for is_first in (True, False)
    ]
    assert main(["runs", "show", source]) == 0
    shown = capsys.readouterr().out
    assert "NOT_FOUND: there is no workflow 'nobody'" in shown
    assert shown.count("↳ ") == 2
    assert main(["runs", "show", other]) == 0
    assert f"triggered by {source}" in capsys.readouterr().out
