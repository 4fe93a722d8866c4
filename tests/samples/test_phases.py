"""The examples of the phase form's source, run against real MCP servers that are written with the SDK."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.systems import running, status_of, until
from wonder.app.application import Application
from wonder.cli.main import main
from wonder.definitions.faults import DefinitionRefused

FOLDER = Path("samples") / "phases"
OUTPUTS: dict[str, Any] = {
    "simple-pipeline": {"rows": 1},
    "parallel-pipeline": {"summary": "fetched: FETCHED, dehctef"},
    "extract-emails": {"sent": 2},
    "process-items": [{"id": "x", "price": 300}, {"id": "y", "price": 500}, {"id": "z", "price": 800}],
    "active-users": {"sent": 2},
}
TARGETS = ["process-single-item", "send-confirmation", "handle-failure"]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the samples are run from, with the Python that has the SDK first on the path."""
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def sample(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return read


async def output_of(wonder: Application, definition: dict[str, Any]) -> Any:
    """Deploy and run a sample to its end."""
    servers = definition.get("mcp_servers", {})
    workflow = await wonder.deploy(definition, allow_mcp=servers)
    result = await (await wonder.start(workflow)).wait()
    assert result.status == "completed", result.error
    return result.output


async def outputs_of(wonder: Application, workflow: str, number: int) -> list[Any]:
    """Wait until so many runs of a workflow have completed, and give their outputs."""
    found = (await wonder.workflow(workflow)).id

    async def look() -> list[Any] | None:
        sql = "SELECT output FROM runs WHERE workflow_id = $1 AND status = 'completed' ORDER BY id"
        rows = await wonder.store.query(sql, found)
        return [json.loads(str(row[0])) for row in rows] if len(rows) >= number else None

    outputs: list[Any] = await until(look, 60)
    return outputs


async def test_every_example_of_the_source_runs(store_url: str) -> None:
    """PHS-2, PHS-3: in sequence, in parallel, with transforms, for each item."""
    async with running(store_url) as wonder:
        for name, output in OUTPUTS.items():
            assert await output_of(wonder, sample(name)) == output, name
        servers = sample("wait-for-job")["mcp_servers"]
        workflow = await wonder.deploy(FOLDER / "wait-for-job.json", allow_mcp=servers)
        waiting = await wonder.start(workflow)
        await status_of(wonder, waiting, "waiting")
        await wonder.cancel(waiting.id)
        soon = sample("wait-for-job")
        soon["steps"][1][0]["sleep"]["ms"] = 20
        assert await output_of(wonder, soon) == {"jobId": "job-1", "done": True}


async def test_every_example_with_triggers_chains_its_workflows(store_url: str) -> None:
    """PHS-6: one for each item of a list, or the one of two that the output asks for."""
    async with running(store_url) as wonder:
        for name in TARGETS:
            servers = sample(name).get("mcp_servers", {})
            await wonder.deploy(FOLDER / f"{name}.json", allow_mcp=servers)
        with pytest.raises(DefinitionRefused, match="Missing required 'Output' interface declaration"):
            await wonder.deploy(FOLDER / "batch-dispatcher-without-types.json")
        batch = await output_of(wonder, sample("batch-dispatcher"))
        assert [item["id"] for item in batch["items"]] == ["x", "y", "z"]
        labels = [{"label": "b-7/x: 300"}, {"label": "b-7/y: 500"}, {"label": "b-7/z: 800"}]
        assert sorted(await outputs_of(wonder, "process-single-item", 3), key=str) == labels
        await output_of(wonder, sample("order-processor"))
        assert await outputs_of(wonder, "send-confirmation", 1) == [{"sent": 1}]
        failing = sample("order-processor")
        failing["mcp_servers"]["orders"]["env"] = {"ORDER_FAILS": "yes"}
        await output_of(wonder, failing)
        assert await outputs_of(wonder, "handle-failure", 1) == [{"note": "o-1: the card was declined"}]


def test_the_first_steps_run_as_their_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All kinds of steps, a trigger and a schedule; commands are started in the folder that one is in."""
    monkeypatch.chdir("samples/phases/first")
    monkeypatch.setenv("WONDER_DATABASE_URL", f"sqlite:///{tmp_path / 'first.db'}")
    assert main(["deploy", "tell-customer.yaml", "charge-orders.yaml", "--allow-mcp", "shop"]) == 0
    deployed = capsys.readouterr().out
    assert "warning" not in deployed
    assert "schedule nightly (new or changed)" in deployed
    assert main(["run", "charge-orders", "--input", '{"day": "2026-11-16"}']) == 0
    said = capsys.readouterr().out
    assert '{"ids":["2026-11-16-a","2026-11-16-c"],"total":1550,"title":"Orders of 2026-11-16"}' in said
    assert "↳ triggered 2 runs: 2 completed" in said


def test_phs_4_the_mistakes_of_the_source_are_told_as_it_tells_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WONDER_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    allowed = ["--allow-mcp", "api", "--allow-mcp", "email"]
    assert main(["validate", str(FOLDER / "mistakes.json"), *allowed, "--json"]) == 2
    shown = json.loads(capsys.readouterr().out)
    assert shown["error"] == "Workflow validation failed"
    mismatch, missing, untyped = shown["errors"]
    assert mismatch.pop("expected").items() >= {"type": "array", "items": {"type": "string"}}.items()
    assert mismatch == {
        "type": "type_mismatch",
        "step": "send-emails",
        "field": "recipients",
        "ref": "@filter-active.output.count",
        "actual": {"type": "number"},
        "message": "Expected string[] but got number",
    }
    assert missing == {
        "type": "missing_ref",
        "step": "aggregate",
        "field": "data",
        "ref": "@nonexistent.output",
        "message": "Step 'nonexistent' not found in previous phases",
    }
    assert (
        untyped.items()
        >= {
            "type": "invalid_typescript",
            "step": "transform-data",
            "field": "transform",
            "message": "Missing required 'Output' interface declaration",
        }.items()
    )
