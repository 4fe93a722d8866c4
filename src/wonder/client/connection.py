"""A connection to a server: requests that are tried again, and errors as the server says them (CMD-13)."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import msgspec

from wonder.app.ids import new_ulid
from wonder.backoff import Backoff
from wonder.client.errors import BadServer, ServerRefused, ServerUnreachable
from wonder.client.writing import Written, write_request
from wonder.language.values import BadValue, JsonValue, parse_json
from wonder.operations.declaring import Declared

_SECONDS: Final = 90.0
_TRIES: Final = 6
_PAUSE_MS: Final = 100.0
_PAUSE_MS_MAX: Final = 2_000.0
# The server or a proxy before it can't answer now; what was asked for with an idempotency key is done once.
_AGAIN: Final = frozenset({429, 502, 503, 504})
_PAGE: Final = 1_000
_ANSWER_BYTES_MAX: Final = 1_000_000_000


class Server:
    """A server that operations are asked of, in one project of it."""

    def __init__(self, url: str, key: str | None, *, workspace: str | None = None, project: str | None = None) -> None:
        self.url, self._project = _checked(url), project
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if workspace is not None:
            headers["Wonder-Workspace"] = workspace
        try:
            self._http = httpx2.AsyncClient(headers=headers, timeout=_SECONDS, trust_env=False)
        except (ValueError, UnicodeError):
            raise BadServer("the key or the name of the workspace contains characters that HTTP can't send") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(self, operation: Declared[Any, Any], given: Any, query: Mapping[str, str] | None = None) -> Any:
        """Have an operation carried out, and give its output; raises ServerRefused or ServerUnreachable."""
        written = write_request(operation, given, project=self._project, query=query)
        answer = await self._send(written)
        return self._read(operation, self._value(answer))

    async def items(self, operation: Declared[Any, Any], given: Any) -> AsyncIterator[Any]:
        """Give the items of a stream, page by page where it has pages."""
        if operation.output is bytes:
            async for part in self._parts(write_request(operation, given, project=self._project)):
                yield part
            return
        left: int | None = getattr(given, "limit", None)
        while True:
            answer = await self._send(write_request(operation, given, project=self._project))
            value: Any = self._value(answer)
            items = value["items"]
            for item in items:
                yield self._read(operation, item)
            left = None if left is None else left - len(items)
            if operation.name != "runs.events" or len(items) < _PAGE or left == 0:
                return
            given = msgspec.structs.replace(given, after=items[-1]["sequence_number"], limit=left)

    async def _send(self, written: Written) -> httpx2.Response:
        """Send a request, and again while the server can't be reached; its key makes it count once."""
        headers = {} if written.body is None else {"Content-Type": "application/json"}
        if written.method == "POST" and not written.counts_once:
            headers["Idempotency-Key"] = new_ulid()
        backoff = Backoff(_PAUSE_MS, _PAUSE_MS_MAX)
        for tries_left in reversed(range(_TRIES)):
            try:
                answer = await self._http.request(
                    written.method, self.url + written.path, content=written.body, headers=headers
                )
            except httpx2.TransportError as error:
                if not tries_left:
                    raise ServerUnreachable(self.url, str(error) or type(error).__name__) from None
            else:
                if answer.status_code < 400:
                    return answer
                if answer.status_code not in _AGAIN or not tries_left:
                    raise self._refusal(answer)
            await asyncio.sleep(backoff.next_ms() / 1000)
        raise AssertionError("the last try returns or raises")

    async def _parts(self, written: Written) -> AsyncIterator[bytes]:
        try:
            async with self._http.stream(written.method, self.url + written.path) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    raise self._refusal(answer)
                async for part in answer.aiter_raw():
                    yield part
        except httpx2.TransportError as error:
            raise ServerUnreachable(self.url, str(error) or type(error).__name__) from None

    def _value(self, answer: httpx2.Response) -> JsonValue:
        try:
            return parse_json(answer.content, max_bytes=_ANSWER_BYTES_MAX)
        except BadValue as error:
            raise ServerUnreachable(self.url, f"its answer can't be read, {error}") from None

    def _read(self, operation: Declared[Any, Any], value: Any) -> Any:
        try:
            return msgspec.convert(value, operation.output)
        except msgspec.ValidationError as error:
            reason = f"its answer to {operation.name} is of another version of Wonder, {error}"
            raise ServerUnreachable(self.url, reason) from None

    def _refusal(self, answer: httpx2.Response) -> ServerRefused | ServerUnreachable:
        value: Any = None
        with suppress(BadValue):
            value = parse_json(answer.content)
        if not isinstance(value, dict) or "code" not in value:
            return ServerUnreachable(self.url, f"it answered {answer.status_code}, not as Wonder does")
        return ServerRefused(answer.status_code, str(value["code"]), str(value.get("error", "")))


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadServer(f"{url!r} is not the address of a server: {error}") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username:
        raise BadServer(f"{url!r} is not the address of a server; write it as https://wonder.example.com")
    if parts.scheme == "http" and not _is_loopback(host):
        raise BadServer(
            f"{url!r} would send the key and all data in the clear; use https://, or http:// on this machine only"
        )
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
