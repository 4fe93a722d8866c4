"""RES-1: libraries are made, listed, and shown with what they hold."""

import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.systems import bundle
from wonder.cli.main import main
from wonder.operations.catalogue import all_operations, call
from wonder.storage.public_libraries import NotPublic
from wonder.storage.resource_errors import NameTaken, NotFound

DONE: dict[str, Any] = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
SHARED: dict[str, Any] = {
    "libraries": {
        "common": {
            "description": "what all use",
            "workflows": {"libwf": {"description": "shared", "initial_node": "done", "nodes": {"done": DONE}}},
        }
    },
    **bundle("own", {"done": DONE}),
}


async def test_res_1_a_library_is_made_listed_and_shown_with_what_it_holds(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await call(app, "libraries.create", name="common", description="made before")
        with pytest.raises(NameTaken):
            await call(app, "libraries.create", name="common")
        await app.deploy(SHARED)
        listed: Any = await call(app, "libraries.list")
        assert [(one["name"], one["public"]) for one in listed["libraries"]] == [("common", False)]
        shown: Any = await call(app, "libraries.show", name="common")
        assert shown["library"]["description"] == "made before"
        held = {(one["kind"], one["name"]) for one in shown["definitions"]}
        assert ("workflow", "common/libwf") in held
        details: Any = await call(app, "workflows.show", name="common/libwf")
        assert (details["name"], details["version"]) == ("libwf", 1)
        for wanted in ("other/libwf", "common/own"):
            with pytest.raises(NotFound):
                await call(app, "workflows.show", name=wanted)


async def test_res_1_a_public_library_is_seen_by_all_and_made_by_an_admin(store_url: str) -> None:
    assert all_operations()["libraries.create_public"].role == "admin"
    async with wonder.open(store_url) as app:
        await call(app, "workspaces.create", name="acme")
        await call(app, "libraries.create_public", name="everybody")
        await call(app, "libraries.create", name="ours")
        libraries = {"everybody": SHARED["libraries"]["common"]}
        for public, stored in (({"libraries": libraries}, True), (SHARED, False)):
            given = {"text": json.dumps(public)}
            if stored:
                await call(app, "definitions.deploy_public", files=[given])
            else:
                with pytest.raises(NotPublic, match="has `libraries` and nothing beside them"):
                    await call(app, "definitions.deploy_public", files=[given])
        mine = {"text": json.dumps({"libraries": {"ours": {"actions": {"mine": DONE["action"]}}}})}
        await call(app, "definitions.deploy", files=[mine])
        naming = {"tasks": {"t": {"steps": [{"ref": "s", "action": "ours/mine"}]}}}
        hidden = {"text": json.dumps({"libraries": {"everybody": naming}})}
        with pytest.raises(NotPublic, match="the action 'ours/mine' belongs to library 'ours'"):
            await call(app, "definitions.deploy_public", files=[hidden])
    async with wonder.open(store_url, workspace="acme") as app:
        listed: Any = await call(app, "libraries.list")
        assert [(one["name"], one["public"]) for one in listed["libraries"]] == [("everybody", True)]
        with pytest.raises(NotFound):
            await call(app, "libraries.show", name="ours")
        calls = {"kind": "workflow_call", "implementation": {"workflow_def_id": "everybody/libwf"}}
        run = await app.start(await app.deploy(bundle("calls", {"call": {"action": calls}})))
        assert (await run.wait()).status == "completed"


def test_the_description_of_a_library_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["libraries", "create", "common", "--description", "what all use"]) == 0
    assert main(["libraries", "list"]) == 0
    assert main(["libraries", "show", "common"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("what all use") == 2
    assert "it holds nothing yet" in shown
    assert main(["libraries", "show", "comon"]) == 2
    assert "see `wonder libraries list`" in capsys.readouterr().err
