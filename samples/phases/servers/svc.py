"""An MCP server with four ways to work on the same data, and one to bring the results together."""

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("svc")


class Result(TypedDict):
    """What one of the four gives."""

    xpto: str


class Whole(TypedDict):
    """All of it together."""

    summary: str


@server.tool("processB")
def process_b(data: str) -> Result:
    """Write it in capitals."""
    return {"xpto": data.upper()}


@server.tool("processC")
def process_c(data: str) -> Result:
    """Turn it round."""
    return {"xpto": data[::-1]}


@server.tool("processD")
def process_d(data: str) -> Result:
    """Count its letters."""
    return {"xpto": str(len(data))}


@server.tool("processE")
def process_e(data: str) -> Result:
    """Give it as it is."""
    return {"xpto": data}


@server.tool("aggregate")
def aggregate(fromB: str, fromC: str, original: str) -> Whole:  # noqa: N803  # the source's spelling
    """Bring three of them together."""
    return {"summary": f"{original}: {fromB}, {fromC}"}


if __name__ == "__main__":
    server.run()
