"""`mcp_tool` in whole runs, on both databases, with real servers (ACT-2)."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from support.mcp_peers import children_of, everything, filesystem, hostile, python_server
from support.systems import bundle, event_types, line, running
from wonder.app.application import Application
from wonder.app.ids import new_ulid
from wonder.app.mcp_approvals import approve, stored_servers
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.secret_scopes import SecretScope
from wonder.storage.clock import utc_now
from wonder.storage.resource_errors import ServerFixed
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret
from wonder.storage.tenancy import put_workspace_settings


def calls_tool(server: str, tool: str, input: Any, **fields: Any) -> dict[str, Any]:
    """Make a node that calls a tool and gives what that gives as `found`."""
    execution = {"execution": fields.pop("execution")} if "execution" in fields else {}
    action = {"kind": "mcp_tool", "implementation": {"mcp_server_id": server, "tool_name": tool}, **execution}
    return {"action": action, "input_mapping": input, "output_mapping": {"output.found": "$"}, **fields}


def one_call(server: list[str], tool: str, input: Any, env: dict[str, str] | None = None, **fields: Any) -> Any:
    """Make a workflow of one call."""
    defined = bundle("w", {"tool": calls_tool("peer", tool, input, **fields)})
    return {**defined, "mcp_servers": {"peer": {"transport": "stdio", "command": server, "env": env or {}}}}


async def allow(wonder: Application, **settings: Any) -> None:
    """Give the workspace settings of its own."""
    home = wonder.home
    async with wonder.store.transaction() as transaction:
        await put_workspace_settings(transaction, home.workspace_id, WorkspaceSettings.model_validate(settings))


async def result(wonder: Application, definition: Any, input: Any = None) -> Any:
    """Deploy a definition, allow its servers, and run it to its end."""
    workflow = await wonder.deploy(definition, allow_mcp=definition["mcp_servers"])
    return await (await wonder.start(workflow, input)).wait()


async def test_a_workflow_calls_tools_of_several_servers(store_url: str, tmp_path: Path) -> None:
    """ACT-2: the tool's structured content, or its text as JSON, is the action's output."""
    (tmp_path / "note.txt").write_text("remember the milk")
    nodes = {
        "time": calls_tool(
            "time", "get_current_time", {"timezone": "UTC"}, output_mapping={"output.time": "$.timezone"}
        ),
        "read": calls_tool(
            "files", "read_text_file", {"path": str(tmp_path / "note.txt")}, output_mapping={"output.text": "$.content"}
        ),
        "sum": calls_tool("all", "get-sum", {"a": 1, "b": 2}, output_mapping={"output.sum": "$.text"}),
    }
    definition = bundle("w", nodes, line("time", "read", "sum"))
    definition["mcp_servers"] = {
        "time": {"transport": "stdio", "command": python_server("mcp_server_time")},
        "files": {"transport": "stdio", "command": filesystem(tmp_path)},
        "all": {"transport": "stdio", "command": everything()},
    }
    async with running(store_url) as wonder:
        await wonder.deploy(definition)
        assert children_of(os.getpid()) == []  # deploying starts no command
        done = await result(wonder, definition)
        assert (done.status, done.error) == ("completed", None)
        assert done.output["time"] == "UTC"
        assert "remember the milk" in done.output["text"]
        assert "3" in done.output["sum"]
    assert children_of(os.getpid()) == []


async def test_a_crash_of_the_server_is_retried_as_the_policy_says(store_url: str, tmp_path: Path) -> None:
    """RET-1: the second attempt, within the same step, meets the server that was started anew."""
    execution = {"retry_policy": {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 1}}
    server = hostile("dies-once", str(tmp_path / "dead"))
    async with running(store_url) as wonder:
        done = await result(wonder, one_call(server, "do", {}, execution=execution))
        assert (done.status, done.output["found"]["text"]) == ("completed", "alive")


async def test_an_error_of_the_tool_is_a_business_error(store_url: str) -> None:
    """ACT-2: it is not tried again by the policy of the action."""
    execution = {"retry_policy": {"max_attempts": 5, "backoff": "none", "initial_delay_ms": 1}}
    async with running(store_url) as wonder:
        done = await result(wonder, one_call(hostile("fails"), "do", {}, execution=execution))
        assert done.error["code"] == "MCP_TOOL_ERROR"
        assert "no such" in done.error["message"]
        assert (await event_types(wonder, done.run_id)).count("task.failed") <= 1


@pytest.mark.parametrize("listed", [None, [], ["other"]])
async def test_res_6_a_long_running_process_starts_only_servers_on_the_list(
    store_url: str, tmp_path: Path, listed: list[str] | None
) -> None:
    """Null allows none there, also of those whose command was approved; one command allows a server."""
    log = tmp_path / "log"
    definition = one_call(hostile("well"), "do", {"n": 1}, {"LOG_FILE": str(log)})
    async with running(store_url) as wonder:
        await allow(wonder, allowed_mcp_servers=listed)
        workflow = await wonder.deploy(definition)
        await approve(wonder, await stored_servers(wonder, ["peer"]))
        done: Any = await (await wonder.start(workflow)).wait()
        assert done.error["code"] == "MCP_SERVER_NOT_ALLOWED"
        assert "'peer'" in done.error["message"]
        if listed is None:
            assert f"wonder mcp allow peer --long-running --folder {Path.cwd()}" in done.error["message"]
        assert not log.exists()
        await wonder.allow_mcp_server("peer")
        done = await (await wonder.start(workflow)).wait()
        assert done.output == {"found": {"n": 2}}


async def test_res_6_a_name_on_the_list_stands_for_the_command_that_was_approved(
    store_url: str, tmp_path: Path
) -> None:
    """Nor may a name be listed in advance, for whatever somebody then deploys under it."""
    log = tmp_path / "log"
    definition = one_call(hostile("well"), "do", {"n": 1}, {"LOG_FILE": str(log)})
    async with running(store_url) as wonder:
        await allow(wonder, allowed_mcp_servers=["peer"])
        done: Any = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert done.error["code"] == "MCP_SERVER_NOT_APPROVED"
        assert "mcp_hostile.py" in done.error["message"]
        assert f"wonder mcp allow peer --folder {Path.cwd()}" in done.error["message"]
        assert not log.exists()
        changed = one_call(hostile("well"), "do", {"n": 1}, {"LOG_FILE": str(log), "LD_PRELOAD": "/x.so"})
        await wonder.allow_mcp_server("peer")
        with pytest.raises(ServerFixed, match="--allow-mcp peer"):
            await wonder.deploy(changed)
        assert not log.exists()


async def test_res_6_an_approval_holds_in_the_folder_that_it_was_given_in(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words mean another program elsewhere: here a server beside the working directory."""
    (tmp_path / "other").mkdir()
    log = tmp_path / "log"
    definition = one_call(hostile("well"), "do", {"n": 1}, {"LOG_FILE": str(log)})
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(definition)
        await wonder.allow_mcp_server("peer")
        monkeypatch.chdir(tmp_path / "other")
        done: Any = await (await wonder.start(workflow)).wait()
        assert done.error["code"] == "MCP_SERVER_NOT_APPROVED"
        assert not log.exists()


async def test_res_6_a_server_over_http_needs_no_approval_but_a_place_on_the_list(store_url: str) -> None:
    """It runs nothing here: its address is what is looked at."""
    definition = one_call([], "do", {})
    definition["mcp_servers"]["peer"] = {"transport": "http", "url": "http://127.0.0.1:1/mcp"}
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(definition)
        done: Any = await (await wonder.start(workflow)).wait()
        assert done.error["code"] == "MCP_SERVER_NOT_ALLOWED"
        assert done.error["message"].endswith("wonder mcp allow peer --long-running")
        await wonder.allow_mcp_server("peer")
        done = await (await wonder.start(workflow)).wait()
        assert done.error["code"] == "ADDRESS_REFUSED"


async def test_a_server_sees_its_own_environment_and_secrets_and_nothing_of_ours(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-8: what it says back is redacted."""
    monkeypatch.setenv("OUR_OWN_TOKEN", "never-to-be-seen")
    monkeypatch.setenv("WONDER_SECRET_KEY", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")
    caplog.set_level(logging.DEBUG)
    env = {"TOKEN": "Bearer {{secrets.API_TOKEN}}", "PLAIN": "yes"}
    definition = one_call(hostile("environment"), "do", {}, env)
    async with running(store_url) as wonder:
        app = wonder
        owner = Owner("project", app.home.project_id)
        keys = key_source(store_url)
        given = ("API_TOKEN", "canary-7391-yellow", SecretScope(servers=("peer",)))
        await set_secret(app.store, keys, owner, *given, clock=utc_now, new_id=new_ulid)
        done = await result(wonder, definition)
        assert done.error is None
        seen = done.output["found"]
        assert seen["PLAIN"] == "yes"
        assert seen["TOKEN"] == "Bearer [secret API_TOKEN]"
        assert "OUR_OWN_TOKEN" not in seen
        assert set(seen) - {"TOKEN", "PLAIN"} <= {"PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE", "PWD", "SHLVL", "_"}
        rows = await app.store.query("SELECT * FROM events")
        assert "canary-7391" not in json.dumps([[str(one) for one in row] for row in rows])
    assert "canary-7391" not in caplog.text


async def test_a_time_out_of_the_action_is_told_to_the_server(store_url: str, tmp_path: Path) -> None:
    """RET-3: the attempt is aborted, at the server too."""
    log = tmp_path / "log"
    definition = one_call(hostile("never"), "do", {}, {"LOG_FILE": str(log)}, execution={"timeout_ms": 400})
    async with running(store_url) as wonder:
        done = await result(wonder, definition)
        assert done.error["code"] == "ACTION_TIMEOUT"
    assert "cancelled caller cancelled" in log.read_text()
