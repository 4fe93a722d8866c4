"""RES-3, RES-5: workflows are enabled, pinned, renamed, archived and restored, and started with a version."""

import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.definitions import workflow
from support.systems import bundle, waits
from wonder.cli.main import main
from wonder.coordinator.errors import WorkflowDisabled
from wonder.operations.catalogue import call
from wonder.storage.resource_errors import InUse, NameTaken, NotFound

ASKS = workflow({"ask": waits("human_input", {"prompt": "?", "schema": {}})})


def says(number: int) -> dict[str, Any]:
    """Make a version of a workflow that gives its number."""
    update = {"kind": "update_context", "implementation": {"updates": [{"path": "output.n", "expr": str(number)}]}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return bundle("counts", {"only": {"action": update}}, output_schema=schema)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 3):
        (tmp_path / f"v{number}.json").write_text(json.dumps(says(number)))
    return tmp_path


def test_res_3_a_file_is_run_as_it_is_and_a_name_as_it_is_pinned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def given(word: str, status: int = 0) -> Any:
        assert main(["run", word, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    assert main(["deploy", "v1.json", "v2.json"]) == 0
    assert main(["workflows", "pin", "counts", "1"]) == 0
    assert "workflow counts starts with version 1" in capsys.readouterr().out
    assert given("counts")["output"] == {"n": 1}
    assert given("counts@2")["output"] == {"n": 2}
    assert given("v3.json")["output"] == {"n": 3}
    assert main(["run", "v3.json"]) == 0
    shown = capsys.readouterr().err
    assert "counts is pinned to version 1, which all other starts run; this run has version 3, the file's" in shown
    assert given("counts")["output"] == {"n": 1}
    assert main(["workflows", "unpin", "counts"]) == 0
    capsys.readouterr()
    assert given("counts")["output"] == {"n": 3}
    assert given("counts@9", 2)["error"]["code"] == "NOT_FOUND"
    assert main(["workflows", "pin", "counts", "9"]) == 2
    assert "there is no workflow 'counts@9'" in capsys.readouterr().err


async def test_res_3_a_version_is_started_here_and_by_the_process_with_the_engine(store_url: str) -> None:
    async with wonder.open(store_url) as app, wonder.open(store_url) as other:
        for number in (1, 2):
            deployed = await app.deploy(says(number))
        await call(app, "workflows.pin", name="counts", version=2)
        for one in (app, other):
            assert (await (await one.start("counts@1")).wait()).output == {"n": 1}
            assert (await (await one.start(deployed, version=1)).wait()).output == {"n": 1}
            assert (await (await one.start("counts")).wait()).output == {"n": 2}
        with pytest.raises(NotFound):
            await app.start("counts@3")


async def test_res_3_a_disabled_workflow_is_not_started_until_it_is_enabled(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await app.deploy(says(1))
        state: Any = await call(app, "workflows.disable", name="counts")
        assert state["enabled"] is False
        with pytest.raises(WorkflowDisabled, match="wonder workflows enable counts"):
            await app.start("counts")
        await app.deploy(says(2))
        with pytest.raises(WorkflowDisabled):
            await app.start("counts")
        await call(app, "workflows.enable", name="counts")
        assert (await (await app.start("counts")).wait()).output == {"n": 2}


async def test_res_5_a_workflow_is_archived_when_no_run_schedule_or_trigger_needs_it(store_url: str) -> None:
    name = ASKS["workflow"]["name"]
    async with wonder.open(store_url) as app:
        run = await app.start(await app.deploy(ASKS))
        with pytest.raises(InUse, match=f"1 live run \\({run.id}\\)"):
            await call(app, "workflows.archive", name=name)
        await app.cancel(run.id)
        await run.wait()
        await call(app, "schedules.create", name="nightly", workflow=name, cron="0 0 * * *")
        with pytest.raises(InUse, match="schedule nightly"):
            await call(app, "workflows.archive", name=name)
        await call(app, "schedules.delete", name="nightly")
        first = says(1)
        first["workflow"]["triggers"] = [{"workflowId": name, "inputs": {}}]
        await app.deploy(first)
        for change in (call(app, "workflows.archive", name=name), call(app, "workflows.rename", name=name, to="other")):
            with pytest.raises(InUse, match="trigger of workflow counts@1"):
                await change
        await call(app, "workflows.archive", name="counts")
        await call(app, "workflows.archive", name=name)
        with pytest.raises(NotFound):
            await app.start(name)


async def test_res_5_an_archived_workflow_is_listed_and_restored_with_its_versions(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        for number in (1, 2):
            await app.deploy(says(number))
        await call(app, "workflows.archive", name="counts")
        assert (await call(app, "workflows.list"))["workflows"] == []  # type: ignore[index, call-overload]
        archived: Any = await call(app, "workflows.list", archived=True)
        assert [one["name"] for one in archived["workflows"]] == ["counts"]
        await call(app, "workflows.restore", name="counts")
        assert (await (await app.start("counts@1")).wait()).output == {"n": 1}
        # What is deployed meanwhile has the name, and the next number.
        await call(app, "workflows.archive", name="counts")
        await app.deploy(says(2))
        shown: Any = await call(app, "workflows.show", name="counts")
        assert shown["version"] == 3
        with pytest.raises(NameTaken):
            await call(app, "workflows.restore", name="counts")


async def test_a_renamed_workflow_keeps_its_versions_and_schedules(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await app.deploy(says(1))
        await call(app, "schedules.create", name="nightly", workflow="counts", cron="0 0 * * *")
        await call(app, "workflows.rename", name="counts", to="numbers")
        assert (await (await app.start("numbers")).wait()).output == {"n": 1}
        shown: Any = await call(app, "schedules.show", name="nightly")
        assert shown["workflow"] == "numbers"
        await app.deploy(ASKS)
        with pytest.raises(NameTaken):
            await call(app, "workflows.rename", name="numbers", to=ASKS["workflow"]["name"])
