"""What the tools of MCP servers take and give: as they said when they were asked, or asked for now (PHS-4).

To ask a server, its command is started or its address reached. Neither that a file names it nor that the project has it
is enough for that: somebody must have approved just this command or address (RES-6).
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import random
from typing import TYPE_CHECKING, Any, TypeVar

from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.mcp.connections import connect
from wonder.actions.mcp.permission import ascii_json, check_listed, folder_here, shown_command
from wonder.actions.mcp.unsupported import why_only_as_task
from wonder.actions.mcp_tool.kind import McpToolKind
from wonder.actions.resources import Resources
from wonder.actions.secrets.stored import StoredSecrets
from wonder.actions.threads import Threads
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.resources import HttpServer, McpServer, StdioServer
from wonder.errors import WonderError
from wonder.language.redaction import Redactor
from wonder.language.schemas import closest
from wonder.language.values import JsonValue, check_value
from wonder.phases.known import ToolName, ToolSchemas, Unchecked
from wonder.storage.own_resources import find_own_resource
from wonder.storage.store import NewId, Store, UtcNow
from wonder.storage.tool_schemas import Tools, load_tool_schemas, put_tool_schemas

if TYPE_CHECKING:
    from wonder.actions.mcp.schemas import Tool
    from wonder.storage.secret_keys import KeySource

Servers = Mapping[str, StdioServer | HttpServer]
KnownTools = dict[ToolName, ToolSchemas | Unchecked | str]
"""What is known of each tool, or why nothing is."""

_NAMED_MAX = 20
_AT_ONCE = 16

T = TypeVar("T")


class ToolDirectory:
    """The tools of one project's servers; `local` as in Resources, and `for_runs` where runs use them next."""

    def __init__(
        self,
        store: Store,
        project_id: str,
        *,
        clock: UtcNow,
        new_id: NewId,
        keys: "Callable[[], KeySource] | None" = None,
        kind: McpToolKind | None = None,
        local: bool = False,
        for_runs: bool = False,
    ) -> None:
        self._store, self._project_id, self._clock, self._new_id = store, project_id, clock, new_id
        self._kind, self._for_runs = kind, for_runs
        self.ids: dict[str, str] = {}
        """The ids under which new servers were asked: stored under them, they need not be started again to be used."""
        self._redactor = Redactor()
        secrets = StoredSecrets(store, keys, self._redactor, SYSTEM_CLOCK.now_ms, local=local) if keys else None
        self._resources = Resources(store, SYSTEM_CLOCK.now_ms, secrets, local=local)

    async def schemas(self, wanted: Iterable[ToolName], in_file: Servers, *, anew: bool = False) -> KnownTools:
        """Give what each tool takes and gives, or why that can't be known.

        `in_file` are the servers that a file brings along, which count before the project's of the same name. `anew`
        asks servers again that were asked before. Those that an engine's `kind` starts go on running in it, the others
        are ended.
        """
        by_server: dict[str, list[str]] = {}
        for tool in wanted:
            by_server.setdefault(tool.connection_id, []).append(tool.tool_name)
        async with _Asking(self._resources, self._kind) as asking:
            found = await all_of(
                self._of_server(name, names, in_file, asking, anew) for name, names in by_server.items()
            )
        return {
            ToolName(server, name): _schemas(server, name, tools)
            for (server, names), tools in zip(by_server.items(), found, strict=True)
            for name in names
        }

    async def _of_server(
        self, name: str, wanted: list[str], in_file: Servers, asking: "_Asking", anew: bool
    ) -> Tools | Unchecked | str:
        own = await self._own(name)
        connection = in_file.get(name) or (own.connection if own else None)
        if connection is None:
            near = closest(name, list(in_file))
            hint = f"did you mean {near!r}?" if near else "add it to mcp_servers"
            return f"there is no MCP server {name!r} in the file or the project; {hint}"
        known = None if anew else await load_tool_schemas(self._store, self._project_id, connection)
        if known is not None and known.keys() >= set(wanted):
            return known
        server = self._as_stored(name, connection, own)
        try:
            if not await self._may_be_asked(server, is_own=own is not None and own.connection == connection):
                return _not_asked(server)
            tools = {tool.name: self._said(tool) for tool in await asking.tools(server)}
        except WonderError as error:
            return self._redactor.text(str(error))
        await put_tool_schemas(self._store, self._project_id, connection, tools, clock=self._clock)
        return tools

    async def _may_be_asked(self, server: McpServer, *, is_own: bool) -> bool:
        """Say whether a server may be started or reached to be asked; raises ActionFailed where a list forbids it."""
        tenancy = await self._resources.tenancy(self._project_id)
        check_listed(server, tenancy)
        is_local, has_list = self._resources.local, tenancy.workspace.allowed_mcp_servers is not None
        if await self._resources.has_approved(server, folder_here()):
            return is_local or has_list
        # An address needs no approval where a run that begins now, or any of this process, would reach it anyhow.
        is_reached_anyhow = self._for_runs and isinstance(server.connection, HttpServer)
        return is_reached_anyhow and (is_local or (has_list and is_own))

    def _said(self, tool: "Tool") -> dict[str, Any]:
        # A server knows its secrets, and may write them anywhere.
        schemas: dict[str, Any] = {"input": tool.input_schema, "output": tool.output_schema}
        said: Any = self._redactor.value({**schemas, "only_as_task": tool.only_as_task})
        return said  # type: ignore[no-any-return]  # as it was given

    def _as_stored(self, name: str, connection: StdioServer | HttpServer, own: McpServer | None) -> McpServer:
        """Give a server as it is going to be stored, if it is."""
        if own is not None:
            return own.model_copy(update={"connection": connection})
        id, now = self.ids.setdefault(name, self._new_id()), self._clock()
        return McpServer(
            id=id, project_id=self._project_id, name=name, connection=connection, created_at=now, updated_at=now
        )

    async def _own(self, name: str) -> McpServer | None:
        return await find_own_resource(self._store, McpServer, self._project_id, name)


class _Asking:
    """Starts servers to ask them, all for one question; those that no engine keeps are ended after it."""

    def __init__(self, resources: Resources, kind: McpToolKind | None) -> None:
        self._resources = resources
        self._threads = Threads()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._kept = kind
        self._kind = kind or McpToolKind(
            Equipment(FunctionRegistry(), self._threads, resources, SYSTEM_CLOCK.now_ms, SYSTEM_CLOCK.sleep, random)
        )

    async def __aenter__(self) -> "_Asking":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._kept is None:
            await self._kind.close()
        self._threads.close()

    async def tools(self, server: McpServer) -> "list[Tool]":
        """Ask a server; raises ActionFailed."""
        tenancy = await self._resources.tenancy(server.project_id)
        connection = await connect(server, tenancy, self._resources)
        async with self._places:
            return await (await self._kind.pool()).tools(connection)


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all of it, also behind something that fails: nothing goes on when this has ended."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _schemas(server: str, name: str, tools: Tools | Unchecked | str) -> ToolSchemas | Unchecked | str:
    if isinstance(tools, str | Unchecked):
        return tools
    said = tools.get(name)
    if said is None:
        near = closest(name, list(tools))
        there = ", ".join(sorted(tools)[:_NAMED_MAX]) or "none"
        hint = f"did you mean {near!r}?" if near else f"it has: {there}"
        return f"the MCP server {server!r} has no tool {name!r}; {hint}"
    if said.get("only_as_task"):
        return why_only_as_task(server, name)
    for side in ("input", "output"):
        if said[side] is not None and (fault := _fault(said[side])):
            return f"the {side} schema of the tool {name!r} of the MCP server {server!r} can't be used: {fault}"
    return ToolSchemas(said["input"], said["output"])


def _fault(schema: JsonValue) -> str | None:
    """Say why a schema is not even JSON; one that Wonder can't use as a schema is for the phases to judge."""
    try:
        check_value(schema)
    except WonderError as error:
        return str(error)
    return None


def _not_asked(server: McpServer) -> Unchecked:
    if isinstance(server.connection, StdioServer):
        way = f"start its command: {shown_command(server.connection)}"
    else:
        way = f"reach it at {ascii_json(server.connection.url)}"
    return Unchecked(
        f"the MCP server {server.name!r} is not approved, and to ask it for its tools would {way}",
        f"look at that, and add --allow-mcp {shlex.quote(server.name)} (in Python: allow_mcp=[{server.name!r}]) "
        "if you trust it",
    )
