"""A server of tools over HTTP that misbehaves in the way that it is told; raw HTTP, nothing of the SDK."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

_OK = "application/json"
_EVENTS = "text/event-stream"


class HostileHttp:
    """What it was asked, and the way it answers calls of tools."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""
        self.session = 0
        self.given_up = 0

    def count(self, method: str) -> int:
        """How often a method of the protocol was asked for."""
        return sum(1 for _, _, body in self.requests if isinstance(body, dict) and body.get("method") == method)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                headers = {name.lower(): held.strip() for name, _, held in (line.partition(":") for line in lines)}
                text = await reader.readexactly(int(headers.get("content-length", 0)))
                body = json.loads(text) if text else None
                verb = first.split()[0]
                self.requests.append((verb, headers, body))
                await self.answer(writer, verb, headers, body)
                await writer.drain()
        writer.close()

    async def answer(self, writer: asyncio.StreamWriter, verb: str, headers: dict[str, str], body: Any) -> None:
        """Answer one request."""
        method, id = (body.get("method"), body.get("id")) if isinstance(body, dict) else (None, None)
        if verb == "GET":
            if self.way == "endless-reconnect":
                return self.send(writer, 200, b"retry: 0\nid: 1\ndata:\n\n", _EVENTS, close=True)
            return self.send(writer, 405)
        if verb == "DELETE":
            await asyncio.sleep(60 if self.way == "hangs-at-end" else 0)
            return self.send(writer, 200)
        if id is None:
            return self.send(writer, 202)
        if method == "initialize":
            self.session += 1
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "h", "version": "1"}
            return self.result(writer, id, result, f"mcp-session-id: s{self.session}\r\n")
        if method == "tools/list":
            return self.result(writer, id, {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]})
        return await self.call(writer, headers, id)

    async def call(self, writer: asyncio.StreamWriter, headers: dict[str, str], id: Any) -> None:
        """Answer a call in the way that was told."""
        match self.way:
            case "401" | "403" | "500" | "503" | "418":
                self.send(writer, int(self.way), b"<h1>no</h1>", "text/html")
            case "429":
                self.send(writer, 429, b"slow down", "text/plain", "retry-after: 7\r\n")
            case "session-gone":
                if headers["mcp-session-id"] == "s1":
                    self.send(writer, 404, b"{}")
                else:
                    self.result(writer, id, _said("again"))
            case "never":
                await asyncio.sleep(60)
            case "never-ending-events":
                self.start_events(writer)
                try:
                    while True:
                        writer.write(b": still here\n\n")
                        await writer.drain()
                        await asyncio.sleep(0.01)
                except ConnectionError:
                    self.given_up += 1
                    raise
            case "flood":
                self.start_events(writer)
                note = json.dumps(
                    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
                )
                while True:
                    writer.write(f"event: message\ndata: {note}\n\n".encode() * 100)
                    await writer.drain()
            case "giant-json":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
                while True:
                    writer.write(b" " * 100_000)
                    await writer.drain()
            case "giant-event":
                self.start_events(writer)
                writer.write(b"data: ")
                while True:
                    writer.write(b"x" * 100_000)
                    await writer.drain()
            case "cut-json":
                writer.write(
                    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"jsonrpc"'
                )
                writer.close()
            case "cut-event":
                self.start_events(writer)
                writer.write(b'event: message\ndata: {"jsonrpc":"2.0","id":')
                writer.close()
            case "no-event":
                self.start_events(writer)
                writer.close()
            case "drops":
                writer.close()
            case "redirects":
                self.send(writer, 307, extra="location: http://169.254.169.254/latest\r\n")
            case "wrong-type":
                self.send(writer, 200, b"hello", "text/plain")
            case "not-json":
                self.send(writer, 200, b"{{{", _OK)
            case "wrong-id":
                self.result(writer, 999, _said("not yours"))
            case "large-refusal":
                self.send(writer, 503, b"<p>no</p>" * 1_000_000, "text/html")
            case "accepted":
                self.send(writer, 202)
            case "gzip-bomb":
                packed = gzip.compress(b" " * 30_000_000)
                self.send(writer, 200, packed, _OK, "content-encoding: gzip\r\n")
            case "headers":
                self.result(writer, id, _said(json.dumps(headers)))
            case _:
                self.result(writer, id, _said("well"))

    def start_events(self, writer: asyncio.StreamWriter) -> None:
        """Begin a stream of events that ends with its connection."""
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {_EVENTS}\r\nconnection: close\r\n\r\n".encode())

    def result(self, writer: asyncio.StreamWriter, id: Any, result: Any, extra: str = "") -> None:
        """Answer as one should."""
        self.send(writer, 200, json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode(), _OK, extra)

    def send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        content: bytes = b"",
        kind: str = _OK,
        extra: str = "",
        *,
        close: bool = False,
    ) -> None:
        """Write a response."""
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n{extra}\r\n"
        writer.write(head.encode() + content)
        if close:
            writer.close()


def _said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@asynccontextmanager
async def hostile_http(way: str) -> AsyncIterator[HostileHttp]:
    """A server of its own on loopback."""
    it = HostileHttp(way)
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(it.serve(reader, writer), name="hostile")
        connections.add(task)
        task.add_done_callback(connections.discard)
        task.add_done_callback(lambda _: writer.close())

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    it.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield it
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
