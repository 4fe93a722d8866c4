"""An MCP server of one's own: the orders of a day, and a till."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from typing_extensions import TypedDict

server = MCPServer("shop")


class Order(TypedDict):
    """What somebody owes."""

    id: str
    cents: int


class Orders(TypedDict):
    """The orders of a day."""

    orders: list[Order]


class Receipt(TypedDict):
    """What was charged."""

    id: str
    charged: int


@server.tool("list-orders")
def list_orders(day: str) -> Orders:
    """Give the orders of a day."""
    return {
        "orders": [{"id": f"{day}-a", "cents": 1250}, {"id": f"{day}-b", "cents": 0}, {"id": f"{day}-c", "cents": 300}]
    }


@server.tool("charge")
def charge(id: str, cents: int) -> Receipt:
    """Charge an order."""
    if cents > 100_000:
        # The text of a ToolError reaches the run; of any other exception, only that there was one.
        raise ToolError(f"{cents} cents are more than a card gives")
    return {"id": id, "charged": cents}


if __name__ == "__main__":
    server.run()
