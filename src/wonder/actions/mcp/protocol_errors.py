"""What the SDK raises, as losses that say what it was, and whether another attempt may fix it."""

from mcp.shared.exceptions import MCPError
from mcp_types import PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from wonder.actions.mcp.connections import Connection, StdioConnection
from wonder.actions.mcp.losses import Loss, broken, shown
from wonder.language.values import JsonValue


def error_loss(error: MCPError, server: str, what: str, seconds: float) -> Loss:
    """Say what an error means to a call that wanted something, `what`, within so many seconds."""
    details: dict[str, JsonValue] = {"server": server, "code": error.code}
    if error.code == REQUEST_TIMEOUT:
        message = f"the MCP server {server!r} did not give {what} within {seconds:g} s"
        return Loss("MCP_TIMEOUT", message, details=details, names=("TimeoutError",))
    if error.code == PARSE_ERROR:
        return broken(server, shown(error.message))
    message = f"the MCP server {server!r} refused {what}: {shown(error.message)}"
    return Loss("MCP_TOOL_ERROR", message, retryable=False, details=details)


def not_started(connection: Connection, reason: str) -> Loss:
    """Say that a command can't be started."""
    assert isinstance(connection.to, StdioConnection)
    command, server = connection.to.command[0], connection.name
    message = f"the command {command!r} of the MCP server {server!r} can't be started: {reason}"
    message += "; install it on the machine that runs the engine, or correct the server's command"
    return Loss("MCP_SERVER_NOT_STARTED", message, retryable=False, details={"server": server})


def first_fault(error: ValidationError) -> str:
    """Give the first thing that is wrong with a message, without what it held."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
