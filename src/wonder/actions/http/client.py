"""The HTTP client of all actions: it connects only where it may, whatever a name, a redirect or a server says (ACT-3).

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpcore2
import httpx2

from wonder.actions.http import addresses
from wonder.actions.http.bodies import ACCEPTED, BODY_MAX, bounded
from wonder.actions.protocol import ActionFailed

CONNECT_SECONDS: Final = 10.0
"""How long a connection may take to come about, names and TLS included."""

_CONNECTIONS_MAX: Final = 1_000
_IDLE_MAX: Final = 100
# Many servers (Node's, uvicorn, Apache) close a connection that was idle for 5 s; ours must be closed before that, or
# now and then a request would meet its end.
_IDLE_SECONDS: Final = 4.0
# RFC 8305: how long an address has before the next one is tried beside it, and how many are tried.
_HEAD_START_SECONDS: Final = 0.25
_TRIED_MAX: Final = 8
_BODILESS: Final = (204, 304)


def guarded_client(
    *,
    allow_private: bool,
    timeout: float | httpx2.Timeout = 60.0,
    body_max: int | None = BODY_MAX,
    **options: Any,
) -> httpx2.AsyncClient:
    """Return a client for an SDK: no private addresses unless allowed, no proxies, no cookies.

    `body_max` bounds each response's body, None for a stream that may go on for ever; other options are those of
    `httpx2.AsyncClient`. What it refuses is an ActionFailed; SDKs wrap it into errors of their own, and `refusal_in`
    finds it there. A client belongs to the workspaces that allow the same, because connections are kept.
    """
    transport = GuardedTransport(allow_private=allow_private, body_max=body_max)
    headers = {"accept-encoding": ACCEPTED, **(options.pop("headers", None) or {})}
    # A jar that takes nothing: what one project's server sets must not be sent with another's request.
    cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.AsyncClient(
        transport=transport, timeout=timeout, headers=headers, cookies=cookies, trust_env=False, **options
    )


def refusal_in(error: BaseException) -> ActionFailed | None:
    """Find the refusal of a guarded client behind the error that an SDK made of it."""
    seen: BaseException | None = error
    for _ in range(20):
        if seen is None or isinstance(seen, ActionFailed):
            return seen
        if isinstance(seen, BaseExceptionGroup):
            return next(filter(None, map(refusal_in, seen.exceptions)), None)
        seen = seen.__cause__ or seen.__context__
    return None


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests over kept connections to checked addresses, and gives bodies unpacked and bounded.

    `resolve` and `dial` are for tests, and for callers that have threads of their own to resolve names in.
    """

    def __init__(
        self,
        *,
        allow_private: bool,
        body_max: int | None = BODY_MAX,
        resolve: addresses.Resolve = addresses.resolve,
        dial: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._body_max = body_max
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=prepare(),
            max_connections=_CONNECTIONS_MAX,
            max_keepalive_connections=_IDLE_MAX,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=GuardedNetwork(resolve, dial or httpcore2.AnyIOBackend(), allow_private=allow_private),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises httpx2's errors, and AddressRefused."""
        url = request.url
        outgoing = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx2():
            response = await self._pool.handle_async_request(outgoing)
        headers, encoding = response.headers, ""
        if request.method != "HEAD":
            # Without a body too: a client that is left an encoding raises an error of its own for a strange one.
            headers, encoding = _unpacked(headers)
            encoding = "" if response.status in _BODILESS else encoding
        # One limit for each response, which its request may choose.
        limit = request.extensions.get("body_max", self._body_max)
        stream = _Body(response.stream, encoding, limit)  # type: ignore[arg-type]  # as every stream of the async pool
        return httpx2.Response(response.status, headers=headers, stream=stream, extensions=response.extensions)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Makes connections, by address only, and to no address that was not checked."""

    def __init__(self, resolve: addresses.Resolve, dial: httpcore2.AsyncNetworkBackend, *, allow_private: bool) -> None:
        self._resolve, self._dial, self._allow_private = resolve, dial, allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore2 calls it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of a host that answers."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS if timeout is None else timeout):
                found = await addresses.permitted(host, port, allow_private=self._allow_private, resolve=self._resolve)
                return await self._first_of(found[:_TRIED_MAX], host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"{host} did not answer") from None
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"{host} can't be found: {error}") from error

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  # as httpcore2 calls it
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: no request leads to a socket of this machine."""
        raise addresses.AddressRefused(path, path, "a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _first_of(self, found: list[str], host: str, port: int) -> httpcore2.AsyncNetworkStream:
        if len(found) == 1:
            return await self._dial.connect_tcp(found[0], port)
        error: BaseException = httpcore2.ConnectError(f"{host} has no address")
        under_way: set[asyncio.Task[httpcore2.AsyncNetworkStream]] = set()
        try:
            while found or under_way:
                if found:
                    under_way.add(asyncio.create_task(self._dial.connect_tcp(found.pop(0), port)))
                patience = _HEAD_START_SECONDS if found else None
                done, _ = await asyncio.wait(under_way, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                for attempt in done:
                    under_way.discard(attempt)
                    if (failed := attempt.exception()) is None:
                        return attempt.result()
                    error = failed
        finally:
            await _give_up(under_way)
        raise error


async def _give_up(attempts: set[asyncio.Task[httpcore2.AsyncNetworkStream]]) -> None:
    for attempt in attempts:
        attempt.cancel()
    for stream in await asyncio.gather(*attempts, return_exceptions=True):
        if not isinstance(stream, BaseException):
            await stream.aclose()


class _Body(httpx2.AsyncByteStream):
    """A response's body as its reader gets it."""

    def __init__(self, stream: AsyncIterable[bytes], encoding: str, limit: int | None) -> None:
        self._stream, self._encoding, self._limit = stream, encoding, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx2():
            async with aclosing(bounded(self._stream, self._encoding, self._limit)) as pieces:
                async for piece in pieces:
                    yield piece

    async def aclose(self) -> None:
        connection = _connection_with_more(self._stream)
        await self._stream.aclose()  # type: ignore[attr-defined]  # as every stream of the async pool
        if connection is not None:
            await connection.aclose()


def _connection_with_more(stream: object) -> Any:
    """Return the connection that a body came over if there is more behind the body's end; None if all is well.

    httpcore2 would use it again, and the next request, which may be another workspace's, would get that as its answer.
    It has no name for this that is public; should its own change, a test tells.
    """
    connection = getattr(getattr(stream, "_stream", None), "_connection", None)
    state = getattr(connection, "_h11_state", None)
    return connection if state is not None and state.trailing_data[0] else None


def _unpacked(headers: list[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], str]:
    """Return the headers as they are once the body is unpacked, and how it is packed."""
    encodings = [value for name, value in headers if name.lower() == b"content-encoding"]
    if not encodings:
        return headers, ""
    encoding = b", ".join(encodings).decode("latin-1").strip().lower()
    return [pair for pair in headers if pair[0].lower() not in (b"content-encoding", b"content-length")], encoding


@functools.cache
def prepare() -> ssl.SSLContext:
    """Read the system's certificates, once for all; SSL_CERT_FILE is the operator's, and counts."""
    return httpx2.create_ssl_context()


@contextmanager
def _errors_of_httpx2() -> Iterator[None]:
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
    ) as error:
        # They have the same names in both packages.
        raise getattr(httpx2, type(error).__name__)(str(error)) from error
