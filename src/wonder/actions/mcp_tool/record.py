"""What an `mcp_tool` takes."""

from wonder.definitions.records.fields import Identifier, Record


class McpTool(Record):
    """A tool of an MCP server."""

    mcp_server_id: Identifier
    tool_name: Identifier
