"""Servers of tools for tests: where to find them, and a pool to call them with."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.peers import node_program
from support.tasks import ORIGIN
from wonder.actions.mcp.connections import Connection, HttpConnection, StdioConnection
from wonder.actions.mcp.limits import Limits
from wonder.actions.mcp.pool import Pool
from wonder.actions.protocol import ActionContext

HOSTILE = Path(__file__).parent / "mcp_hostile.py"
_SCOPE = "@modelcontextprotocol"


def everything(*words: str) -> list[str]:
    """The command of the protocol's own server of examples."""
    return [*node_program(f"{_SCOPE}/server-everything/dist/index.js"), *(words or ("stdio",))]


def filesystem(*folders: Path) -> list[str]:
    """The command of the server of files."""
    return [*node_program(f"{_SCOPE}/server-filesystem/dist/index.js"), *map(str, folders)]


def python_server(module: str, *words: str) -> list[str]:
    """The command of a server that is a Python package."""
    return [sys.executable, "-m", module, *words]


def hostile(way: str, *words: str) -> list[str]:
    """The command of a server that misbehaves."""
    return [sys.executable, "-I", "-S", str(HOSTILE), way, *words]


def stdio(command: Iterable[str], name: str = "peer", **env: str) -> Connection:
    """The way to a server that is a command."""
    words = tuple(command)
    to = StdioConnection(words, {"PATH": os.environ["PATH"], **env}, str(Path.cwd()))
    return Connection(name, name, f"{name} {words} {env}", to, "project")


def http(url: str, name: str = "peer", *, allow_private: bool = True, **headers: str) -> Connection:
    """The way to a server over HTTP."""
    return Connection(name, name, f"{name} {url} {headers}", HttpConnection(url, headers, allow_private), "project")


def context(progress: list[Any] | None = None) -> ActionContext:
    """A context of an attempt without limits."""
    return ActionContext(ORIGIN, "step", 1, on_progress=None if progress is None else progress.append)


class Peers(Pool):
    """A pool with a shorter way of calling."""

    async def do(
        self, connection: Connection, tool: str = "do", progress: list[Any] | None = None, **input: Any
    ) -> Any:
        """Call a tool; what takes longer than two minutes hangs."""
        async with asyncio.timeout(120):
            return await self.call(connection, tool, input, context(progress))


@asynccontextmanager
async def peers(**limits: Any) -> AsyncIterator[Peers]:
    """A pool that is closed in the end, and leaves no process and no task behind."""
    before, others = asyncio.all_tasks(), children_of(os.getpid())
    pool = Peers(Limits(**{"start_seconds": 60.0, "stop_seconds": 10.0, **limits}))
    try:
        yield pool
    finally:
        await pool.close()
    assert children_of(os.getpid()) == others
    assert {task for task in asyncio.all_tasks() - before if task.get_name() != "hostile"} == set()


def children_of(pid: int) -> list[str]:
    """The processes that a process has started and that are still there, zombies too."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) == pid:
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found.append(f"{folder.name} {state} {words}")
            except (OSError, ProcessLookupError):
                continue  # it has just ended
    return [one for one in found if "postgres" not in one and "streamableHttp" not in one]


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
