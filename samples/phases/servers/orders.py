"""An MCP server that processes an order; with ORDER_FAILS in its environment, it says why it could not."""

import os
from typing import NotRequired

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("orders")


class Customer(TypedDict):
    """Who ordered."""

    email: str


class Order(TypedDict):
    """What was ordered."""

    id: str
    cents: int


class Outcome(TypedDict):
    """An order and its customer, or an error."""

    success: bool
    order: NotRequired[Order]
    customer: NotRequired[Customer]
    error: NotRequired[str]
    orderId: NotRequired[str]


@server.tool("process")
def process() -> Outcome:
    """Process the next order."""
    if os.environ.get("ORDER_FAILS"):
        return {"success": False, "error": "the card was declined", "orderId": "o-1"}
    return {"success": True, "order": {"id": "o-1", "cents": 1250}, "customer": {"email": "ada@example.org"}}


if __name__ == "__main__":
    server.run()
