"""One session with one server: opened by a task of its own, shared by calls, over when the server is lost or idle."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import Any, Final

import msgspec
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    ServerNotification,
    Tool,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from wonder.actions.http.client import refusal_in
from wonder.actions.mcp.connections import Connection, HttpConnection, StdioConnection
from wonder.actions.mcp.journal import Journal, log
from wonder.actions.mcp.limits import Limits
from wonder.actions.mcp.losses import Loss, broken, lost, shown
from wonder.actions.mcp.protocol_errors import error_loss, first_fault, not_started
from wonder.actions.mcp.schemas import ToolList
from wonder.actions.mcp.servers import NotStarted, stdio_streams
from wonder.actions.mcp.wire import http_streams, loss_of
from wonder.actions.protocol import ActionFailed

_CLIENT: Final = Implementation(name="wonder", version="1")
_REASON_SECONDS: Final = 1.0
_PAGES_MAX: Final = 100
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class _Client(ClientSession):
    """The SDK's session, without its check of results: that one is slow, and is done elsewhere."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Check nothing."""


class Session:
    """Knows a server for as long as it is there."""

    def __init__(self, connection: Connection, limits: Limits, on_end: Callable[["Session"], None]) -> None:
        self.connection, self._limits, self._on_end = connection, limits, on_end
        self.name = connection.name
        self._loop = asyncio.get_running_loop()
        self.places = asyncio.Semaphore(limits.calls_max)
        self.calls = 0
        self.tools = ToolList(self.name, self._loop.time, limits.tools_seconds)
        self.loss: Loss | None = None
        self._asking = asyncio.Lock()
        self._losses: dict[int, Loss] = {}
        self._journal = Journal(self.name, connection.project_id, self._loop.time)
        self._client: _Client | None = None
        self._start_ended = asyncio.Event()
        self._over = asyncio.Event()
        self._idle: asyncio.TimerHandle | None = None
        # Not in the context of the call that happens to be the first: it would be kept as long as the session.
        self._task = asyncio.create_task(self._live(), name=f"mcp session {self.name}", context=Context())

    async def ready(self) -> None:
        """Wait until the server has been reached; raises ActionFailed if it can't be."""
        if not self._start_ended.is_set():
            await self._start_ended.wait()
        if self.loss:
            raise self.loss.failure()

    def stop(self) -> None:
        """Begin to end the session; calls under way are lost."""
        is_starting = not self._start_ended.is_set()
        self._end(lost(self.name, "the session was ended"))
        if is_starting:
            self._task.cancel()

    async def stopped(self) -> None:
        """Wait until nothing is left of it."""
        await asyncio.wait([self._task])

    def on_stopped(self, tell: Callable[["Session"], None]) -> None:
        """Have somebody told when nothing is left of it."""
        self._task.add_done_callback(lambda _: tell(self))

    def take(self) -> None:
        """Note that a call begins."""
        self.calls += 1
        self._journal.note_call()
        if self._idle:
            self._idle.cancel()
            self._idle = None

    def give_back(self) -> None:
        """Note that a call has ended; without any, the session ends after a while."""
        self.calls -= 1
        self._journal.note_end()
        if not self.calls and not self.loss:
            self._idle = self._loop.call_later(self._limits.idle_seconds, self.stop)

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: ProgressFnT) -> CallToolResult:
        """Call a tool; raises ActionFailed. Cancelled, it tells the server so."""
        assert self._client
        try:
            try:
                result = await self._send(tool, arguments, on_progress)
            except MCPError as error:
                if error.code != HEADER_MISMATCH:
                    raise
                # The server wants some arguments repeated in headers, and its list of tools says which.
                self.tools.forget()
                await self.learn_tools()
                result = await self._send(tool, arguments, on_progress)
        except MCPError as error:
            raise await self._failure(error, f"the tool {tool!r}", self._limits.call_seconds) from None
        except ValidationError as error:
            raise broken(self.name, f"the result of {tool!r} is invalid: {first_fault(error)}").failure() from None
        if isinstance(result, InputRequiredResult):
            message = f"the tool {tool!r} of the MCP server {self.name!r} asks a person for input while it runs"
            message += ", which an action can't give; ask with a human_input before it"
            raise ActionFailed("MCP_INPUT_REQUIRED", message, details={"server": self.name, "tool": tool})
        return result

    async def _send(
        self, tool: str, arguments: dict[str, Any], on_progress: ProgressFnT
    ) -> CallToolResult | InputRequiredResult:
        assert self._client
        return await self._client.call_tool(
            tool, arguments, self._limits.call_seconds, on_progress, allow_input_required=True
        )

    async def learn_tools(self) -> None:
        """Ask the server for its tools, unless that is known; raises ActionFailed."""
        async with self._asking:
            if self.tools.is_known:
                return
            try:
                self.tools.learn(await self._listed())
            except MCPError as error:
                raise await self._failure(error, "its list of tools", self._limits.start_seconds) from None
            except ValidationError as error:
                raise broken(self.name, f"its list of tools is invalid: {first_fault(error)}").failure() from None

    async def _listed(self) -> list[Tool]:
        assert self._client
        listed: list[Tool] = []
        size, cursor = 0, None
        for _ in range(_PAGES_MAX):
            page = await self._client.list_tools(params=PaginatedRequestParams(cursor=cursor))
            listed += page.tools
            size += sum(len(msgspec.json.encode(tool.input_schema)) for tool in page.tools)
            if size > self._limits.answer_bytes or len(listed) > self._limits.tools_max:
                raise broken(self.name, "its list of tools is too long").failure()
            if page.next_cursor is None or page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        return listed

    async def _live(self) -> None:
        loss = lost(self.name, "the session was ended")
        try:
            async with self._streams() as (read, write), self._session(read, write) as client:
                if refusal := await self._greet(client):
                    self._end(refusal)
                self._client = client
                self._start_ended.set()
                await self._over.wait()
        except NotStarted as error:
            loss = not_started(self.connection, str(error))
        except Exception as error:
            refusal_of_ours = refusal_in(error)
            loss = lost(self.name, f"{type(error).__name__}: {shown(str(refusal_of_ours or error))}")
        finally:
            self._end(loss)

    def _session(self, read: Any, write: Any) -> _Client:
        return _Client(
            read,
            write,
            read_timeout_seconds=self._limits.start_seconds,
            client_info=_CLIENT,
            message_handler=self._hear,
            logging_callback=self._note,
        )

    async def _greet(self, client: _Client) -> Loss | None:
        try:
            try:
                await client.initialize()
            except MCPError as error:
                if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                    raise
                # A server of the newer kind, which is not greeted but asked.
                await client.discover()
        except MCPError as error:
            return await self._loss(error, "the greeting", self._limits.start_seconds)
        except (RuntimeError, ValidationError) as error:
            return broken(self.name, first_fault(error) if isinstance(error, ValidationError) else shown(str(error)))
        return None

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        match self.connection.to:
            case StdioConnection() as stdio:
                async with stdio_streams(stdio, self._limits, self._journal, self._server_ended) as streams:
                    yield streams
            case HttpConnection() as http:
                async with http_streams(http, self.name, self._limits, self._losses) as streams:
                    yield streams

    def _server_ended(self, reason: str, too_large: bool) -> None:
        if too_large and self.calls <= 1:
            message = f"the MCP server {self.name!r} was ended: {reason}, the limit; ask the tool for less"
            self._end(Loss("MCP_OUTPUT_TOO_LARGE", message, retryable=False, details={"server": self.name}))
        else:
            said = f"; it said: {' / '.join(self._journal.last)}" if self._journal.last else ""
            self._end(lost(self.name, shown(reason + said)))

    def _end(self, loss: Loss) -> None:
        if not self.loss:
            self.loss = loss
            if self._idle:
                self._idle.cancel()
            self._on_end(self)
        self._start_ended.set()
        self._over.set()

    async def _failure(self, error: MCPError, what: str, seconds: float) -> ActionFailed:
        return (await self._loss(error, what, seconds)).failure()

    async def _loss(self, error: MCPError, what: str, seconds: float) -> Loss:
        if known := loss_of(error, self._losses):
            return known
        if error.code == CONNECTION_CLOSED:
            return await self._reason(error.message)
        return error_loss(error, self.name, what, seconds)

    async def _reason(self, said: str) -> Loss:
        # That a command is gone is seen a moment before the reason is known.
        if isinstance(self.connection.to, StdioConnection):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _REASON_SECONDS)
        return self.loss or lost(self.name, shown(said))

    async def _hear(self, message: ServerNotification | Exception) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.tools.forget()
        elif isinstance(message, Exception):
            log.debug("%s: %s", self.name, shown(str(message)))

    async def _note(self, params: LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else str(params.data)
        self._journal.write(text, _LEVELS.get(params.level, logging.ERROR))
