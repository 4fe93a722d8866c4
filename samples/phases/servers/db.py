"""An MCP server that stands for a database."""

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("db")


class Inserted(TypedDict):
    """What was written."""

    rows: int


@server.tool("insert")
def insert() -> Inserted:
    """Write a row."""
    return {"rows": 1}


if __name__ == "__main__":
    server.run()
