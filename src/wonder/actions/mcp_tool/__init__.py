"""`mcp_tool`: calls a tool of an MCP server."""
