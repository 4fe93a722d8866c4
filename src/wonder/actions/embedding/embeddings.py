"""Embedding texts as a vector index says: by a provider's API or in this process, checked whatever comes back."""

import asyncio
import math
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from wonder.actions.embedding.endpoints import PROVIDERS, Endpoint, Endpoints
from wonder.actions.money.model_prices import Prices
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads
from wonder.definitions.records.resources import VectorIndex

if TYPE_CHECKING:
    from wonder.actions.embedding.minilm import MiniLm
    from wonder.actions.embedding.remote import Remote
    from wonder.actions.money.spending import StoredSpending

TEXTS_MAX: Final = 32
"""How many texts are embedded at once."""

LENGTHS_MAX: Final = {"openai": 24_000, "cloudflare_ai": 8_000}
"""So many characters of a text are sent: what models take is 8,192 tokens, and on Cloudflare at most 2,048 or so."""

# About as many bytes as a token has, in most languages.
_BYTES_PER_TOKEN: Final = 4
_LOCAL_MODELS: Final = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")


class Embeddings(Struct, frozen=True):
    """What texts became, in their order; `cut` says of which only the beginning counted."""

    vectors: "list[array[float]]"
    cut: list[bool]
    tokens: int = 0


class Embedder:
    """Embeds for all vector indexes of an engine."""

    def __init__(
        self, resources: Resources, now_ms: Callable[[], int], spending: "StoredSpending | None" = None
    ) -> None:
        self._resources, self._endpoints = resources, Endpoints(resources, now_ms)
        self._spending, self._prices = spending, Prices(now_ms)
        # Of its own: however long users' functions keep theirs.
        self._threads = Threads(2)
        self._remote: Remote | None = None
        self._local: MiniLm | None = None
        self._loading = asyncio.Lock()

    async def embed(self, index: VectorIndex, texts: Sequence[str]) -> Embeddings:
        """Embed at most TEXTS_MAX texts; raises ActionFailed."""
        assert 0 < len(texts) <= TEXTS_MAX
        await self._endpoints.check_allowed(index)
        if index.embedding_provider == "local":
            return await self._by_model(index, texts)
        longest = LENGTHS_MAX[index.embedding_provider]
        endpoint = await self._endpoints.of(index)
        remote = self._remote or await self._load_remote()
        found, tokens = await self._counted(remote, index, endpoint, [text[:longest] for text in texts])
        if len(found) != len(texts):
            raise _garbled(index, f"{len(found)} vectors for {len(texts)} texts")
        return Embeddings([_checked(index, one) for one in found], [len(text) > longest for text in texts], tokens)

    async def close(self) -> None:
        """Close all connections."""
        if self._remote:
            await self._remote.close()
        self._threads.close()

    async def _counted(
        self, remote: "Remote", index: VectorIndex, endpoint: Endpoint, texts: list[str]
    ) -> tuple[list[list[float]], int]:
        """Ask a server, and count what that costs where there is a budget; raises ActionFailed where it is used up."""
        tenancy = await self._resources.tenancy(index.project_id)
        if self._spending is None or not tenancy.has_budget:
            return await remote.embed(index, endpoint, texts)
        if not self._prices.is_loaded:
            await self._threads.call(self._prices.load)
        provider, size = (
            PROVIDERS[index.embedding_provider],
            sum(len(text.encode("utf-8", "replace")) for text in texts),
        )
        cost = self._prices.under_budget(
            provider,
            index.embedding_model,
            endpoint.base_url,
            tenancy.workspace.model_prices,
            f"what embeds for the vector index {index.name!r}",
        )
        async with self._spending.embedding(tenancy, cost(Used(size))) as call:
            try:
                found, tokens = await remote.embed(index, endpoint, texts)
            except ActionFailed as error:
                if "status" in error.details or error.code == "ADDRESS_REFUSED":
                    call.charge(0.0)  # It was refused, and costs nothing; otherwise the worst case counts.
                raise
            # A server elsewhere may say what it likes, but not less than our estimate, nor more than there was.
            if endpoint.base_url is not None or not tokens:
                tokens = min(max(tokens, size // _BYTES_PER_TOKEN + 1), max(size, 1))
            call.charge(cost(Used(tokens)))
        return found, tokens

    async def _by_model(self, index: VectorIndex, texts: Sequence[str]) -> Embeddings:
        if index.embedding_model not in _LOCAL_MODELS:
            message = (
                f"there is no local model {index.embedding_model!r} for the vector index {index.name!r}; there is "
                f"{_LOCAL_MODELS[0]}, and with the provider openai any server that OPENAI_BASE_URL names"
            )
            raise ActionFailed("MODEL_UNKNOWN", message, details={"model": index.embedding_model})
        model = self._local or await self._load_local()
        vectors, cut, tokens = [], [], 0
        for text in texts:
            # One by one, so that somebody else has a turn, and nothing goes on for long when it is cancelled.
            vector, count, was_cut = await self._threads.call(partial(model.embed, text))
            vectors.append(_checked(index, vector))
            cut.append(was_cut)
            tokens += count
        return Embeddings(vectors, cut, tokens)

    async def _load_local(self) -> "MiniLm":
        def load() -> "MiniLm":
            try:
                # numpy is an extra.
                from wonder.actions.embedding.minilm import MiniLm
            except ImportError as error:
                message = "local embeddings need numpy; install it: pip install 'wonder-workflows[vectors]'"
                raise ActionFailed("EXTRA_MISSING", message, details={"missing": str(error.name)}) from error
            return MiniLm()

        async with self._loading:
            if self._local is None:
                self._local = await self._threads.call(load)
        assert self._local
        return self._local

    async def _load_remote(self) -> "Remote":
        def load() -> None:
            # httpx2 takes a fifth of a second to load, so this runs in a thread.
            from wonder.actions.embedding import remote
            from wonder.actions.http import client as http_client

            del remote
            http_client.prepare()

        async with self._loading:
            if self._remote is None:
                await self._threads.call(load)
                # Loaded above.
                from wonder.actions.embedding.remote import Remote

                self._remote = Remote()
        return self._remote


def _checked(index: VectorIndex, values: Sequence[float]) -> "array[float]":
    """Give a vector of length 1; raises ActionFailed for one that can't be searched for."""
    if len(values) != index.dimensions:
        message = (
            f"{index.embedding_model!r} of {index.embedding_provider} gives vectors of {len(values)} dimensions, and "
            f"the vector index {index.name!r} says {index.dimensions}; correct its dimensions or its embedding_model"
        )
        details = {"found": len(values), "dimensions": index.dimensions}
        raise ActionFailed("EMBEDDING_DIMENSIONS", message, details=details)
    length = math.hypot(*values)
    if not math.isfinite(length) or length == 0:
        raise _garbled(index, "a vector without a direction")
    return array("f", [value / length for value in values])


def _garbled(index: VectorIndex, what: str) -> ActionFailed:
    message = (
        f"{index.embedding_model!r} of {index.embedding_provider}, which embeds for {index.name!r}, gave {what}; check "
        "that its address leads to a server of embeddings"
    )
    return ActionFailed("PROVIDER_GARBLED", message)
