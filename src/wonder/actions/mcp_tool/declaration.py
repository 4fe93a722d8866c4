"""The declaration of `mcp_tool`."""

from typing import ClassVar

from wonder.actions.mcp_tool.record import McpTool
from wonder.definitions.kinds import Kind


class Declaration(Kind):
    """Calls a tool of an MCP server."""

    kind = "mcp_tool"
    configuration = McpTool
    summary = "calls a tool of an MCP server"
    gives = "the tool's structured content; else what its text says as JSON; else {text, content}"
    errors = (
        "BAD_ARGUMENTS",
        "BAD_RESULT",
        "MCP_BAD_DEFINITION",
        "MCP_HTTP_ERROR",
        "MCP_INPUT_REQUIRED",
        "MCP_NOT_INSTALLED",
        "MCP_OUTPUT_MISFIT",
        "MCP_OUTPUT_TOO_LARGE",
        "MCP_PROTOCOL_ERROR",
        "MCP_SERVER_LOST",
        "MCP_SERVER_NOT_ALLOWED",
        "MCP_SERVER_NOT_APPROVED",
        "MCP_SERVER_NOT_STARTED",
        "MCP_SESSION_GONE",
        "MCP_TASK_REQUIRED",
        "MCP_TIMEOUT",
        "MCP_TOOL_ERROR",
        "MCP_TOOL_UNKNOWN",
        "MCP_TOO_MANY_SERVERS",
    )
    references: ClassVar = {"mcp_server_id": "mcp_server"}
    at_work = "wonder.actions.mcp_tool.kind:McpToolKind"
