"""`mcp_tool`: a tool of an MCP server, over stdio or streamable HTTP (ACT-2)."""

from typing import TYPE_CHECKING, Final

from wonder.actions.equipment import Equipment
from wonder.actions.mcp.connections import Connection, connect
from wonder.actions.mcp_tool.declaration import Declaration
from wonder.actions.mcp_tool.record import McpTool
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.resources import Tenancy
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.resources import McpServer
from wonder.language.values import JsonValue

if TYPE_CHECKING:
    from wonder.actions.mcp.pool import Pool

# A change is heard of within this time; to look a server up with every call would cost more than many calls.
_FRESH_MS: Final = 1_000
_KNOWN_MAX: Final = 1_000


class McpToolKind(Declaration, ActionKind):
    """Keeps the sessions with servers; a server is started or reached by the first call, and by nothing else."""

    def __init__(self, equipment: Equipment, pool: "Pool | None" = None) -> None:
        self._resources, self._threads = equipment.resources, equipment.threads
        self._now_ms = equipment.now_ms
        self._pool = pool
        self._known: dict[tuple[str, str, str], tuple[int, Tenancy, Connection]] = {}

    @classmethod
    def made_with(cls, equipment: Equipment) -> "McpToolKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment)

    def compile(self, action: ActionDef, use: Use) -> "McpToolAction":
        """Make a call ready; its server is looked up each time, because that has no versions (RES-2)."""
        return McpToolAction(self, self.read(action))

    async def connection(self, project_id: str, server_id: str, run_id: str = "") -> Connection:
        """Give the way to a server as it was defined and allowed a moment ago at most.

        It is never older than its first use by the run: who changes a server and then starts a run sees the change.

        Raises NotFound, SecretMissing or ActionFailed.
        """
        tenancy = await self._resources.tenancy(project_id)
        now_ms, wanted = self._now_ms(), (project_id, server_id, run_id)
        if known := self._known.get(wanted):
            read_ms, under, connection = known
            if under is tenancy and 0 <= now_ms - read_ms < _FRESH_MS:
                return connection
        server = await self._resources.named(McpServer, project_id, server_id)
        connection = await connect(server, tenancy, self._resources, run_id or None)
        while len(self._known) >= _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[wanted] = (now_ms, tenancy, connection)
        return connection

    async def pool(self) -> "Pool":
        """Give the sessions; the SDK is loaded when they are first asked for, in a thread, for it takes a second."""
        if self._pool is None:
            made = await self._threads.call(_load)
            self._pool = self._pool or made(threads=self._threads)
        return self._pool

    async def close(self) -> None:
        """End all servers that were started here."""
        if self._pool:
            await self._pool.close()


class McpToolAction:
    """A call of one tool."""

    __slots__ = ("_kind", "_server", "_tool")

    def __init__(self, kind: McpToolKind, implementation: McpTool) -> None:
        self._kind = kind
        self._server, self._tool = implementation.mcp_server_id, implementation.tool_name

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Call the tool with the input as its arguments."""
        origin = context.origin
        connection = await self._kind.connection(origin.project_id, self._server, origin.run_id)
        pool = await self._kind.pool()
        return await pool.call(connection, self._tool, input, context)


def _load() -> "type[Pool]":
    try:
        from wonder.actions.mcp.pool import Pool  # the SDK takes a second to load
    except ModuleNotFoundError as error:
        message = f"MCP servers need the package {error.name!r}; install it with: pip install 'wonder-workflows[mcp]'"
        raise ActionFailed("MCP_NOT_INSTALLED", message) from error
    return Pool
