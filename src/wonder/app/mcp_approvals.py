"""Approving MCP servers: which ones a definition needs, and what is remembered of who allowed them (RES-6)."""

import socket
from collections.abc import Collection, Mapping
from typing import Any

from wonder.actions.mcp.permission import folder_here
from wonder.app.callers import local_user
from wonder.app.phase_faults import read_phase_form
from wonder.app.project import OpenProject
from wonder.definitions.loading import Loaded
from wonder.definitions.records.resources import HttpServer, McpServer, StdioServer
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.records.workflows import Startable
from wonder.phases.needs import needs
from wonder.storage.mcp_approvals import forget_approvals, is_approved, put_approval, servers_of_workflow
from wonder.storage.own_resources import find_own_resource
from wonder.storage.resource_errors import NotFound as NotFound
from wonder.storage.tenancy import change_workspace_settings, load_workspace

Connections = Mapping[str, StdioServer | HttpServer]


def servers_in(loaded: Loaded) -> dict[str, StdioServer | HttpServer]:
    """Give the servers that a definition brings along, by their names."""
    found: dict[str, StdioServer | HttpServer] = dict(loaded.reading.bundle.mcp_servers)
    for form in loaded.phases.forms if loaded.phases else ():
        if workflow := read_phase_form(form).workflow:
            found |= workflow.mcp_servers
    return found


async def servers_named_by(project: OpenProject, workflow: Startable, version: int | None = None) -> list[str]:
    """Give the MCP servers that a workflow which is stored names itself."""
    return await servers_of_workflow(project.store, workflow.workflow_def_id, version or workflow.pinned_version)


def servers_named_in(loaded: Loaded) -> set[str]:
    """Give the names of servers that a definition uses and does not bring along."""
    named = {reference.name for reference in loaded.references if reference.kind == "mcp_server"}
    for form in loaded.phases.forms if loaded.phases else ():
        if workflow := read_phase_form(form).workflow:
            named |= {tool.connection_id for tool in needs(workflow).tools}
    return named - servers_in(loaded).keys()


async def stored_servers(app: OpenProject, names: Collection[str]) -> dict[str, StdioServer | HttpServer]:
    """Give those of the project's servers that have one of these names or ids, by their names."""
    found = [await _stored(app, name) for name in names]
    return {server.name: server.connection for server in found if server}


async def unapproved_commands(app: OpenProject, servers: Connections) -> dict[str, StdioServer]:
    """Give those servers that a run here would start and nobody has approved; not those that a list forbids anyhow."""
    allowed = (await load_workspace(app.store, app.home.workspace_id)).settings.allowed_mcp_servers
    folder, project_id = folder_here(), app.home.project_id
    return {
        name: connection
        for name, connection in servers.items()
        if isinstance(connection, StdioServer)
        and (allowed is None or name in allowed)
        and not await is_approved(app.store, project_id, connection, folder)
    }


async def approve(app: OpenProject, servers: Connections, folder: str | None = None) -> None:
    """Remember that these servers may be started or reached, as they are written and in this folder."""
    at = folder_here() if folder is None else folder
    for name, connection in servers.items():
        await put_approval(app.store, app.home.project_id, name, connection, at, by=_who(app), clock=app.clock)


async def approve_named(app: OpenProject, names: Collection[str], loaded: Loaded) -> None:
    """Approve servers by their names, of a file or else of the project; raises NotFound, and then approves none."""
    await approve(app, await servers_called(app, readable(loaded, names), servers_in(loaded)))


def readable(loaded: Loaded, names: Collection[str]) -> list[str]:
    """Leave out the names of servers that a file has and that can't be read: the file's own errors say why."""
    written: Any = loaded.document.value if loaded.document else None
    servers = loaded.phases.mcp_servers if loaded.phases else isinstance(written, dict) and written.get("mcp_servers")
    unreadable = servers.keys() - servers_in(loaded).keys() if isinstance(servers, dict) else ()
    return [name for name in names if name not in unreadable]


async def servers_called(
    app: OpenProject, names: Collection[str], in_file: Connections
) -> dict[str, StdioServer | HttpServer]:
    """Give servers by their names, of a file or else of the project; raises NotFound."""
    servers = {name: in_file[name] for name in names if name in in_file}
    for name in names:
        if name not in servers:
            server = await _stored(app, name)
            if server is None:
                raise NotFound("MCP server", name)
            servers[server.name] = server.connection
    return servers


async def allow_stored(
    app: OpenProject, name: str, *, folder: str | None = None, long_running: bool = False
) -> McpServer:
    """Approve a server and, for long-running processes, put it on the workspace's list; raises NotFound."""
    server = await _stored(app, name)
    if server is None:
        raise NotFound("MCP server", name)
    await approve(app, {server.name: server.connection}, folder)
    if long_running:
        await put_on_list(app, [server.name])
    return server


async def put_on_list(app: OpenProject, names: Collection[str]) -> None:
    """Put servers on the workspace's list, so that long-running processes may use them; a list of none becomes one."""

    def add(settings: WorkspaceSettings) -> WorkspaceSettings:
        listed = settings.allowed_mcp_servers or []
        return _with_list(settings, [*listed, *(name for name in names if name not in listed)])

    await change_workspace_settings(app.store, app.home.workspace_id, add, clock=app.clock)


async def forget(app: OpenProject, name: str) -> tuple[int, bool]:
    """Forget all approvals under a name and take it off the workspace's list; says how many, and if it was on it."""
    server = await _stored(app, name)
    names = {name} | ({server.name, server.id} if server else set())
    was_listed = False

    def remove(settings: WorkspaceSettings) -> WorkspaceSettings:
        nonlocal was_listed
        listed = settings.allowed_mcp_servers
        was_listed = listed is not None and not names.isdisjoint(listed)
        # A list that becomes empty stays one: null would allow more.
        return _with_list(settings, [one for one in listed or () if one not in names]) if was_listed else settings

    await change_workspace_settings(app.store, app.home.workspace_id, remove, clock=app.clock)
    forgotten = [await forget_approvals(app.store, app.home.project_id, one) for one in sorted(names)]
    return sum(forgotten), was_listed


async def _stored(app: OpenProject, name: str) -> McpServer | None:
    return await find_own_resource(app.store, McpServer, app.home.project_id, name)


def _with_list(settings: WorkspaceSettings, names: list[str]) -> WorkspaceSettings:
    return settings.model_copy(update={"allowed_mcp_servers": names})


def _who(app: OpenProject) -> str:
    """Name who approves, as their credential does, or this machine."""
    if app.caller is not None and app.caller.kind != "local":
        return app.caller.name
    return f"{local_user()}@{socket.gethostname()}"
