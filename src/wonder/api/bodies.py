"""Reads the body of a request: its type and its size are checked before anything of it is parsed."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from wonder.api.asgi import JSON, Request
from wonder.api.limits import Usage
from wonder.api.problems import Problem
from wonder.language.values import BadValue, JsonValue, parse_json

_CLOSE: Final = {"connection": "close"}
_LARGE: Final = 200_000


class Disconnected(Exception):
    """The client has gone; nobody reads an answer."""


@asynccontextmanager
async def read_body(request: Request, usage: Usage, media_types: Collection[str]) -> AsyncIterator[bytes]:
    """Give the whole body, which counts as in flight until the end; raises Problem or Disconnected."""
    _check_headers(request, media_types)
    most = usage.limits.body_bytes
    declared = request.headers.get("content-length")
    if declared is not None and declared.isdigit() and int(declared[:20]) > most:
        raise _too_large(most)
    taken = 0
    try:
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(usage.limits.body_seconds):
                while True:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise Disconnected
                    part = message.get("body", b"")
                    if taken + len(part) > most:
                        raise _too_large(most)
                    usage.take_bytes(len(part))
                    taken += len(part)
                    parts.append(part)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            text = f"the body did not arrive within {usage.limits.body_seconds:g} s"
            raise Problem(408, "BODY_TOO_SLOW", text, headers=_CLOSE) from None
        body = b"".join(parts)
        if body and "content-type" not in request.headers:
            raise _wrong_type("there is none", media_types)
        yield body
    finally:
        usage.give_bytes(taken)


async def parse_body(body: bytes) -> JsonValue:
    """Read JSON as the language does: lossless, and strict; raises Problem. No body is null."""
    if not body:
        return None
    try:
        # A large one takes a tenth of a second, in which the engine goes on.
        return parse_json(body) if len(body) < _LARGE else await asyncio.to_thread(parse_json, body)
    except BadValue as error:
        raise Problem(400, "BAD_VALUE", f"the body is not accepted: {error}") from None


def _check_headers(request: Request, media_types: Collection[str]) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        text = f"Content-Encoding is {encoding[:40]!r}; send the body as it is"
        raise Problem(415, "ENCODING_REFUSED", text, headers=_CLOSE)
    given = request.headers.get("content-type")
    if given is None:
        return
    media_type, _, rest = given.partition(";")
    if media_type.strip().lower() not in media_types:
        raise _wrong_type(f"it is {media_type.strip()[:80]!r}", media_types)
    charset = rest.lower().partition("charset=")[2].strip(' "')
    if charset and charset not in ("utf-8", "utf8"):
        raise Problem(415, "TYPE_REFUSED", f"the charset is {charset[:40]!r}; send UTF-8", headers=_CLOSE)


def _too_large(most: int) -> Problem:
    text = f"the body has more than {most:,} bytes, which is the limit of this server"
    return Problem(413, "BODY_TOO_LARGE", text, headers=_CLOSE)


def _wrong_type(found: str, media_types: Collection[str]) -> Problem:
    wanted = " or ".join(sorted(media_types)) or JSON
    return Problem(415, "TYPE_REFUSED", f"Content-Type: {found}; send {wanted}", headers=_CLOSE)
