"""RES-1, RES-5, CMD-2: workspaces and projects are made, chosen, renamed, archived and restored by commands."""

import json
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.definitions import workflow
from support.systems import waits
from wonder.cli.main import COMMANDS, main
from wonder.coordinator.errors import ProjectArchived
from wonder.operations.catalogue import call
from wonder.storage.resource_errors import InUse, NameTaken, NotFound
from wonder.storage.tenants import DefaultStays

DONE = workflow({"done": {"action": {"kind": "update_context", "implementation": {"updates": []}}}})
ASKS = workflow({"ask": waits("human_input", {"prompt": "?", "schema": {}})})
# They are about the database as a whole, or about none.
OF_DATABASES = {"audit", "backup", "db", "query", "restore", "serve", "workspaces"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:
    assert main([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_project_is_chosen_by_option_environment_or_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """CMD-2."""
    (folder / "done.json").write_text(json.dumps(DONE))
    name = DONE["workflow"]["name"]
    told(capsys, "workspaces", "create", "acme")
    for project in ("by-option", "by-environment", "by-file"):
        told(capsys, "projects", "create", project, "--workspace", "acme")
    told(capsys, "run", "done.json", "--workspace", "acme", "--project", "by-option")
    monkeypatch.setenv("WONDER_WORKSPACE", "acme")
    monkeypatch.setenv("WONDER_PROJECT", "by-environment")
    told(capsys, "deploy", "done.json")
    monkeypatch.delenv("WONDER_WORKSPACE")
    monkeypatch.delenv("WONDER_PROJECT")
    (folder / "wonder.toml").write_text('workspace = "acme"\nproject = "by-file"\n')
    told(capsys, "deploy", "done.json")
    settings = {one["name"]: one for one in told(capsys, "doctor")["settings"]}
    assert settings["project"] == {"name": "project", "value": "by-file", "origin": "wonder.toml"}
    (folder / "wonder.toml").unlink()
    for project, runs in (("by-option", 1), ("by-environment", 0), ("by-file", 0)):
        chosen = ("--workspace", "acme", "--project", project)
        assert [one["name"] for one in told(capsys, "workflows", "list", *chosen)["workflows"]] == [name]
        assert len(told(capsys, "runs", "list", *chosen)["runs"]) == runs
    assert told(capsys, "workflows", "list")["workflows"] == []


def test_a_project_that_does_not_exist_is_refused_with_the_list_to_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["projects", "create", "orders"]) == 0
    assert main(["runs", "list", "--project", "order"]) == 2
    shown = capsys.readouterr().err
    assert "there is no project 'order'" in shown
    assert "see `wonder projects list`" in shown


def test_every_command_that_opens_a_project_can_choose_it() -> None:
    """CMD-2: a command with --db has --project and --workspace, unless it is about the database as a whole."""
    for name in COMMANDS:
        parser = ArgumentParser()
        import_module(f"wonder.cli.{name.replace('-', '_')}").configure(parser)
        parsers = [parser]
        for action in parser._actions:  # nothing public gives the subcommands
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
        for one in parsers:
            options = {option for action in one._actions for option in action.option_strings}
            if "--db" in options:
                assert ({"--project", "--workspace"} <= options) == (name not in OF_DATABASES), name


async def test_res_1_a_workspace_has_projects_and_a_project_is_found_by_name_or_id(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        made: Any = await call(app, "workspaces.create", name="acme")
        await call(app, "projects.create", name="ours")
    async with wonder.open(store_url, workspace=made["id"]) as app:
        shop: Any = await call(app, "projects.create", name="shop", description="a shop")
        listed: Any = await call(app, "projects.list")
        assert [(one["name"], one["chosen"]) for one in listed["projects"]] == [("default", True), ("shop", False)]
        with pytest.raises(NotFound):
            await call(app, "projects.show", name="ours")
        with pytest.raises(NameTaken):
            await call(app, "projects.create", name="shop")
    async with wonder.open(store_url, workspace="acme", project=shop["id"]) as app:
        shown: Any = await call(app, "projects.show", name="shop")
        assert (shown["description"], shown["chosen"]) == ("a shop", True)
    with pytest.raises(NotFound):
        async with wonder.open(store_url, project="shop"):
            pass


async def test_a_renamed_project_and_workspace_keep_all_that_they_hold(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "workspaces.create", name="acme")
    async with wonder.open(store_url, workspace="acme") as app:
        await call(app, "projects.create", name="shop")
    async with wonder.open(store_url, workspace="acme", project="shop") as app:
        run = await app.start(await app.deploy(DONE))
        await run.wait()
        await call(app, "projects.rename", name="shop", to="store")
        await call(app, "workspaces.rename", name="acme", to="apex")
        for kind in ("project", "workspace"):
            with pytest.raises(DefaultStays):
                await call(app, f"{kind}s.rename", name="default", to="other")
    async with wonder.open(store_url, workspace="apex", project="store") as app:
        assert (await app.wait(run.id)).status == "completed"


async def test_res_5_a_project_is_not_archived_while_a_run_or_a_schedule_needs_it(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "projects.create", name="shop")
    async with wonder.open(store_url, project="shop") as app:
        run = await app.start(await app.deploy(ASKS))
        with pytest.raises(InUse, match=f"project 'shop' is needed by 1 live run \\({run.id}\\)"):
            await call(app, "projects.archive", name="shop")
        await app.cancel(run.id)
        await run.wait()
        await call(app, "schedules.create", name="nightly", workflow=ASKS["workflow"]["name"], cron="0 0 * * *")
        with pytest.raises(InUse, match="project 'shop' is used by schedule nightly"):
            await call(app, "projects.archive", name="shop")
        await call(app, "schedules.pause", name="nightly")
        await call(app, "projects.archive", name="shop")


async def test_res_5_what_is_archived_keeps_all_that_it_holds_and_can_be_restored(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "projects.create", name="shop")
    async with wonder.open(store_url, project="shop") as inside, wonder.open(store_url) as app:
        workflow = await inside.deploy(DONE)
        run = await inside.start(workflow)
        await run.wait()
        await call(app, "projects.archive", name="shop")
        with pytest.raises(NotFound):
            async with wonder.open(store_url, project="shop"):
                pass
        # A process that has it open starts nothing more in it, at the latest a second later.
        inside.engine.collaborators.starter._known_projects.clear()  # type: ignore[union-attr]
        with pytest.raises(ProjectArchived):
            await inside.start(workflow)
        live: Any = await call(app, "projects.list")
        archived: Any = await call(app, "projects.list", archived=True)
        assert [one["name"] for one in live["projects"]] == ["default"]
        assert [one["name"] for one in archived["projects"]] == ["shop"]
        # Its name is free, until the one that is archived is to have it again.
        await call(app, "projects.create", name="shop")
        with pytest.raises(NameTaken):
            await call(app, "projects.restore", name="shop")
        await call(app, "projects.rename", name="shop", to="new-shop")
        await call(app, "projects.restore", name="shop")
        inside.engine.collaborators.starter._known_projects.clear()  # type: ignore[union-attr]
        await (await inside.start(workflow)).wait()
        assert (await inside.wait(run.id)).status == "completed"


async def test_res_5_a_workspace_is_archived_when_nothing_in_it_is_in_use(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "workspaces.create", name="acme")
        with pytest.raises(DefaultStays):
            await call(app, "workspaces.archive", name="default")
    async with wonder.open(store_url, workspace="acme") as app:
        await call(app, "projects.create", name="shop")
        with pytest.raises(InUse, match="workspace 'acme' is used by project shop"):
            await call(app, "workspaces.archive", name="acme")
        await call(app, "projects.archive", name="shop")
        run = await app.start(await app.deploy(ASKS))
        with pytest.raises(InUse, match="1 live run"):
            await call(app, "workspaces.archive", name="acme")
        await app.cancel(run.id)
        await run.wait()
        await call(app, "workspaces.archive", name="acme")
    async with wonder.open(store_url) as app:
        listed: Any = await call(app, "workspaces.list", archived=True)
        assert [one["name"] for one in listed["workspaces"]] == ["acme"]
        await call(app, "workspaces.restore", name="acme")
    async with wonder.open(store_url, workspace="acme") as app:
        assert (await app.wait(run.id)).status == "cancelled"
