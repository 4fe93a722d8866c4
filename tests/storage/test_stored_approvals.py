"""Approvals of MCP servers on both databases: bound to content and folder, with who and when (RES-6)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from wonder.app.application import Application
from wonder.app.mcp_approvals import allow_stored, forget
from wonder.app.opening import open_app
from wonder.definitions.loading import load_value
from wonder.definitions.records.resources import HttpServer, StdioServer
from wonder.definitions.records.workflows import Workflow
from wonder.storage.mcp_approvals import approval_hash, is_approved, list_approvals, servers_of_workflow
from wonder.storage.named_resources import find_resource
from wonder.storage.tenancy import load_workspace

SERVER: dict[str, Any] = {"transport": "stdio", "command": ["tool", "--all"], "env": {"TOKEN": "{{secrets.T}}"}}


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[Application]:
    async with open_app(store_url) as app:
        action = {"kind": "mcp_tool", "implementation": {"mcp_server_id": "git", "tool_name": "log"}}
        workflow = {"name": "w", "initial_node": "a", "nodes": {"a": {"action": action}}}
        await app.deploy_loaded(load_value({"workflow": workflow, "mcp_servers": {"git": SERVER}}))
        yield app


async def test_res_6_an_approval_is_given_once_listed_and_taken_back(app: Application) -> None:
    project_id = app.home.project_id
    server = await allow_stored(app, "git", folder="/srv", long_running=True)
    await allow_stored(app, "git", folder="/srv", long_running=True)
    (given,) = await list_approvals(app.store, project_id)
    assert (given.name, given.what, given.folder) == ("git", '["tool","--all"]', "/srv")
    assert await is_approved(app.store, project_id, server.connection, "/srv")
    assert not await is_approved(app.store, project_id, server.connection, "/")
    assert not await is_approved(app.store, "another project", server.connection, "/srv")
    assert (await load_workspace(app.store, app.home.workspace_id)).settings.allowed_mcp_servers == ["git"]
    assert await forget(app, "git") == (1, True)
    assert await forget(app, "git") == (0, False)
    assert (await load_workspace(app.store, app.home.workspace_id)).settings.allowed_mcp_servers == []


async def test_the_servers_of_a_stored_workflow_are_found(app: Application) -> None:
    workflow = await find_resource(app.store, Workflow, app.home.project_id, "w")
    assert workflow
    for version in (None, 1):
        (id,) = await servers_of_workflow(app.store, workflow.workflow_def_id, version)
        assert (await allow_stored(app, id)).name == "git"


@pytest.mark.parametrize(
    "change",
    [{"command": ["tool", "--al", "l"]}, {"command": ["tool"]}, {"env": {}}, {"env": {"TOKEN": "{{secrets.OTHER}}"}}],
)
def test_res_6_the_hash_differs_if_anything_does_that_decides_what_is_started(change: dict[str, Any]) -> None:
    one, other = StdioServer.model_validate(SERVER), StdioServer.model_validate({**SERVER, **change})
    assert approval_hash(one, "/srv") == approval_hash(StdioServer.model_validate(SERVER), "/srv")
    assert len({approval_hash(one, "/srv"), approval_hash(other, "/srv"), approval_hash(one, "/srv2")}) == 3


def test_the_folder_does_not_count_for_an_address() -> None:
    server = HttpServer.model_validate({"transport": "http", "url": "https://x.example/mcp"})
    assert approval_hash(server, "/a") == approval_hash(server, "/b")
