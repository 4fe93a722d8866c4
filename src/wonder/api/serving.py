"""Runs the server with uvicorn, in the loop of the engine, with bounds on how slowly and how much a client may send."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import httptools
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from wonder.api.door import Door
from wonder.api.limits import Limits
from wonder.api.problems import Problem, answer_problem
from wonder.errors import WonderError

_KEEP_ALIVE_SECONDS: Final = 30


class AddressRefused(WonderError):
    """The server can't listen where it is told to."""

    code = "ADDRESS_REFUSED"

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"the server can't listen on {host} port {port}: {reason}; choose another --host or --port")
        self.host, self.port = host, port


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address; raises AddressRefused. Port 0 is any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        raise AddressRefused(host, port, getattr(error, "strerror", None) or str(error)) from None
    listening.setblocking(False)
    return listening


def address_of(listening: socket.socket) -> str:
    """Give the address of a server, as a person writes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def served(door: Door, listening: socket.socket, *, stop_seconds: float = 5.0) -> AsyncIterator[None]:
    """Answer requests until the end; what is under way then has `stop_seconds` to end."""
    # Bad requests of strangers are answered, and are no errors of ours; our own are logged in `problems`.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = Config(
        door,
        http=_protocol(door.usage.limits),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(stop_seconds)),
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await server.listens.wait()
        yield
    finally:
        door.stopping.set()
        server.should_exit = True
        await serving


class _Server(Server):
    """Leaves signals to the command that runs it, and tells when it listens."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and tell it."""
        try:
            await super().startup(sockets)
        finally:
            self.listens.set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take no signal."""
        yield


def _protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Give the protocol of a server: HTTP/1.1, with its limits for headers."""
    return type("Protocol", (_Protocol,), {"limits": limits})


class _Protocol(HttpToolsProtocol):
    """Ends a connection whose headers are too long or come too slowly."""

    limits: Limits

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._awaits_head = True
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, as long as it is not too much before a request begins."""
        if self._awaits_head:
            if self._head_timer is None:
                self._arm()
            self._head_bytes += len(data)
        super().data_received(data)
        if self._awaits_head and self._head_bytes > self.limits.header_bytes and not self.transport.is_closing():
            self._refuse(431, "HEADERS_TOO_LARGE", f"the headers have more than {self.limits.header_bytes:,} bytes")

    def on_headers_complete(self) -> None:
        """Begin a request, once its headers are there."""
        self._disarm()
        self._awaits_head, self._head_bytes = False, 0
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > self.limits.header_bytes:
            raise httptools.HttpParserError("headers too large")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for the headers of the next request."""
        self._awaits_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, in the form of all errors."""
        self._refuse(400, "BAD_HTTP", "this is not a valid HTTP/1.1 request")

    def _arm(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.header_seconds, self._too_slow)

    def _disarm(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._arm()  # the next request begins while one is being answered
            return
        self._refuse(408, "HEADERS_TOO_SLOW", f"no whole request came within {self.limits.header_seconds:g} s")

    def _refuse(self, status: int, code: str, text: str) -> None:
        body = answer_problem(Problem(status, code, text)).body
        head = (
            f"HTTP/1.1 {status} {code}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
