"""A real HTTP server on loopback that answers as a test says, byte for byte, however wrong that is."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, None if it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Answer: TypeAlias = bytes | Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def answer(status: int = 200, body: bytes | str | Any = b"", **headers: str) -> bytes:
    """A proper answer; what is no bytes or text is written as JSON. Headers are spelled with `_` for `-`."""
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n{_lines(lines)}\r\n".encode() + content


@dataclass
class HttpPeer:
    """What was received, and what is answered, by the path of the target."""

    url: str = ""
    port: int = 0
    received: list[Received] = field(default_factory=list)
    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    connections: int = 0
    """How many were made so far."""
    open: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        try:
            while (received := await _receive(reader)) is not None:
                self.received.append(received)
                given = self.answers.get(received.target.partition("?")[0], answer(404, "nothing is here"))
                if isinstance(given, list):
                    given = given.pop(0) if len(given) > 1 else given[0]
                if isinstance(given, bytes):
                    writer.write(given)
                elif not await _unless_gone(given(received, writer), reader):
                    break
                await writer.drain()
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client has gone, or the test is over.
        finally:
            self.open -= 1
            writer.close()
            self._tasks.discard(task)

    async def end(self) -> None:
        """Let go of whoever is still being served."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def http_peer(tls: ssl.SSLContext | None = None, **answers: Answer | list[Answer]) -> AsyncIterator[HttpPeer]:
    """A server; `name=answer` answers the path `/name`."""
    peer = HttpPeer(answers={f"/{name}": given for name, given in answers.items()})
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    peer.url = f"{'https' if tls else 'http'}://127.0.0.1:{peer.port}"
    try:
        yield peer
    finally:
        server.close()
        await peer.end()
        await server.wait_closed()


async def _unless_gone(answering: Awaitable[None], reader: asyncio.StreamReader) -> bool:
    """Answer; False if the client has closed the connection before that was done."""
    task = asyncio.ensure_future(answering)
    try:
        while not task.done() and not reader.at_eof():
            await asyncio.wait([task], timeout=0.005)
        if task.done():
            await task
            return True
        return False
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _receive(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Received(method, target, headers, await reader.readexactly(length))


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\r\n" for line in lines)
