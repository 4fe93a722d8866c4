"""Approvals of MCP servers: which commands somebody has agreed to start, bound to their content (RES-6)."""

from hashlib import sha256

from msgspec import Struct

from wonder.definitions.records.resources import HttpServer, StdioServer
from wonder.language.values import canonical_json, encode_json
from wonder.storage.store import Reader, Store, UtcNow


class Approval(Struct, frozen=True):
    """What was approved, by whom and when; `folder` is None for a server that is reached over HTTP."""

    hash: str
    name: str
    what: str
    folder: str | None
    approved_by: str
    approved_at: str


def approval_hash(connection: StdioServer | HttpServer, folder: str) -> str:
    """Hash all that decides what happens when a server is used.

    That is its transport, command and environment as they are written, where secrets are still names, and the folder
    that it is started in: `python server.py` is another program in another folder. For HTTP: its address and headers.
    """
    content = connection.model_dump(by_alias=True)
    if isinstance(connection, StdioServer):
        content["folder"] = folder
    return sha256(canonical_json(content).encode()).hexdigest()


async def is_approved(reader: Reader, project_id: str, connection: StdioServer | HttpServer, folder: str) -> bool:
    """Say whether somebody has approved exactly this server in this folder."""
    return bool(await reader.fetch("mcp_approval", project_id, approval_hash(connection, folder)))


async def put_approval(
    store: Store,
    project_id: str,
    name: str,
    connection: StdioServer | HttpServer,
    folder: str,
    *,
    by: str,
    clock: UtcNow,
) -> None:
    """Remember that a server was approved; one that is approved already stays as it is."""
    is_command = isinstance(connection, StdioServer)
    what = encode_json(list(connection.command)) if isinstance(connection, StdioServer) else connection.url
    of_folder = folder if is_command else None
    row = (project_id, approval_hash(connection, folder), name, what, of_folder, by, clock())
    await store.commit([("put_mcp_approval", [row])])


async def list_approvals(reader: Reader, project_id: str) -> list[Approval]:
    """List all approvals of a project, by the names that the servers had."""
    rows = await reader.fetch_named("mcp_approvals", project_id)
    return [
        Approval(
            hash=str(row["approval_hash"]),
            name=str(row["name"]),
            what=str(row["what"]),
            folder=None if row["folder"] is None else str(row["folder"]),
            approved_by=str(row["approved_by"]),
            approved_at=str(row["approved_at"]),
        )
        for row in rows
    ]


async def forget_approvals(store: Store, project_id: str, name: str) -> int:
    """Forget all approvals that were given under a name, and say how many there were."""
    async with store.transaction() as transaction:
        return await transaction.execute("forget_mcp_approvals", project_id, name)


async def servers_of_workflow(reader: Reader, definition_id: str, version: int | None) -> list[str]:
    """Give the MCP servers that a workflow names itself, by id or name; the newest version if none is given."""
    return [str(row[0]) for row in await reader.fetch("servers_of_workflow", definition_id, version)]
