"""MCP servers of the project: which there are, their tools, and which of them may be used (RES-6)."""

from random import random
from typing import Any

from msgspec import UNSET, UnsetType

from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.mcp.permission import ascii_json as ascii_json
from wonder.actions.mcp.permission import folder_here
from wonder.actions.mcp.schemas import Tool
from wonder.actions.mcp_tool.kind import McpToolKind
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources
from wonder.actions.secrets.stored import StoredSecrets
from wonder.actions.threads import Threads
from wonder.app.application import Application
from wonder.app.mcp_approvals import allow_stored, forget
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.resources import McpServer, StdioServer
from wonder.errors import WonderError
from wonder.language.redaction import Redactor
from wonder.operations.archiving import declare_archiving
from wonder.operations.declaring import Input, NoInput, operation
from wonder.operations.outputs import Output
from wonder.storage import mcp_approvals as kept
from wonder.storage.named_lists import NamedFilter, list_named
from wonder.storage.pages import LIMIT
from wonder.storage.tables import table_of
from wonder.storage.tenancy import load_workspace


class ServerRecord(Output, frozen=True):
    """An MCP server; of its environment and headers the names only, because a token may stand in them."""

    id: str
    name: str
    transport: str
    allowed: str
    """Where the workspace's list allows it: `yes`, `no`, or `local runs` where there is no list."""
    approved_here: bool
    """Whether it may be started in this working directory."""
    command: list[str] | UnsetType = UNSET
    env: list[str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: list[str] | UnsetType = UNSET


class ServerPage(Output, frozen=True):
    """Some MCP servers, by name; `cursor` gets the next page, or is null at the end."""

    servers: list[ServerRecord]
    cursor: str | None


class ListServers(Input, frozen=True):
    """Which servers, and which page of them."""

    archived: bool = False
    """Only what is archived; otherwise only what is not."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("mcp.list", role="viewer")
async def list_servers(application: Application, given: ListServers) -> ServerPage:
    """List the MCP servers of the project; none is started."""
    store, project_id = application.store, application.home.project_id
    resources = _resources(application, Redactor())
    wanted = NamedFilter(archived=given.archived, limit=given.limit, cursor=given.cursor)
    page = await list_named(store, table_of(McpServer), project_id, wanted)
    listed = (await resources.tenancy(project_id)).workspace.allowed_mcp_servers
    folder = folder_here()
    found = [McpServer.model_validate(one.fields) for one in page.items]
    servers = [_server(one, listed, await resources.has_approved(one, folder)) for one in found]
    return ServerPage(servers=servers, cursor=page.cursor)


archive_server, restore_server = declare_archiving("mcp", "MCP server", table_of(McpServer))


class ServerUnreachable(WonderError):
    """A server can't be started or reached, or does not say which tools it has; the code says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]  # each failure of a server has its own


class OneServer(Input, frozen=True):
    """An MCP server, by its name or id."""

    server: str


class ToolRecord(Output, frozen=True):
    """A tool of an MCP server."""

    name: str
    description: str
    input_schema: Any
    output_schema: Any | UnsetType = UNSET


class ServerTools(Output, frozen=True):
    """The tools of an MCP server."""

    server: str
    tools: list[ToolRecord]


@operation("mcp.tools", role="author", changes=True)
async def list_tools(application: Application, given: OneServer) -> ServerTools:
    """Start or reach an MCP server that was approved, and show its tools."""
    redactor, threads = Redactor(), Threads()
    resources, clock = _resources(application, redactor), SYSTEM_CLOCK
    equipment = Equipment(FunctionRegistry(), threads, resources, clock.now_ms, clock.sleep, random)
    kind = McpToolKind(equipment)
    try:
        connection = await kind.connection(application.home.project_id, given.server)
        found = await (await kind.pool()).tools(connection)
    except ActionFailed as failure:
        raise ServerUnreachable(failure.code, redactor.text(failure.message)) from None
    finally:
        await kind.close()
        threads.close()
    shown: Any = redactor.value([_tool(tool) for tool in found])
    return ServerTools(server=given.server, tools=[ToolRecord(**tool) for tool in shown])


class ApprovalRecord(Output, frozen=True):
    """An approval of one command, with its environment and the folder that it is started in, or of one address."""

    name: str
    what: str
    folder: str | None
    approved_by: str
    approved_at: str
    hash: str


class ApprovalList(Output, frozen=True):
    """What was approved."""

    approvals: list[ApprovalRecord]


@operation("mcp.approvals", role="viewer")
async def list_approvals(application: Application, given: NoInput) -> ApprovalList:
    """List which MCP servers were approved, by whom and when."""
    approvals = await kept.list_approvals(application.store, application.home.project_id)
    return ApprovalList(
        approvals=[
            ApprovalRecord(
                name=one.name,
                what=one.what,
                folder=one.folder,
                approved_by=one.approved_by,
                approved_at=one.approved_at,
                hash=one.hash,
            )
            for one in approvals
        ]
    )


class AllowServer(Input, frozen=True):
    """A server to approve as it is stored now."""

    server: str
    folder: str | None = None
    """The working directory of the process that is going to start it; this one's if it is null."""
    long_running: bool = False
    """Whether to put it on allowed_mcp_servers of the workspace, so that long-running processes may use it."""


class AllowedServer(Output, frozen=True):
    """A server that was approved."""

    server: str
    approved: bool
    what: str
    """Its command or address."""
    is_command: bool
    allowed_mcp_servers: list[str] | None
    list_is_new: bool
    """Whether the workspace had no list before: from now on runs may use the listed servers only."""


@operation("mcp.allow", role="admin", changes=True, reach="workspace")
async def allow_server(application: Application, given: AllowServer) -> AllowedServer:
    """Approve an MCP server as it is stored now; it is not started."""
    before = await _listed(application)
    server = await allow_stored(
        application, given.server, folder=given.folder or folder_here(), long_running=given.long_running
    )
    connection, after = server.connection, await _listed(application)
    is_command = isinstance(connection, StdioServer)
    what = ascii_json(list(connection.command)) if isinstance(connection, StdioServer) else ascii_json(connection.url)
    return AllowedServer(
        server=server.name,
        approved=True,
        what=what,
        is_command=is_command,
        allowed_mcp_servers=after,
        list_is_new=before is None and after is not None,
    )


class ForgottenServer(Output, frozen=True):
    """What was taken back of a server's approvals."""

    server: str
    forgotten: int
    taken_off_list: bool


@operation("mcp.forget", role="admin", changes=True, reach="workspace")
async def forget_server(application: Application, given: OneServer) -> ForgottenServer:
    """Take back all approvals of an MCP server."""
    forgotten, was_listed = await forget(application, given.server)
    return ForgottenServer(server=given.server, forgotten=forgotten, taken_off_list=was_listed)


def _resources(application: Application, redactor: Redactor) -> Resources:
    # A person asks for it, and not a definition.
    secrets = StoredSecrets(application.store, application.keys, redactor, SYSTEM_CLOCK.now_ms, local=True)  # type: ignore[arg-type]  # opened with keys
    return Resources(application.store, SYSTEM_CLOCK.now_ms, secrets, local=True)


async def _listed(application: Application) -> list[str] | None:
    return (await load_workspace(application.store, application.home.workspace_id)).settings.allowed_mcp_servers


def _server(server: McpServer, listed: list[str] | None, is_approved: bool) -> ServerRecord:
    connection = server.connection
    allowed = "local runs"
    if listed is not None:
        allowed = "yes" if server.name in listed else "no"
    return ServerRecord(
        id=server.id,
        name=server.name,
        transport=connection.transport,
        allowed=allowed,
        approved_here=is_approved,
        command=list(connection.command) if isinstance(connection, StdioServer) else UNSET,
        env=sorted(connection.env) if isinstance(connection, StdioServer) else UNSET,
        url=UNSET if isinstance(connection, StdioServer) else connection.url,
        headers=UNSET if isinstance(connection, StdioServer) else sorted(connection.headers),
    )


def _tool(tool: Tool) -> dict[str, Any]:
    shown = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return {**shown, "output_schema": tool.output_schema} if tool.output_schema else shown
