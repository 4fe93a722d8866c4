"""An MCP server that works on one thing at a time."""

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("processor")


class Item(TypedDict):
    """A thing to work on."""

    id: str
    weight: int


class Processed(TypedDict):
    """What has become of it."""

    id: str
    price: int


class Report(TypedDict):
    """How the work went."""

    processed: bool


@server.tool("run")
def run() -> Report:
    """Work on what is there."""
    return {"processed": True}


@server.tool("process")
def process(data: Item) -> Processed:
    """Work out the price of one thing."""
    return {"id": data["id"], "price": data["weight"] * 100}


if __name__ == "__main__":
    server.run()
