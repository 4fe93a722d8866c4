"""Messages on their way between a session and a server's command: one JSON text a line."""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from wonder.actions.mcp.limits import Limits, Pace

_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,15})\b')
_EDGE: Final = 200
_LINE_COSTS: Final = 64  # of memory, so that many short lines count too


class Owed:
    """How many answers a server owes us: any other message of its own making is noise, and slowed down."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers = 0

    def note_sent(self, message: SessionMessage) -> None:
        """Count a request."""
        if isinstance(message.message, JSONRPCRequest):
            self.answers += 1

    def is_noise(self, message: SessionMessage | Exception) -> bool:
        """Say whether nobody has asked for a message."""
        is_answer = isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse | JSONRPCError)
        if is_answer and self.answers:
            self.answers -= 1
            return False
        return True


class Incoming:
    """The lines of a server as messages, for a session to read."""

    def __init__(self, limits: Limits, owed: Owed, on_garbage: Callable[[bytes], None]) -> None:
        self._limits, self._owed, self._on_garbage = limits, owed, on_garbage
        self._pace = Pace(limits)
        self._lines: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._has_ended = False
        self.waiting_bytes = 0
        self.on_read: Callable[[], None] = lambda: None

    def put(self, line: bytes) -> None:
        """Add a line."""
        if not self._has_ended:
            self._lines.append(line)
            self.waiting_bytes += len(line) + _LINE_COSTS
            self._wake()

    def end(self) -> None:
        """Say that nothing more comes; what is there can still be read."""
        self._has_ended = True
        self._wake()

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message; raises EndOfStream."""
        while True:
            line = await self._line()
            message = _parse(line)
            is_noise = self._owed.is_noise(message)
            await self._pace.take(len(line) + (self._limits.noise_bytes if is_noise else 0))
            if isinstance(message, SessionMessage):
                return message
            self._on_garbage(line)

    async def _line(self) -> bytes:
        if self._lines:
            # What was read before has been handed to a task of its own, which must get its turn.
            await asyncio.sleep(0)
        while not self._lines:
            if self._has_ended:
                raise anyio.EndOfStream
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        line = self._lines.popleft()
        self.waiting_bytes -= len(line) + _LINE_COSTS
        self.on_read()
        return line

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def aclose(self) -> None:
        """Read no more."""
        self._lines.clear()
        self.end()

    def __aiter__(self) -> "Incoming":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Incoming":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outgoing:
    """What a session sends to a server; it never waits for one that does not read."""

    def __init__(self, owed: Owed, write: Callable[[bytes], bool]) -> None:
        self._owed, self._write = owed, write

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; raises ClosedResourceError."""
        self._owed.note_sent(item)
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if not self._write(line):
            raise anyio.ClosedResourceError

    async def aclose(self) -> None:
        """Send no more; the server is told by who started it."""

    async def __aenter__(self) -> "Outgoing":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        # If it seems to be an answer, the caller that waits for it should get the error at once.
        found = _ID.search(line[:_EDGE]) or _ID.search(line[-_EDGE:])
        if found is None or not line.lstrip().startswith(b"{"):
            return error
        told = ErrorData(code=PARSE_ERROR, message="its answer is not a JSON-RPC message")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=told))
