"""Targets for whole talks with servers, in memory: sessions of MCP over both transports, streams of model providers."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from wonder.actions.attempts import Origin
from wonder.actions.context import ActionContext
from wonder.actions.http.retry_after import RETRY_AFTER_MAX_MS
from wonder.actions.llm_call.answers import check_end
from wonder.actions.llm_call.anthropic import AnthropicProvider
from wonder.actions.llm_call.bounded import EventBounds
from wonder.actions.llm_call.connection import Connection as ModelConnection
from wonder.actions.llm_call.google import GoogleProvider
from wonder.actions.llm_call.openai import OpenAiProvider
from wonder.actions.llm_call.question import Provider, Question, Turn
from wonder.actions.llm_call.talk import Talk
from wonder.actions.mcp.answers import Envelope
from wonder.actions.mcp.connections import Connection, HttpConnection, StdioConnection
from wonder.actions.mcp.limits import Limits
from wonder.actions.mcp.messages import Incoming, Outgoing, Owed
from wonder.actions.mcp.results import output_of
from wonder.actions.mcp.sessions import Session
from wonder.actions.mcp.wire import Wire
from wonder.actions.protocol import ActionFailed
from wonder.definitions.records.resources import ModelParameters
from wonder.errors import WonderError
from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue, check_value

_LIMITS: Final = Limits(start_seconds=0.5, call_seconds=0.5, stop_seconds=0.2, answer_bytes=200_000)
_PROVIDERS: Final = {b"a": "anthropic", b"g": "google", b"l": "local", b"o": "openai"}
_TIMEOUT_MS: Final = 5_000
_QUESTION: Final = Question("model", ModelParameters(), "system", (Turn("user", "text"),))
_PIECE: Final = 37


def mcp_sessions(data: bytes) -> None:
    """Greet a server, ask for its tools and call one; of its answers each is a line, or behind `h` a response."""
    result(_talk(data[1:], is_http=data[:1] == b"h"))


def provider_streams(data: bytes) -> None:
    """Ask a model; the first letter names its provider, the first line the status and type, the rest is the body."""
    first, _, body = data.partition(b"\n")
    name = _PROVIDERS.get(first[:1])
    if name is not None:
        status, _, kind = first[1:].partition(b" ")
        code = int(status) if status.isdigit() and 100 <= int(status[:4]) <= 599 and len(status) == 3 else 200
        result(_ask(name, code, kind or b"text/event-stream", body))


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Give the loop that all talks run in."""
    return asyncio.new_event_loop()


def result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine; what a task beside it raises and nobody hears of is raised here."""
    unheard: list[dict[str, Any]] = []
    loop().set_exception_handler(lambda _, told: unheard.append(told))
    try:
        return loop().run_until_complete(coroutine)
    finally:
        if unheard:
            raise unheard[0].get("exception") or AssertionError(unheard[0]["message"])


async def _talk(data: bytes, *, is_http: bool) -> None:
    session = _Scripted(data, is_http=is_http)
    try:
        with suppress(WonderError):
            await session.ready()
            await session.learn_tools()
            for tool in session.tools.all()[:3]:
                check_value([str(fault) for fault in tool.input_faults({"a": 1})])
            given = await session.call("tool", {"a": 1}, _hear_progress)
            check_value(output_of(given, "server", "tool"))
    except ActionFailed as failed:
        check_value([failed.message, failed.details])
    finally:
        session.stop()
        await session.stopped()


async def _hear_progress(progress: float, total: float | None, message: str | None) -> None:
    """Hear how far a tool is."""


class _Scripted(Session):
    """A session with a server whose answers are known beforehand."""

    def __init__(self, data: bytes, *, is_http: bool) -> None:
        self._script = data.split(b"\n\x00\n" if is_http else b"\n")
        to: Any = HttpConnection("https://mcp.example.com/", {}, False) if is_http else StdioConnection(("x",), {}, "/")
        super().__init__(Connection("id", "server", "key", to, "project"), _LIMITS, lambda _: None)

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        if isinstance(self.connection.to, StdioConnection):
            owed = Owed()
            self._incoming = Incoming(self._limits, owed, lambda line: self._journal.write(repr(line[:200])))
            yield self._incoming, Outgoing(owed, self._answer)
            return
        wire = Wire(httpx2.MockTransport(self._respond), self.name, self._limits, self._losses)
        async with (
            httpx2.AsyncClient(transport=wire, timeout=1.0) as client,
            streamable_http_client("https://mcp.example.com/", http_client=client) as streams,
        ):
            yield streams

    def _answer(self, line: bytes) -> bool:
        """Say on every request what the server says next, up to an answer."""
        if read_as(line, Envelope).id is None:
            return True
        while self._script:
            said = self._script.pop(0)
            if said.strip():
                self._incoming.put(said)
            with suppress(BadValue):
                if read_as(said, Envelope).method is None:
                    return True
        self._incoming.end()
        self._server_ended("it ended", False)
        return True

    async def _respond(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST" or not self._script:
            return httpx2.Response(405)
        head, _, body = self._script.pop(0).partition(b"\n")
        status, _, kind = head.partition(b" ")
        code = int(status) if status in (b"200", b"202", b"302", b"400", b"401", b"404", b"429", b"500") else 200
        return httpx2.Response(code, headers=[(b"content-type", kind or b"application/json")], stream=_Pieces(body))


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = max(_PIECE, len(self._body) // 20)
        for start in range(0, len(self._body), size):
            yield self._body[start : start + size]


async def _ask(name: str, status: int, kind: bytes, body: bytes) -> None:
    async def respond(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers=[(b"content-type", kind)], stream=_Pieces(body))

    told: list[Any] = []
    context = ActionContext(Origin("p", "r", "n"), "s", 1, on_progress=told.append)
    async with httpx2.AsyncClient(transport=EventBounds(httpx2.MockTransport(respond)), timeout=None) as client:
        talk = Talk(_provider(name, client), _QUESTION, "the model", context)
        try:
            await talk.run(_TIMEOUT_MS)
            assert talk.ended, "an answer that did not end is a failure"
            with suppress(ActionFailed):
                check_end(talk.ended, talk.text, "the model")
        except ActionFailed as failed:
            check_value([failed.message, failed.details])
            wait_ms = failed.retry_after_ms
            if wait_ms is not None and not 0 <= wait_ms <= RETRY_AFTER_MAX_MS:
                raise AssertionError("no wait is longer than a day") from failed
        check_value([talk.text, told], max_bytes=50_000_000)
        for used in (talk.used, talk.charged):
            assert min(used) >= 0, "no tokens are given back"


def _provider(name: str, client: httpx2.AsyncClient) -> Provider:
    made: Any = {"anthropic": AnthropicProvider, "google": GoogleProvider}.get(name, OpenAiProvider)
    connection = ModelConnection(
        provider=name,
        base_url="https://models.example.com",
        api_key="key",
        headers=(),
        timeout_ms=_TIMEOUT_MS,
        structured="native",
        allow_private=False,
        is_own=False,
    )
    provider: Provider = made(connection, client)
    return provider
