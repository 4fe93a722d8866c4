"""An MCP server that would send mail; called `email` in the samples, which no module of Python's may be."""

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("email")


class Sent(TypedDict):
    """How much was sent."""

    sent: int


@server.tool("send")
def send(recipients: list[str]) -> Sent:
    """Send the same mail to everybody."""
    return {"sent": len(recipients)}


@server.tool("send-batch")
def send_batch(recipients: list[str]) -> Sent:
    """Send a mail to each."""
    return {"sent": len(recipients)}


@server.tool("confirm")
def confirm(to: str, subject: str) -> Sent:
    """Send one mail."""
    return {"sent": 1 if to and subject else 0}


if __name__ == "__main__":
    server.run()
