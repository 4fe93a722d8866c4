"""CMD-10: runs are found by time, error, node, tag and context, in pages; failed ones are retried together."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from wonder.cli.main import main

ORDER = """\
workflow:
  name: order
  tags: [{tag}]
  input_schema: {{type: object, properties: {{n: {{type: integer}}, who: {{type: string}}}}}}
  context_schema: {{type: object, properties: {{double: {{type: integer}}}}}}
  output_schema: {{type: object, properties: {{n: {{type: integer}}}}}}
  initial_node: count
  nodes:
    count:
      action: {{kind: update_context, implementation: {{updates: [{{path: state.double, expr: input.n * 2}}]}}}}
    {check}: {{action: {{kind: assert, implementation: {{expr: "{expr}", message: "n is too large"}}}}}}
    done: {{action: {{kind: update_context, implementation: {{updates: [{{path: output.n, expr: input.n}}]}}}}}}
  transitions: [{{from: count, to: {check}}}, {{from: {check}, to: done}}]
"""
OLD = ORDER.format(tag="shop", check="check", expr="input.n < 5")
MENDED = ORDER.format(tag="shop", check="check", expr="input.n < 8")
RENAMED = ORDER.format(tag="shop", check="other", expr="1 = 1")
OTHER = OLD.replace("name: order", "name: other").replace("[shop]", "[office]")


@pytest.fixture(params=["sqlite", "postgresql"])
def runs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ten runs of a workflow, of which those from the sixth on have failed."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("old", OLD), ("mended", MENDED), ("renamed", RENAMED), ("other", OTHER)):
        (tmp_path / f"{name}.yaml").write_text(text)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)

    async def start() -> list[str]:
        async with wonder.open(url) as app:
            workflow = await app.deploy("old.yaml")
            ids = []
            for n in range(10):
                run = await app.start(workflow, {"n": n, "who": f"p{n}"})
                await run.wait()
                ids.append(run.id)
            return ids

    return asyncio.run(start())


def asked(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert main(["runs", *words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return [one["run_id"] for one in asked(capsys, "list", *words)["runs"]][::-1]


def test_cmd_10_runs_are_found_by_what_happened(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, "--error", "ASSERTION_FAILED") == runs[5:]
    assert found(capsys, "--error", "too large", "--status", "failed") == runs[5:]
    assert found(capsys, "--error", "TOO LARGE") == []
    assert found(capsys, "--node", "check") == runs[5:]
    assert found(capsys, "--node", "count") == []
    assert found(capsys, "--tag", "shop") == runs
    assert found(capsys, "--tag", "sho") == []
    assert found(capsys, "--since", "1h") == runs
    assert found(capsys, "--until", "1h") == []
    assert found(capsys, "--since", "2020-01-01", "--until", "2999-01-01T00:00Z") == runs
    assert main(["runs", "list", "--since", "yesterday"]) == 2


def test_cmd_10_runs_are_found_by_their_context(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In the expression language, over runs of all versions and workflows, whatever their contexts hold."""
    assert found(capsys, "--where", "state.double >= 16") == runs[8:]
    assert found(capsys, "--where", "double = 4 AND input.who LIKE 'P2'") == runs[2:3]
    assert found(capsys, "--where", "output.n IS NOT NULL", "--limit", "2") == runs[3:5]
    asked(capsys, "retry", "--status", "failed", "--where", "input.n = 9")
    assert main(["run", "mended.yaml", "--input", '{"n": 7, "who": "new"}']) == 0
    assert len(found(capsys, "--where", "input.n = 7")) == 2
    assert main(["runs", "list", "--where", "1); DROP TABLE runs; --"]) == 2
    assert main(["runs", "list", "--where", "(SELECT 1 FROM secrets)"]) == 2
    first = asked(capsys, "list", "--where", "input.n < 3", "--limit", "2")
    rest = asked(capsys, "list", "--where", "input.n < 3", "--limit", "2", "--cursor", first["cursor"])
    assert [one["run_id"] for one in (*first["runs"], *rest["runs"])] == runs[:3][::-1]


def test_cmd_10_a_list_is_as_long_as_it_is_asked_to_be(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Pages have at most 200 runs; the command reads as many of them as it takes."""
    assert found(capsys, "--limit", "1000") == runs
    capsys.readouterr()
    assert main(["runs", "list", "--limit", "3", "--status", "failed", "--error", "too large"]) == 0
    assert "more: wonder runs list --status failed --error 'too large' --cursor " in capsys.readouterr().out


def test_cmd_10_runs_are_found_by_version_code_caller_and_cost(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert found(capsys, "--error-code", "ASSERTION_FAILED", "--workflow", "order") == runs[5:]
    assert found(capsys, "--error-code", "ASSERTION") == []
    assert found(capsys, "--workflow", "order", "--workflow-version", "1") == runs
    assert found(capsys, "--workflow-version", "2") == []
    assert found(capsys, "--parent", runs[0]) == []
    assert found(capsys, "--cost-min", "0.01") == []
    assert found(capsys, "--status", "quarantined") == []
    assert main(["runs", "list", "--cost-min", "inf"]) == 2
    assert main(["runs", "list", "--limit", "1", "--workflow-version", "1", "--error-code", "ASSERTION_FAILED"]) == 0
    shown = capsys.readouterr().out
    assert "more: wonder runs list --workflow-version 1 --error-code ASSERTION_FAILED --cursor " in shown


def test_cmd_14_runs_are_counted_by_workflow_and_status(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "other.yaml", "--input", '{"n": 1, "who": "me"}']) == 0
    counted = asked(capsys, "count")
    assert (counted["total"], counted["statuses"]) == (11, {"completed": 6, "failed": 5})
    assert [(one["workflow"], one["total"]) for one in counted["workflows"]] == [("order", 10), ("other", 1)]
    assert asked(capsys, "count", "--workflow", "other")["statuses"] == {"completed": 1}
    assert main(["runs", "count"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["WORKFLOW", "COMPLETED", "FAILED", "TOTAL"],
        ["order", "5", "5", "10"],
        ["other", "1", "0", "1"],
        ["all", "6", "5", "11"],
    ]
    assert main(["runs", "count", "--workflow", "nothing"]) == 2


def test_ctl_19_a_retry_goes_on_with_the_latest_version(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "mended.yaml"]) == 0
    assert asked(capsys, "retry", runs[6], status=1)["status"] == "failed"
    again = asked(capsys, "retry", runs[6], "--version", "latest")
    assert (again["status"], again["output"]) == ("completed", {"n": 6})
    shown = asked(capsys, "show", again["run_id"])
    assert (shown["workflow_version"], shown["retry_of_run_id"]) == (2, runs[6])
    assert [token["node"] for token in shown["tokens"]] == ["check", "done"]
    assert asked(capsys, "verify", again["run_id"])["verified"]
    assert asked(capsys, "show", runs[6])["retried_as"] == again["run_id"]
    main(["runs", "show", runs[6]])
    assert f"retried as run {again['run_id']}" in capsys.readouterr().out
    main(["runs", "list"])
    assert "failed (retried)" in capsys.readouterr().out
    assert main(["deploy", "renamed.yaml"]) == 0
    refused = asked(capsys, "retry", runs[7], "--version", "latest", status=2)
    assert refused["code"] == "FORK_REFUSED"
    assert "version 3" in refused["error"]
    assert "node 'check'" in refused["error"]
    assert asked(capsys, "show", runs[7])["retried_as"] is None
    assert asked(capsys, "retry", runs[7], "--version", "2")["status"] == "completed"


def test_cmd_10_failed_runs_are_retried_together_after_a_look(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "mended.yaml"]) == 0
    capsys.readouterr()
    assert main(["runs", "retry", "--error", "too large", "--version", "latest"]) == 0
    said = capsys.readouterr().out
    assert "5 runs would be retried; nothing was done" in said
    assert "wonder runs retry --error 'too large' --version latest --yes" in said
    assert found(capsys, "--status", "failed") == runs[5:]
    done = asked(capsys, "retry", "--error", "too large", "--version", "latest", "--yes", status=1)
    assert [one["run_id"] for one in done["retried"]] == runs[5:]
    assert done["statuses"] == {"completed": 3, "failed": 2}
    assert asked(capsys, "retry", "--where", "input.n < 8")["total"] == 0
    assert asked(capsys, "retry", "--status", "failed")["total"] == 2
    assert main(["runs", "retry"]) == 2
    assert main(["runs", "retry", runs[5], "--error", "x"]) == 2
    assert main(["runs", "retry", "--status", "completed"]) == 2


def test_cmd_10_a_run_that_is_refused_does_not_stop_the_others(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "renamed.yaml"]) == 0
    done = asked(capsys, "retry", "--where", "input.n > 7", "--version", "latest", "--yes", status=1)
    assert [one["run_id"] for one in done["refused"]] == runs[8:]
    assert {one["code"] for one in done["refused"]} == {"FORK_REFUSED"}
