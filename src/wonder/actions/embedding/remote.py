"""Embeddings over HTTP: OpenAI's wire, which most servers of local models speak too, and Cloudflare's.

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

import asyncio
from typing import Any, Final

import httpx2
import msgspec

from wonder.actions.embedding.endpoints import Endpoint
from wonder.actions.exceptions import storable
from wonder.actions.http.client import guarded_client
from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.protocol import ActionFailed
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.resources import VectorIndex
from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue

SECONDS: Final = 60.0
"""How long one request may take."""

_BODY_MAX: Final = 64_000_000
_SHOWN_MAX: Final = 500
# RET-1's list.
_RETRYABLE: Final = (408, 425, 429)
_ADVICE: Final = {
    400: ("PROVIDER_REFUSED", "correct the embedding_model or the dimensions of the vector index"),
    401: ("PROVIDER_KEY_REFUSED", "store another key"),
    403: ("PROVIDER_KEY_REFUSED", "let the key use this model, or store another key"),
    404: ("MODEL_UNKNOWN", "correct the embedding_model of the vector index, or the address of the provider"),
    408: ("PROVIDER_TIMEOUT", "try again later"),
    413: ("PROVIDER_REFUSED", "embed fewer content_fields"),
    429: ("PROVIDER_RATE_LIMITED", "give the action a retry_policy, or slow the workflow down"),
}


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _OpenAiAnswer(msgspec.Struct):
    data: list[_Item]
    usage: _Usage | None = None


class _Result(msgspec.Struct):
    data: list[list[float]]


class _CloudflareAnswer(msgspec.Struct):
    result: _Result


class Remote:
    """The connections to servers of embeddings; apart, so that nobody goes over one that another was allowed."""

    def __init__(self) -> None:
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def embed(self, index: VectorIndex, endpoint: Endpoint, texts: list[str]) -> tuple[list[list[float]], int]:
        """Return what the server gave for each text, and how many tokens that was; raises ActionFailed."""
        asked = f"{index.embedding_model!r} of {index.embedding_provider}, which embeds for {index.name!r},"
        try:
            async with asyncio.timeout(SECONDS):
                response = await self._client(endpoint).post(
                    endpoint.url, content=msgspec.json.encode(_request(index, texts)), headers=_headers(endpoint)
                )
        except (TimeoutError, httpx2.TimeoutException) as error:
            message = f"{asked} did not answer in time; try again later"
            names = ("TimeoutError", type(error).__name__)
            raise ActionFailed("PROVIDER_TIMEOUT", message, retryable=True, names=names) from error
        except httpx2.TransportError as error:
            message = f"the connection to {asked} was lost: {_shown(str(error))}; check its address and the network"
            names = ("ConnectionError", type(error).__name__)
            raise ActionFailed("PROVIDER_LOST", message, retryable=True, names=names) from error
        if response.status_code != 200:
            raise _status_failure(asked, response)
        try:
            return _read(index, response.content)
        except (BadValue, ValueError) as error:
            message = (
                f"{asked} answered with what are no embeddings: {_shown(str(error))}; check that its address leads to "
                "a server of embeddings"
            )
            raise ActionFailed("PROVIDER_GARBLED", message) from error

    async def close(self) -> None:
        """Close all connections."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()

    def _client(self, endpoint: Endpoint) -> httpx2.AsyncClient:
        allow_private = endpoint.allow_private
        if allow_private not in self._clients:
            self._clients[allow_private] = guarded_client(
                allow_private=allow_private, timeout=SECONDS, body_max=_BODY_MAX
            )
        return self._clients[allow_private]


def _request(index: VectorIndex, texts: list[str]) -> dict[str, Any]:
    # What is no Unicode can't be sent.
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    if index.embedding_provider == "cloudflare_ai":
        return {"text": texts}
    request: dict[str, Any] = {"model": index.embedding_model, "input": texts, "encoding_format": "float"}
    if index.embedding_model.startswith("text-embedding-3"):
        # Others have one number of dimensions, and refuse to be asked for it.
        request["dimensions"] = index.dimensions
    return request


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "application/json"}
    return headers | ({"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {})


def _read(index: VectorIndex, body: bytes) -> tuple[list[list[float]], int]:
    if index.embedding_provider == "cloudflare_ai":
        return read_as(body, _CloudflareAnswer).result.data, 0
    answer = read_as(body, _OpenAiAnswer)
    items = answer.data
    if all(item.index is not None for item in items):
        items = sorted(items, key=lambda item: item.index or 0)
        if [item.index for item in items] != list(range(len(items))):
            raise ValueError("their indexes are not 0, 1, 2 and so on")
    return [item.embedding for item in items], max(answer.usage.prompt_tokens, 0) if answer.usage else 0


def _status_failure(asked: str, response: httpx2.Response) -> ActionFailed:
    status = response.status_code
    retryable = status in _RETRYABLE or status >= 500
    code, advice = _ADVICE.get(status, ("PROVIDER_REFUSED", "see what it says"))
    if status >= 500:
        code, advice = "PROVIDER_UNAVAILABLE", "try again later"
    wait_ms = retry_after_of(response.headers, SYSTEM_CLOCK.now_ms()) if retryable else None
    message = f"{asked} answered with status {status}: {_shown(response.text)}; {advice}"
    details = {"status": status}
    return ActionFailed(
        code, message, retryable=retryable, details=details, retry_after_ms=wait_ms, names=(f"HTTP_{status}",)
    )


def _shown(message: str) -> str:
    return storable(" ".join(message.split()), _SHOWN_MAX) or "(nothing)"
