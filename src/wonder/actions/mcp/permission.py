"""Whether an MCP server may be used: what the workspace allows, and which commands somebody has approved (RES-6)."""

import json
import os
import shlex
from typing import Final

from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources, Tenancy
from wonder.definitions.records.resources import McpServer, StdioServer
from wonder.language.values import JsonValue, encode_json

_SHOWN: Final = 500


async def check_permitted(server: McpServer, tenancy: Tenancy, resources: Resources) -> None:
    """Refuse a server that may not be used here; raises ActionFailed."""
    check_listed(server, tenancy)
    if not resources.local and tenancy.workspace.allowed_mcp_servers is None:
        message = (
            f"the MCP server {server.name!r} is not allowed in a long-running process: allowed_mcp_servers of the "
            f"workspace is null; look at it with `wonder mcp list`, and allow it with: "
            f"{allow_command(server, long_running=True)}"
        )
        raise ActionFailed("MCP_SERVER_NOT_ALLOWED", message, details={"server": server.name})
    if isinstance(server.connection, StdioServer) and not await resources.has_approved(server, folder_here()):
        message = (
            f"the command of the MCP server {server.name!r} has not been approved in this folder: "
            f"{shown_command(server.connection)}; approve it with: {allow_command(server, long_running=False)}"
        )
        raise ActionFailed("MCP_SERVER_NOT_APPROVED", message, details={"server": server.name})


def check_listed(server: McpServer, tenancy: Tenancy) -> None:
    """Refuse a server that is not on its workspace's list, where there is one; raises ActionFailed."""
    allowed = tenancy.workspace.allowed_mcp_servers
    if allowed is not None and server.name not in allowed:
        listed: list[JsonValue] = [*allowed, server.name]
        words = ["wonder", "workspace", "set", "allowed_mcp_servers", encode_json(listed)]
        message = (
            f"the workspace does not allow the MCP server {server.name!r} (allowed: {', '.join(allowed) or 'none'}); "
            f"have an admin add it, or use another: {shlex.join(words)}"
        )
        raise ActionFailed("MCP_SERVER_NOT_ALLOWED", message, details={"server": server.name})


def folder_here() -> str:
    """Give the folder that commands are started in: the working directory of this process."""
    try:
        return os.getcwd()  # noqa: PTH109  # a text is hashed and shown, and the path is absolute already
    except OSError as error:
        message = (
            f"MCP servers are started in the working directory, which is gone: {error.strerror}; change to another"
        )
        raise ActionFailed("MCP_SERVER_NOT_STARTED", message) from None


def allow_command(server: McpServer, *, long_running: bool) -> str:
    """Give the command that allows a server, wherever it is typed."""
    words = ["wonder", "mcp", "allow", server.name]
    if long_running:
        words.append("--long-running")
    if isinstance(server.connection, StdioServer):
        words += ["--folder", folder_here()]
    return shlex.join(words)


def shown_command(connection: StdioServer) -> str:
    """Write a command for a message, cut where it is long."""
    written = ascii_json(list(connection.command))
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}... ({len(written):,} characters)"


def ascii_json(value: JsonValue) -> str:
    """Write a value as JSON in printable ASCII, so that nothing in it can pass for something else on a terminal."""
    return json.dumps(value).replace("\x7f", "\\u007f")
