"""RES-5: libraries, and all that has a name, are archived and restored, unless something needs them."""

import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.systems import bundle, waits
from wonder.cli.main import main
from wonder.operations.archiving import HeldByPublicLibrary, OneNamed
from wonder.operations.catalogue import all_operations, call
from wonder.operations.declaring import InputNotAccepted
from wonder.storage.resource_errors import InUse, NameTaken, NotFound

ASK: dict[str, Any] = {"kind": "llm_call", "implementation": {"prompt_spec_id": "ask", "model_profile_id": "small"}}
TOOL: dict[str, Any] = {"kind": "mcp_tool", "implementation": {"mcp_server_id": "files", "tool_name": "read"}}
FIND: dict[str, Any] = {"kind": "vector_search", "implementation": {"vector_index_id": "notes", "top_k": 1}}
KEEP: dict[str, Any] = {
    "kind": "write_artifact",
    "implementation": {"artifact_type_id": "note", "content_mapping": "$.text"},
}
PARTS: dict[str, Any] = {
    "prompts": {"ask": {"template": "?"}},
    "models": {"small": {"provider": "mock", "model_id": "m"}},
    "artifact_types": {"note": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}},
    "vector_indexes": {
        "notes": {
            "artifact_type_ids": ["note"],
            "content_fields": ["text"],
            "embedding_provider": "local",
            "embedding_model": "all-MiniLM-L6-v2",
            "dimensions": 384,
            "auto_index": False,
        }
    },
    "mcp_servers": {"files": {"transport": "http", "url": "https://mcp.example.com/"}},
    "tasks": {"asking": {"steps": [{"ref": "s", "action": "ask-model"}]}},
    "actions": {"ask-model": ASK},
}
USING: dict[str, Any] = {
    **PARTS,
    "workflows": {
        "uses": {
            "initial_node": "task",
            "nodes": {
                "task": {"task": "asking"},
                "tool": {"action": TOOL},
                "find": {"action": FIND},
                "keep": {"action": KEEP},
            },
            "transitions": [{"from": "task", "to": one} for one in ("tool", "find", "keep")],
        }
    },
}
NAMED = {
    "tasks": ("asking", "workflow uses@1"),
    "actions": ("ask-model", "task asking@1"),
    "prompts": ("ask", "action ask-model@1"),
    "models": ("small", "action ask-model@1"),
    "mcp": ("files", "action uses.tool@1"),
    "vectors": ("notes", "action uses.find@1"),
    "artifact_types": ("note", "action uses.keep@1"),
}
DONE: dict[str, Any] = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
SHARED: dict[str, Any] = {
    "libraries": {
        "common": {
            "workflows": {"libwf": {"initial_node": "done", "nodes": {"done": DONE}}},
            "tasks": {"share": {"steps": [{"ref": "s", "action": DONE["action"]}]}},
        }
    }
}


async def store(app: wonder.App, definition: dict[str, Any]) -> Any:
    """Deploy a file that may have no workflow of the project; gives what the operation says of it."""
    deployed: Any = await call(app, "definitions.deploy", files=[{"text": json.dumps(definition)}])
    return deployed["files"][0]


async def names(app: wonder.App, plural: str, *, archived: bool = False) -> list[str]:
    """List what is there."""
    page: Any = await call(app, f"{plural}.list", archived=archived)
    return [one["name"] for one in page.get("items") or page.get("servers") or page.get("libraries") or ()]


async def test_res_5_what_an_enabled_workflow_needs_is_not_archived_and_the_rest_can_be_restored(
    store_url: str,
) -> None:
    async with wonder.open(store_url) as app:
        deployed = await store(app, USING)
        assert deployed["stored"], deployed
        for plural, (name, user) in NAMED.items():
            with pytest.raises(InUse, match=f"used by .*{user}"):
                await call(app, f"{plural}.archive", name=name)
        await call(app, "workflows.disable", name="uses")
        # The index alone still needs the type of its artifacts.
        with pytest.raises(InUse, match="is used by vector index notes;"):
            await call(app, "artifact_types.archive", name="note")
        for plural, (name, _) in NAMED.items():
            done: Any = await call(app, f"{plural}.archive", name=name)
            assert done["name"] == name
            assert name not in await names(app, plural)
            assert await names(app, plural, archived=True) == [name]
            with pytest.raises(NotFound):
                await call(app, f"{plural}.archive", name=name)
        again = {"workflows": USING["workflows"]}
        refused = await store(app, again)
        said = {(one["type"], one["hint"]) for one in refused["errors"]}
        for command, name in (("tasks", "asking"), ("mcp", "files"), ("vectors", "notes"), ("artifact-types", "note")):
            assert ("archived_ref", f"restore it with `wonder {command} restore {name}`, or name another") in said
        for plural, (name, _) in reversed(NAMED.items()):
            await call(app, f"{plural}.restore", name=name)
            assert name in await names(app, plural)
            with pytest.raises(NotFound, match="archived"):
                await call(app, f"{plural}.restore", name=name)
        assert (await store(app, again))["stored"]
        # Deployed again meanwhile, the name is that of newer versions.
        await call(app, "prompts.archive", name="ask")
        await store(app, {"prompts": {"ask": {"template": "Why?"}}})
        with pytest.raises(NameTaken):
            await call(app, "prompts.restore", name="ask")


async def test_res_5_old_versions_and_archived_workflows_keep_nothing_and_live_runs_do(store_url: str) -> None:
    waiting = waits("human_input", {"prompt": "?", "schema": {}})
    first = {"initial_node": "a", "nodes": {"a": waiting, "b": {"task": "asking"}}, "transitions": [_way("a", "b")]}
    async with wonder.open(store_url) as app:
        await store(app, {**PARTS, "workflows": {"w": first}})
        run = await app.start("w")
        await store(app, bundle("w", {"a": waiting}))
        for plural in ("tasks", "actions", "prompts", "models"):
            with pytest.raises(InUse, match=f"needed by 1 live run \\({run.id}\\)"):
                await call(app, f"{plural}.archive", name=NAMED[plural][0])
        await app.cancel(run.id)
        # Version 1 has the task, and nothing starts it any more; whoever names it still finds all of it.
        await call(app, "tasks.archive", name="asking")
        again = await app.start("w@1")
        items = [item async for item in app.inbox()]
        await app.answer(items[0].id, {})
        assert (await again.wait()).status == "completed"
        await call(app, "workflows.pin", name="w", version=1)
        with pytest.raises(InUse, match="used by action ask-model@1"):
            await call(app, "models.archive", name="small")
        await call(app, "workflows.archive", name="w")
        await call(app, "actions.archive", name="ask-model")
        await call(app, "models.archive", name="small")


async def test_res_5_a_library_is_archived_with_all_that_it_holds(store_url: str) -> None:
    assert all_operations()["libraries.archive_public"].role == "admin"
    named = {
        "binds": ({"workflows": {"w": {"workflow_def_id": "common/libwf"}}}, "workflow w"),
        "calls": (
            bundle("w", {"a": waits("workflow_call", {"workflow_def_id": "common/libwf"})}),
            "action w.a@1",
        ),
        "has": (bundle("w", {"a": {"task": "common/share"}}), "workflow w@"),
        "triggers": (
            {**bundle("w", {"a": DONE}), "triggers": [{"workflowId": "common/libwf", "inputs": {}}]},
            "trigger of workflow w@",
        ),
    }
    async with wonder.open(store_url) as app:
        await store(app, SHARED)
        for definition, user in named.values():
            assert (await store(app, definition))["stored"]
            with pytest.raises(InUse, match=f"library 'common' is used by .*{user}"):
                await call(app, "libraries.archive", name="common")
            await call(app, "workflows.archive", name="w")
        done: Any = await call(app, "libraries.archive", name="common")
        assert (done["name"], await names(app, "libraries")) == ("common", [])
        assert await names(app, "libraries", archived=True) == ["common"]
        for wanted in ("common/libwf", "libwf"):
            with pytest.raises(NotFound):
                await app.start(wanted)
        refused = await store(app, named["calls"][0])
        assert refused["errors"][0]["hint"].startswith("restore it with `wonder libraries restore common`")
        await call(app, "libraries.restore", name="common")
        assert (await (await app.start("common/libwf")).wait()).status == "completed"
        await call(app, "libraries.archive", name="common")
        await store(app, SHARED)
        with pytest.raises(NameTaken):
            await call(app, "libraries.restore", name="common")


async def test_res_5_definitions_of_a_library_are_archived_by_their_names(store_url: str) -> None:
    public = {"libraries": {"everybody": SHARED["libraries"]["common"]}}
    assert [OneNamed(name=name).needs.reach for name in ("share", "common/share")] == ["project", "workspace"]
    async with wonder.open(store_url) as app:
        await store(app, SHARED)
        await call(app, "definitions.deploy_public", files=[{"text": json.dumps(public)}])
        with pytest.raises(NotFound):
            await call(app, "tasks.archive", name="share")
        done: Any = await call(app, "tasks.archive", name="common/share")
        assert (done["name"], done["versions"]) == ("share", 1)
        refused = await store(app, bundle("w", {"a": {"task": "common/share"}}))
        assert refused["errors"][0]["message"] == "the task 'common/share' is archived"
        await call(app, "tasks.restore", name="common/share")
        assert (await store(app, bundle("w", {"a": {"task": "common/share"}})))["stored"]
        for does in ("archive", "restore"):
            with pytest.raises(HeldByPublicLibrary, match="wonder libraries archive everybody --public"):
                await call(app, f"tasks.{does}", name="everybody/share")
            with pytest.raises(InputNotAccepted, match="for all versions"):
                await call(app, f"tasks.{does}", name="common/share@1")
            with pytest.raises(NotFound):
                await call(app, f"libraries.{does}", name="everybody")
        await call(app, "libraries.archive_public", name="everybody")
        await call(app, "libraries.restore_public", name="everybody")


async def test_res_5_a_server_that_the_workspace_allows_by_name_is_not_archived(store_url: str) -> None:
    """Its name would be free for another server, which nobody has looked at."""
    async with wonder.open(store_url) as app:
        await store(app, {"mcp_servers": PARTS["mcp_servers"]})
        await call(app, "mcp.allow", server="files", long_running=True)
        with pytest.raises(InUse, match="allowed_mcp_servers of workspace default"):
            await call(app, "mcp.archive", name="files")
        await call(app, "mcp.forget", server="files")
        await call(app, "mcp.archive", name="files")


async def test_res_5_an_archived_workflow_is_still_found_by_its_tag(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await app.deploy(bundle("w", {"a": DONE}, tags=["red"]))
        await call(app, "workflows.archive", name="w")
        page: Any = await call(app, "workflows.list", archived=True, tag="red")
        assert [(one["name"], one["tags"]) for one in page["workflows"]] == [("w", ["red"])]


def test_res_5_commands_archive_list_and_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts.json").write_text(json.dumps({**PARTS, **SHARED}))
    assert main(["deploy", "parts.json"]) == 0
    assert main(["prompts", "archive", "ask"]) == 2
    assert "prompt 'ask' is used by action ask-model@1; archive or change those first" in capsys.readouterr().err
    orders = [
        *(("tasks", "asking"), ("actions", "ask-model"), ("prompts", "ask"), ("models", "small"), ("vectors", "notes")),
        *(("artifact-types", "note"), ("mcp", "files"), ("libraries", "common")),
    ]
    for plural, name in orders:
        assert main([plural, "archive", name]) == 0
        assert f"{name} archived" in capsys.readouterr().out
        assert main([plural, "list", "--archived"]) == 0
        assert name in capsys.readouterr().out
        assert main([plural, "restore", name]) == 0
        assert f"{name} restored" in capsys.readouterr().out
        if name != "common":
            assert main([plural, "archive", name, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["name"] == name
    assert main(["tasks", "restore", "asking"]) == 0
    assert "task asking restored (1 version)" in capsys.readouterr().out


def _way(start: str, end: str) -> dict[str, str]:
    return {"from": start, "to": end}
