"""A transport that lets no event of a stream grow without end: the libraries of the providers keep whatever comes.

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx2

from wonder.actions.http.client import GuardedTransport
from wonder.actions.protocol import ActionFailed

RESPONSE_MAX_BYTES: Final = 256_000_000
"""Far more than an answer may have, because most of a stream is what stands around its words."""

EVENT_MAX_BYTES: Final = 2_000_000
EVENT_LINES_MAX: Final = 2_000
"""One library adds each line of an event to those before it, which takes the square of their number."""

# A server that can't stream, or a page of somebody who stands between: read as a stream, they would just be empty.
_NO_STREAMS: Final = ("application/json", "text/html")
_ENDS: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")


def bounded_client(*, allow_private: bool) -> httpx2.AsyncClient:
    """Return the HTTP client for the providers' libraries: guarded, and bounded per event.

    No redirects, because a key would go along; no cookies, because all keys share it.
    """
    transport = EventBounds(GuardedTransport(allow_private=allow_private, body_max=RESPONSE_MAX_BYTES))
    cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    # Each request has a time-out of its own.
    return httpx2.AsyncClient(transport=transport, cookies=cookies, trust_env=False, timeout=None)


class EventBounds(httpx2.AsyncBaseTransport):
    """Passes requests on, and bounds each event of what comes back; what is no stream is refused."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        response = await self._inner.handle_async_request(request)
        kind = response.headers.get("content-type", "").lower()
        if response.status_code == 200 and kind.startswith(_NO_STREAMS):
            await response.aclose()
            message = f"the model's server answered with {kind[:80]} and not with a stream of events; check base_url"
            raise ActionFailed("PROVIDER_GARBLED", message)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _BoundedEvents(stream)
        return response

    async def aclose(self) -> None:
        """Close the transport."""
        await self._inner.aclose()


class _BoundedEvents(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = lines = 0
        async for chunk in self._inner:
            end = max([chunk.rfind(mark) for mark in _ENDS])
            if end >= 0:
                size = lines = 0
            rest = chunk if end < 0 else chunk[end:]
            size += len(rest)
            lines += rest.count(b"\n") + rest.count(b"\r")
            if size > EVENT_MAX_BYTES or lines > EVENT_LINES_MAX:
                limits = f"{EVENT_MAX_BYTES:,} bytes or {EVENT_LINES_MAX:,} lines"
                message = f"the model's server sent more than {limits} in one piece; check that base_url leads to one"
                raise ActionFailed("PROVIDER_FLOOD", message)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
