"""A real server of embeddings on loopback: OpenAI's wire and Cloudflare's, with vectors that are counts of words."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from zlib import crc32

from support.http_peer import HttpPeer, Received, answer, http_peer

DIMENSIONS = 64
MODEL = "words"


def embedding(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Count a text's words, each in its own dimension."""
    counts = [0.0] * dimensions
    for word in text.lower().split():
        counts[crc32(word.encode()) % dimensions] += 1.0
    return counts


def cosine(left: list[float], right: list[float]) -> float:
    """Say how near two vectors are."""
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.hypot(*left) / math.hypot(*right)


class EmbeddingPeer:
    """What it was asked to embed; `delay` is how many seconds it takes for that."""

    def __init__(self, http: HttpPeer) -> None:
        self.http, self.base_url = http, f"{http.url}/v1"
        self.delay = 0.0
        self.refused: set[str] = set()
        """It answers 400 where one of these is among the texts."""
        http.answers["/v1/embeddings"] = self._openai
        http.answers["/cf/accounts/a1/ai/run/@cf/words"] = self._cloudflare

    @property
    def texts(self) -> list[str]:
        """All texts that it was sent, in order."""
        found: list[str] = []
        for received in self.http.received:
            body = json.loads(received.body)
            found += body["text"] if "text" in body else body["input"]
        return found

    async def _openai(self, received: Received, writer: asyncio.StreamWriter) -> None:
        texts = json.loads(received.body)["input"]
        await asyncio.sleep(self.delay)
        if self.refused & set(texts):
            writer.write(answer(400, {"error": {"message": "this can't be embedded"}}))
            return
        # In another order than it was asked, as the protocol allows.
        data = [{"object": "embedding", "index": i, "embedding": embedding(text)} for i, text in enumerate(texts)]
        writer.write(answer(200, {"data": data[::-1], "usage": {"prompt_tokens": 3 * len(texts)}}))

    async def _cloudflare(self, received: Received, writer: asyncio.StreamWriter) -> None:
        texts = json.loads(received.body)["text"]
        data = [embedding(text) for text in texts]
        writer.write(answer(200, {"result": {"shape": [len(data), DIMENSIONS], "data": data}, "success": True}))


@asynccontextmanager
async def embedding_peer() -> AsyncIterator[EmbeddingPeer]:
    """A server of embeddings."""
    async with http_peer() as http:
        yield EmbeddingPeer(http)
