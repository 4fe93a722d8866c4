"""RES-1: workflows of libraries are started by their own names, and bound to projects under names of theirs."""

import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from wonder.app.results import RequestRefused
from wonder.cli.main import main
from wonder.coordinator.errors import KeyNeedsWorkflow, WorkflowDisabled
from wonder.coordinator.orders import StartRun
from wonder.operations.catalogue import call
from wonder.storage.bound_workflows import NameBound
from wonder.storage.resource_errors import AmbiguousName, InUse, NotFound


def says(number: int) -> dict[str, Any]:
    """Make a graph that gives its number."""
    update = {"kind": "update_context", "implementation": {"updates": [{"path": "output.n", "expr": str(number)}]}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return {"initial_node": "only", "nodes": {"only": {"action": update}}, "output_schema": schema}


def shared(number: int, library: str = "common") -> dict[str, Any]:
    """Make a file with a version of a library's workflow."""
    return {"libraries": {library: {"workflows": {"libwf": says(number)}}}}


async def store(app: wonder.App, definition: dict[str, Any]) -> None:
    """Deploy a file that may have no workflow of the project."""
    await call(app, "definitions.deploy", files=[{"text": json.dumps(definition)}])


async def output(app: wonder.App, name: str, **given: Any) -> Any:
    """Give what a run of this name gives."""
    return (await (await app.start(name, **given)).wait()).output


async def test_res_1_a_workflow_of_a_library_is_started_by_its_name_in_the_callers_project(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "projects.create", name="shop")
        await store(app, shared(1))
        await store(app, shared(2))
    async with (
        wonder.open(store_url, project="shop") as app,
        wonder.open(store_url, project="shop") as other,
    ):
        for one in (app, other):
            assert await output(one, "common/libwf") == {"n": 2}
            assert await output(one, "common/libwf@1") == {"n": 1}
        page: Any = await call(app, "runs.list", workflow="common/libwf")
        assert [run["workflow"] for run in page["runs"]] == ["libwf"] * 4
        started: Any = await call(app, "runs.start", workflow="common/libwf@2")
        assert (await app.wait(started["run_id"])).output == {"n": 2}
        for wrong in ("common/libwf@3", "common/lib", "comon/libwf", "libwf", "a/b/c"):
            with pytest.raises(NotFound):
                await app.start(wrong)
        with pytest.raises(KeyNeedsWorkflow, match="wonder workflows bind NAME common/libwf"):
            await app.start("common/libwf", idempotency_key="k")
        with pytest.raises(RequestRefused, match="wonder workflows bind NAME common/libwf"):
            await other.start("common/libwf", idempotency_key="k")
    async with wonder.open(store_url) as app:
        page = await call(app, "runs.list")
        assert page["runs"] == []


def test_res_1_wonder_run_takes_the_name_of_a_librarys_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.json").write_text(json.dumps(shared(1)))
    assert main(["deploy", "lib.json"]) == 0
    capsys.readouterr()
    assert main(["run", "common/libwf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == {"n": 1}
    assert main(["workflows", "show", "common/libwf@1"]) == 0
    assert "libwf version 1" in capsys.readouterr().out
    assert main(["run", "common/libwg"]) == 2
    shown = capsys.readouterr().err
    assert "there is no file 'common/libwg', and no workflow of this name is stored" in shown
    assert "`wonder libraries show common`" in shown
    assert main(["run", "./common/libwf"]) == 2
    assert "No such file" in capsys.readouterr().out


async def test_res_1_a_workflow_binds_a_definition_of_a_library_at_its_newest_version_or_a_pinned_one(
    store_url: str,
) -> None:
    nightly = {"workflows": {"nightly": {"workflow_def_id": "common/libwf", "description": "every night"}}}
    async with wonder.open(store_url) as app:
        await store(app, shared(1) | nightly)
        assert await output(app, "nightly", idempotency_key="k") == {"n": 1}
        await store(app, shared(2))
        assert await output(app, "nightly", idempotency_key="k") == {"n": 1}
        assert await output(app, "nightly") == {"n": 2}
        await call(app, "workflows.pin", name="nightly", version=1)
        # Deploying leaves a pin alone (FIL-6), unless the file names a version itself.
        await store(app, nightly)
        assert await output(app, "nightly") == {"n": 1}
        await store(app, {"workflows": {"nightly": {"workflow_def_id": "common/libwf", "pinned_version": 2}}})
        listed: Any = await call(app, "workflows.list")
        (one,) = listed["workflows"]
        assert (one["name"], one["binds"], one["pinned_version"]) == ("nightly", "common/libwf", 2)
        shown: Any = await call(app, "workflows.show", name="nightly", version=1)
        assert (shown["name"], shown["binds"], shown["version"]) == ("nightly", "common/libwf", 1)
        await call(app, "workflows.disable", name="nightly")
        await store(app, shared(3, "other") | {"workflows": {"nightly": {"workflow_def_id": "other/libwf"}}})
        with pytest.raises(WorkflowDisabled):
            await app.start("nightly")
        await call(app, "workflows.enable", name="nightly")
        # Another definition has no use for the pin of the one before.
        assert await output(app, "nightly") == {"n": 3}
        state: Any = await call(app, "workflows.bind", name="weekly", definition="common/libwf@1")
        assert (state["binds"], state["pinned_version"]) == ("common/libwf", 1)
        assert await output(app, "weekly") == {"n": 1}
        for wrong in ("common/no", "common/libwf@9", "no", "nightly", "a/b/c"):
            with pytest.raises(NotFound):
                await call(app, "workflows.bind", name="weekly", definition=wrong)
        with pytest.raises(AmbiguousName, match="libraries"):
            await call(app, "workflows.bind", name="weekly", definition="libwf")


async def test_res_1_a_bound_workflow_is_called_triggered_and_scheduled_by_its_name(store_url: str) -> None:
    called = {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "nightly"}}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    calls = {"initial_node": "a", "nodes": {"a": called | {"output_mapping": {"output": "$"}}}, "output_schema": schema}
    bound = {"nightly": {"workflow_def_id": "common/libwf"}}
    every = {"later": {"workflow": "nightly", "every_ms": 3_600_000}}
    triggers = [{"workflowId": "nightly", "inputs": {}}]
    async with wonder.open(store_url) as app:
        await store(app, shared(1) | {"workflows": bound | {"calls": calls}, "schedules": every})
        assert await output(app, "calls") == {"n": 1}
        # The same with what is stored already.
        await store(app, {"workflows": {"again": calls | {"triggers": triggers}}})
        run = await app.start("again")
        assert (await run.wait()).output == {"n": 1}
        await call(app, "runs.wait_for_triggered", run_id=run.id)
        (triggered,) = (await app.triggers(run.id)).run_ids
        assert (await app.wait(triggered)).output == {"n": 1}
        fired: Any = await call(app, "schedules.fire", name="later")
        assert (await app.wait(fired["run_id"])).output == {"n": 1}
        for text, said in (
            ({"schedules": {"x": {"workflow": "common/libwf", "every_ms": 60_000}}}, "wonder workflows bind"),
            ({"libraries": {"more": {"workflows": {"calls": calls}}}}, "there is no workflow 'nightly'"),
            ({"workflows": {"x": {"workflow_def_id": "nightly"}}}, "'nightly' has no definition of its own"),
            ({"workflows": {"x": {"workflow_def_id": "x"}}}, "it would run itself"),
            ({"workflows": {"x": {"workflow_def_id": "common/no"}}}, "there is no workflow 'common/no'"),
            ({"workflows": {"x": {"workflow_def_id": "common/libwf", "nodes": {}}}}, "there is no field 'nodes' here"),
        ):
            checked: Any = await call(app, "definitions.validate", files=[{"text": json.dumps(text)}])
            assert said in json.dumps(checked), text
        with pytest.raises(InUse, match="schedule later"):
            await call(app, "workflows.archive", name="nightly")


async def test_res_1_a_name_is_a_bound_workflow_or_a_definition_and_never_both(store_url: str) -> None:
    own, bound = {"workflow": says(5) | {"name": "x"}}, {"workflow": {"name": "x", "workflow_def_id": "common/libwf"}}
    async with wonder.open(store_url) as app:
        await store(app, shared(1))
        await app.deploy(own)
        with pytest.raises(NameBound, match="runs common/libwf"):
            await app.deploy(bound)
        assert await output(app, "x") == {"n": 5}
        await call(app, "workflows.archive", name="x")
        assert (await (await app.start(await app.deploy(bound))).wait()).output == {"n": 1}
        with pytest.raises(NameBound, match="wonder workflows archive x"):
            await app.deploy(own)
        # What is archived is the workflow alone: the definition is the library's.
        await call(app, "workflows.archive", name="x")
        with pytest.raises(NotFound):
            await app.start("x")
        await call(app, "workflows.restore", name="x")
        assert await output(app, "x") == {"n": 1}


async def test_res_1_only_what_a_project_sees_can_be_bound_and_started(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "workspaces.create", name="acme")
        await store(app, shared(1))
        text = {"text": json.dumps(shared(7, "everybody"))}
        await call(app, "definitions.deploy_public", files=[text])
        hidden: Any = await call(app, "workflows.show", name="common/libwf")
    async with wonder.open(store_url, workspace="acme") as app:
        assert await output(app, "everybody/libwf") == {"n": 7}
        await call(app, "workflows.bind", name="mine", definition="everybody/libwf")
        assert await output(app, "mine") == {"n": 7}
        with pytest.raises(NotFound):
            await app.start("common/libwf")
        with pytest.raises(NotFound):
            await call(app, "workflows.bind", name="x", definition=hidden["id"])
        with pytest.raises(NotFound):
            await app.order(StartRun(workflow_def_id=hidden["id"], name="common/libwf", input={}))


def test_res_1_a_workflow_is_bound_and_shown_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.json").write_text(json.dumps(shared(1)))
    (tmp_path / "own.json").write_text(json.dumps({"workflow": {"name": "own", "workflow_def_id": "common/libwf"}}))
    assert main(["deploy", "lib.json"]) == 0
    assert main(["workflows", "bind", "nightly", "common/libwf@1", "--description", "every night"]) == 0
    assert "workflow nightly runs version 1 of common/libwf" in capsys.readouterr().out
    assert main(["run", "own.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == {"n": 1}
    assert main(["workflows", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("common/libwf") == 2
    assert "every night" in listed
    assert main(["workflows", "show", "nightly"]) == 0
    assert "nightly runs common/libwf version 1" in capsys.readouterr().out
    assert main(["workflows", "bind", "nightly", "common/no"]) == 2
    assert "there is no workflow definition 'common/no'" in capsys.readouterr().err
