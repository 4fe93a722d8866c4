"""Servers that are spoken to over HTTP: each request bounded, and what fails told to its own call alone.

The SDK ends a whole session when one request fails below HTTP, and forgets the status of one that was refused. So
whatever goes wrong is made an answer here: a JSON-RPC error that names a loss, which `loss_of` finds again.
"""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from itertools import count
from typing import Any, Final, cast

import anyio
import httpx2
import msgspec
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from wonder.actions.http.client import CONNECT_SECONDS, GuardedTransport
from wonder.actions.mcp.answers import RETRYABLE, Cancelled, Envelope, is_answer, is_error, plain_headers, status_loss
from wonder.actions.mcp.connections import HttpConnection
from wonder.actions.mcp.limits import Limits, Pace
from wonder.actions.mcp.losses import Loss, broken, lost, shown
from wonder.actions.protocol import ActionFailed

SESSION_GONE: Final = "MCP_SESSION_GONE"
"""The code of a loss that only says that the server knows the session no more: a new one can do what was asked."""

_LOSS: Final = "wonder_loss"
_REFUSED_BYTES: Final = 100_000
_QUOTED_BYTES: Final = 200
_ASIDE_SECONDS: Final = 5.0
_LISTEN_SECONDS: Final = 1.0
_LOSSES_MAX: Final = 1_000
_JSON: Final = "application/json"
_EVENT_ENDS: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")


@asynccontextmanager
async def http_streams(
    connection: HttpConnection, server: str, limits: Limits, losses: dict[int, Loss]
) -> AsyncIterator[tuple[Any, Any]]:
    """Give what a session talks to a server by; `losses` gets what went wrong."""
    guarded = GuardedTransport(allow_private=connection.allow_private, body_max=None)
    timeout = httpx2.Timeout(limits.call_seconds, connect=CONNECT_SECONDS)
    async with (
        httpx2.AsyncClient(
            transport=Wire(guarded, server, limits, losses),
            headers=connection.headers,
            timeout=timeout,
            trust_env=False,
        ) as client,
        streamable_http_client(
            connection.url, http_client=client, max_sse_event_size=limits.answer_bytes + _REFUSED_BYTES
        ) as streams,
    ):
        yield streams


def loss_of(error: MCPError, losses: dict[int, Loss]) -> Loss | None:
    """Find the loss that an error of the SDK stands for."""
    number = error.data.get(_LOSS) if isinstance(error.data, dict) else None
    return losses.pop(number, None) if isinstance(number, int) else None


class _Call:
    """One request on its way, which can be given up."""

    def __init__(self) -> None:
        self.scope: anyio.CancelScope | None = None
        self.is_given_up = False

    def give_up(self) -> None:
        self.is_given_up = True
        if self.scope:
            self.scope.cancel()


class Wire(httpx2.AsyncBaseTransport):
    """Sends the requests of one session."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: str, limits: Limits, losses: dict[int, Loss]) -> None:
        self._inner, self._server, self._limits, self._losses = inner, server, limits, losses
        self._pace = Pace(limits)
        self._calls: dict[int | str, _Call] = {}
        self._numbers = count()
        self._listened = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; one that is a call of the protocol is always answered."""
        if request.method == "POST":
            message = msgspec.json.decode(await request.aread(), type=Envelope)
            if message.id is not None and message.method is not None:
                return await self._call(request, message.id)
            if message.method == "notifications/cancelled":
                self._give_up(message)
        elif request.method == "GET":
            # A server can end its stream at once and ask to be called again at once.
            await asyncio.sleep(max(0.0, self._listened + _LISTEN_SECONDS - time.monotonic()))
            self._listened = time.monotonic()
            response = await self._inner.handle_async_request(request)
            response.stream = _Events(self, None, cast("AsyncIterable[bytes]", response.stream))
            return response
        seconds = self._limits.stop_seconds if request.method == "DELETE" else _ASIDE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                response = await self._inner.handle_async_request(request)
                await self._beginning(response)
        except (httpx2.TransportError, ActionFailed, TimeoutError):
            return httpx2.Response(HTTPStatus.BAD_GATEWAY)
        return httpx2.Response(response.status_code, headers=plain_headers(response.headers))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _call(self, request: httpx2.Request, id: int | str) -> httpx2.Response:
        call = self._calls[id] = _Call()
        is_stream = False
        try:
            with anyio.CancelScope() as call.scope:
                response = await self._inner.handle_async_request(request)
                if response.status_code >= 400:
                    return await self._refused(request, response, id)
                kind = response.headers.get("content-type", "").lower()
                if is_stream := kind.startswith("text/event-stream"):
                    response.stream = _Events(self, id, cast("AsyncIterable[bytes]", response.stream))
                    return response
                content = await self._read(response)
                if response.status_code == HTTPStatus.OK and kind.startswith(_JSON) and not is_answer(content, id):
                    said = shown(content[:_QUOTED_BYTES].decode("utf-8", "replace"))
                    return self._answer(id, broken(self._server, f"what it answers is no answer to that: {said}"))
                return httpx2.Response(response.status_code, headers=plain_headers(response.headers), content=content)
            return self._answer(id, self._given_up())
        except (httpx2.TransportError, ActionFailed) as error:
            return self._answer(id, self._loss(error))
        finally:
            call.scope = None
            if not is_stream:
                self._forget(id)

    def _give_up(self, message: Envelope) -> None:
        named = msgspec.json.decode(message.params, type=Cancelled).requestId
        if named is not None and (call := self._calls.get(named)):
            call.give_up()

    def _forget(self, id: int | str | None) -> None:
        if id is not None:
            self._calls.pop(id, None)

    async def _read(self, response: httpx2.Response) -> bytes:
        parts, size = [], 0
        async with aclosing(response):
            async for part in cast("AsyncIterable[bytes]", response.stream):
                size += len(part)
                if size > self._limits.answer_bytes:
                    raise self._too_large().failure()
                parts.append(part)
                await self._pace.take(len(part))
        return b"".join(parts)

    async def _beginning(self, response: httpx2.Response) -> bytes:
        beginning = b""
        async with aclosing(response):
            async for part in cast("AsyncIterable[bytes]", response.stream):
                beginning += part
                if len(beginning) > _REFUSED_BYTES:
                    break
        return beginning

    async def _refused(self, request: httpx2.Request, response: httpx2.Response, id: int | str) -> httpx2.Response:
        status = response.status_code
        content = await self._beginning(response)
        text = shown(content.decode("utf-8", "replace"))
        if MCP_SESSION_ID in request.headers and (status == 404 or (status == 400 and "session" in text.lower())):
            return self._answer(id, Loss(SESSION_GONE, f"the MCP server {self._server!r} has ended the session"))
        if status < 500 and status not in (401, 403, *RETRYABLE) and is_error(content):
            return httpx2.Response(status, headers=plain_headers(response.headers), content=content)
        return self._answer(id, status_loss(self._server, response, text))

    def _answer(self, id: int | str, loss: Loss) -> httpx2.Response:
        headers = {"content-type": _JSON}
        return httpx2.Response(HTTPStatus.BAD_GATEWAY, headers=headers, content=self._error(id, loss))

    def _error(self, id: int | str, loss: Loss) -> bytes:
        number = next(self._numbers)
        self._losses[number] = loss
        # Nobody asks for the reason of a call that was given up.
        self._losses.pop(number - _LOSSES_MAX, None)
        error = {"code": CONNECTION_CLOSED, "message": loss.message, "data": {_LOSS: number}}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": error})

    def _loss(self, error: httpx2.TransportError | ActionFailed) -> Loss:
        if isinstance(error, ActionFailed):
            message = f"the MCP server {self._server!r} can't be used: {error.message}"
            return Loss(error.code, message, error.retryable, {"server": self._server, **error.details})
        if isinstance(error, httpx2.TimeoutException):
            return lost(self._server, "it did not answer in time")
        return lost(self._server, f"{type(error).__name__}: {shown(str(error))}")

    def _too_large(self) -> Loss:
        message = f"the answer of the MCP server {self._server!r} has more than {self._limits.answer_bytes:,} bytes"
        return Loss("MCP_OUTPUT_TOO_LARGE", f"{message}, the limit; ask for less", retryable=False)

    def _given_up(self) -> Loss:
        return lost(self._server, "the call was given up")


class _Events(httpx2.AsyncByteStream):
    """A stream of events, passed on whole: one that was cut, or never ends, is not taken for one."""

    def __init__(self, wire: Wire, id: int | str | None, stream: AsyncIterable[bytes]) -> None:
        self._wire, self._id, self._stream = wire, id, stream
        self._call = wire._calls.get(id) if id is not None else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        wire, held, parts = self._wire, bytearray(), aiter(self._stream)
        loss: Loss | None = None
        while loss is None:
            try:
                part = await self._next(parts)
            except (httpx2.TransportError, ActionFailed) as error:
                loss = wire._loss(error)
                break
            if part is None:
                loss = wire._given_up() if self._call and self._call.is_given_up else None
                break
            await wire._pace.take(len(part))
            searched = max(0, len(held) - 3)
            held += part
            ends = [place + len(end) for end in _EVENT_ENDS if (place := held.rfind(end, searched)) >= 0]
            if ends:
                yield bytes(held[: max(ends)])
                del held[: max(ends)]
            if len(held) > wire._limits.answer_bytes:
                loss = wire._too_large()
        if loss and self._id is not None:
            yield b"event: message\ndata: " + wire._error(self._id, loss) + b"\n\n"

    async def _next(self, parts: AsyncIterator[bytes]) -> bytes | None:
        with anyio.CancelScope() as scope:
            if self._call:
                if self._call.is_given_up:
                    return None
                self._call.scope = scope
            return await anext(parts, None)
        return None

    async def aclose(self) -> None:
        self._wire._forget(self._id)
        await self._stream.aclose()  # type: ignore[attr-defined]  # as every stream of a response
