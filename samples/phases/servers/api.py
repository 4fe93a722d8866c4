"""An MCP server that stands for somebody's API: things to fetch, a list of users, a job to start and look at."""

from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

server = MCPServer("api")


class Data(TypedDict):
    """What there is to fetch."""

    data: str


class User(TypedDict):
    """A user of the service."""

    id: str
    name: str
    email: str
    active: bool


class Users(TypedDict):
    """All users."""

    users: list[User]


class Item(TypedDict):
    """One thing of a batch."""

    id: str
    weight: int


class Batch(TypedDict):
    """Things that are worked on together."""

    batchId: str
    items: list[Item]


class Job(TypedDict):
    """Work that goes on elsewhere."""

    jobId: str
    done: bool


@server.tool("get-data")
def get_data() -> Data:
    """Give the data that a pipeline begins with."""
    return {"data": "raw"}


@server.tool("fetch")
def fetch() -> Data:
    """Give the data that several steps work on at once."""
    return {"data": "fetched"}


@server.tool("list-users")
def list_users() -> Users:
    """List all users, active or not."""
    return {
        "users": [
            {"id": "1", "name": "Ada", "email": "ada@example.org", "active": True},
            {"id": "2", "name": "Bob", "email": "bob@example.org", "active": False},
            {"id": "3", "name": "Cleo", "email": "cleo@example.org", "active": True},
        ]
    }


@server.tool("list")
def list_items() -> Batch:
    """List the things of today's batch."""
    return {"batchId": "b-7", "items": [{"id": "x", "weight": 3}, {"id": "y", "weight": 5}, {"id": "z", "weight": 8}]}


@server.tool("start")
def start() -> Job:
    """Start a job."""
    return {"jobId": "job-1", "done": False}


@server.tool("status")
def status() -> Job:
    """Look at the job."""
    return {"jobId": "job-1", "done": True}


if __name__ == "__main__":
    server.run()
