"""Requests and answers, as all parts of this room pass them on, over plain ASGI.

No framework is between: a request takes a tenth of a millisecond, and disconnects and streams are seen as they are.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from wonder.language.values import encode_json
from wonder.operations.outputs import as_json

if TYPE_CHECKING:
    from wonder.app.application import Application
    from wonder.app.callers import Caller

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Asgi: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
# Nothing that is served is a page: a browser must not guess a type, show it in a frame or keep it.
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_ENCODER = msgspec.json.Encoder()


@dataclass
class Request:
    """One request: who asks, for which project, and how the rest of it is read."""

    scope: Scope
    receive: Receive
    headers: Mapping[str, str]
    """By their names in lower case."""
    query: str
    parameters: dict[str, str] = field(default_factory=dict)
    """What the path says."""
    caller: "Caller" = None  # type: ignore[assignment]  # known before anything uses it
    application: "Application" = None  # type: ignore[assignment]  # likewise

    @property
    def method(self) -> str:
        """The method, such as POST."""
        return str(self.scope["method"])


@dataclass
class Answer:
    """A whole answer."""

    body: bytes = b""
    status: int = 200
    media_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class StreamedAnswer:
    """An answer that is sent part by part, as fast as the client reads."""

    parts: AsyncIterator[bytes]
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


AnyAnswer: TypeAlias = Answer | StreamedAnswer
Endpoint: TypeAlias = Callable[[Request], Awaitable[AnyAnswer]]


def written(output: Any) -> bytes:
    """Write the output of an operation as JSON; integers of any size arrive as they are."""
    try:
        return _ENCODER.encode(output)
    except ValueError:  # an integer of more digits than str() writes
        return encode_json(as_json(output)).encode()


def json_answer(output: Any, status: int = 200, **headers: str) -> Answer:
    """Answer with the output of an operation."""
    return Answer(written(output), status, headers=headers)


async def send_answer(answer: Answer, send: Send) -> None:
    """Send a whole answer."""
    headers = _headers(answer.media_type, answer.headers)
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def send_stream(answer: StreamedAnswer, send: Send) -> None:
    """Send an answer part by part; the first part is made before anything is sent, so that an error is an answer."""
    parts = answer.parts
    first = await anext(parts, b"")
    headers = _headers(answer.media_type, answer.headers)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _headers(media_type: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    given = [(name.replace("_", "-").encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    own = {name for name, _ in given}
    always = [pair for pair in _ALWAYS if pair[0] not in own]
    return [(b"content-type", media_type.encode("latin-1")), *always, *given]
