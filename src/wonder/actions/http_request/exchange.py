"""One `http_request` under way: sent, redirected at most ten times, and read to its end.

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import httpx2

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.http.addresses import AddressRefused, BadHost
from wonder.actions.http.bodies import BadResponse, BodyTooLarge
from wonder.actions.http.client import CONNECT_SECONDS, GuardedTransport
from wonder.actions.http_request.outgoing import Outgoing
from wonder.actions.http_request.responses import BEGINNING_MAX, headers_of, read_json, read_text, status_failure
from wonder.actions.protocol import ActionContext, ActionFailed
from wonder.actions.threads import Threads
from wonder.language.values import MAX_BYTES, JsonValue

REDIRECTS_MAX: Final = 10
ARTIFACT_MAX: Final = 1_000_000_000
"""How many bytes a body may have that is kept as an artifact; others have the limit of every value."""

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_CONTENT_TYPE_MAX: Final = 200
# What is larger is read in a thread: the loop would stand still for a second at the limit.
_SMALL: Final = 262_144


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is to be done with one request's answer; `shown` is what is asked for."""

    transport: GuardedTransport
    threads: Threads
    now_ms: Callable[[], int]
    artifacts: Artifacts | None
    shown: str
    response: Literal["json", "text", "artifact"]
    accepted: frozenset[int]

    async def run(self, request: Outgoing, context: ActionContext) -> JsonValue:
        """Return the answer; raises ActionFailed."""
        if self.response == "artifact" and self.artifacts is None:
            message = "there is no object store here to keep an artifact in; say 'response: json' or 'response: text'"
            raise ActionFailed("NO_OBJECT_STORE", message)
        body_max = ARTIFACT_MAX if self.response == "artifact" else MAX_BYTES
        try:
            for _ in range(REDIRECTS_MAX + 1):
                response = await self.transport.handle_async_request(request.built(CONNECT_SECONDS, body_max))
                try:
                    status, location = response.status_code, response.headers.get("location")
                    if status not in _REDIRECTS or location is None or status in self.accepted:
                        return await self._answer(response, context)
                    await _drain(response)
                finally:
                    await response.aclose()
                request = request.followed(status, location)
        except httpx2.TransportError as error:
            raise _failure(self.shown, error) from error
        except (AddressRefused, BadHost, BadResponse, BodyTooLarge) as refusal:
            # They know nothing of the request that they refuse to go on with.
            message = f"{self.shown} failed: {refusal.message}"
            raise ActionFailed(refusal.code, message, retryable=refusal.retryable, details=refusal.details) from refusal
        message = f"{self.shown} leads from one redirect to the next, more than {REDIRECTS_MAX} of them"
        raise ActionFailed("TOO_MANY_REDIRECTS", message, details={"redirects": REDIRECTS_MAX})

    async def _answer(self, response: httpx2.Response, context: ActionContext) -> JsonValue:
        status = response.status_code
        if status >= 400 and status not in self.accepted:
            raise status_failure(self.shown, response, await _beginning(response), self.now_ms())
        if status < 200:
            raise BadResponse(f"its status is {status}, which nothing was asked for that could be answered so")
        body = await self._body(response, context)
        return {"status": status, "headers": headers_of(response), "body": body}

    async def _body(self, response: httpx2.Response, context: ActionContext) -> JsonValue:
        content_type = response.headers.get("content-type", "")
        if self.response == "artifact":
            return await self._kept(response, content_type, context)
        body = b"".join([chunk async for chunk in response.aiter_raw()])
        is_refusal = response.status_code >= 400

        def read() -> JsonValue:
            if self.response == "text":
                return read_text(body, content_type)
            try:
                return read_json(body)
            except BadResponse:
                # A page that tells people of a failure is often no JSON, also where everything else is.
                if not is_refusal:
                    raise
                return read_text(body, content_type)

        if len(body) <= _SMALL:
            return read()
        value: JsonValue = await self.threads.call(read)
        return value

    async def _kept(self, response: httpx2.Response, content_type: str, context: ActionContext) -> JsonValue:
        assert self.artifacts
        content_type = content_type[:_CONTENT_TYPE_MAX] or "application/octet-stream"
        kept = await self.artifacts.write(response.aiter_raw(), context, content_type=content_type, part="body")
        return {"artifact_id": kept.id, "content_type": kept.content_type, "size_bytes": kept.size_bytes}


async def _beginning(response: httpx2.Response) -> bytes:
    found = b""
    async for chunk in response.aiter_raw():
        found += chunk
        # All of a small one, so that its connection can be used again.
        if len(found) > 4 * BEGINNING_MAX:
            break
    return found


async def _drain(response: httpx2.Response) -> None:
    """Read what nobody wants to its end, if that is near, so that its connection can be used again."""
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 5:
        async for _ in response.aiter_raw():
            pass


def _failure(shown: str, error: httpx2.TransportError) -> ActionFailed:
    """Return the failure that it is when there was no answer; most of them another attempt may fix (RET-1)."""
    name, reason = type(error).__name__, str(error) or type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        message = f"{shown} failed: {reason}"
        return ActionFailed("HTTP_TIMEOUT", message, retryable=True, names=(name, "TimeoutError"))
    if _is_about_a_certificate(error):
        message = f"{shown} failed: {reason}; have the server's certificate fixed, or name its issuer in SSL_CERT_FILE"
        return ActionFailed("BAD_CERTIFICATE", message, names=(name,))
    if isinstance(error, httpx2.ConnectError):
        message = f"{shown} failed: no connection: {reason}"
        return ActionFailed("CONNECTION_FAILED", message, retryable=True, names=(name,))
    # h11 has one error for all that a server does wrong; these two are a connection that was lost.
    if isinstance(error, httpx2.NetworkError) or reason.startswith(("Server disconnected", "peer closed connection")):
        message = f"{shown} failed: the connection was lost: {reason}"
        return ActionFailed("CONNECTION_LOST", message, retryable=True, names=(name,))
    return ActionFailed("BAD_RESPONSE", f"{shown} failed: what came back is no HTTP: {reason}", names=(name,))


def _is_about_a_certificate(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None
