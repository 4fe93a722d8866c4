"""What servers answer over HTTP, as far as it must be known before the SDK reads it."""

from typing import Final

import httpx2
import msgspec
from mcp.client.streamable_http import MCP_SESSION_ID

from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.mcp.losses import Loss
from wonder.clock import SYSTEM_CLOCK
from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue

RETRYABLE: Final = (408, 425, 429)
"""The statuses below 500 that another attempt may fix (RET-1)."""

_KEPT: Final = ("content-type", "location", MCP_SESSION_ID)


class Envelope(msgspec.Struct):
    """As much of a JSON-RPC message as must be known here."""

    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw | None = None


class Cancelled(msgspec.Struct):
    """What a message says that gives a request up."""

    requestId: int | str | None = None  # noqa: N815  # as the protocol spells it


def plain_headers(headers: httpx2.Headers) -> dict[str, str]:
    """Give the headers that still hold for a body that was read and unpacked."""
    return {name: headers[name] for name in _KEPT if name in headers}


def is_answer(content: bytes, id: int | str) -> bool:
    """Say whether a body is the JSON-RPC answer to a request, at a glance."""
    try:
        message = read_as(content, Envelope)
    except BadValue:
        return False
    return str(message.id) == str(id) and message.method is None


def is_error(content: bytes) -> bool:
    """Say whether a body is an error of JSON-RPC."""
    try:
        return read_as(content, Envelope).error is not None
    except BadValue:
        return False


def status_loss(server: str, response: httpx2.Response, text: str) -> Loss:
    """Say that a server refused a request below the protocol."""
    status = response.status_code
    return Loss(
        "MCP_HTTP_ERROR",
        f"the MCP server {server!r} answered with HTTP status {status}: {text or '(nothing)'}",
        retryable=status in RETRYABLE or status >= 500,
        details={"server": server, "status": status},
        retry_after_ms=retry_after_of(response.headers, SYSTEM_CLOCK.now_ms()),
        names=(f"HTTP_{status}", str(status)),
    )
