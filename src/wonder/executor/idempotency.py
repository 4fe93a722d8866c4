"""Acting once per key (RET-4): what an executor needs of a store, and one in memory."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol

from wonder.language.values import JsonValue


class IdempotencyKey(NamedTuple):
    """A key in its scope, which is project and action."""

    project_id: str
    action_id: str
    text: str


class Kept(NamedTuple):
    """The output of an earlier execution with the same key."""

    output: JsonValue


class IdempotencyStore(Protocol):
    """Where successes are kept; one execution per key at a time holds it."""

    async def claim(self, key: IdempotencyKey) -> Kept | None:
        """Return what is kept, or None when the caller holds the key now and must complete or release it.

        Waits while another execution holds it.
        """

    async def complete(self, key: IdempotencyKey, output: JsonValue, ttl_seconds: int | None) -> None:
        """Keep the output of the execution that holds the key, for a time or for ever."""

    async def release(self, key: IdempotencyKey) -> None:
        """Give up a key that is held: the execution failed, and the next may act."""


class MemoryIdempotency:
    """Successes kept in memory, for as long as this program runs."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._held: dict[IdempotencyKey, asyncio.Event] = {}
        self._kept: dict[IdempotencyKey, tuple[Kept, int | None]] = {}

    async def claim(self, key: IdempotencyKey) -> Kept | None:
        """Return what is kept, or None when the caller holds the key now."""
        while True:
            if kept := self._within_ttl(key):
                return kept
            held = self._held.get(key)
            if held is None:
                self._held[key] = asyncio.Event()
                return None
            await held.wait()

    async def complete(self, key: IdempotencyKey, output: JsonValue, ttl_seconds: int | None) -> None:
        """Keep an output."""
        until_ms = None if ttl_seconds is None else self._now_ms() + ttl_seconds * 1_000
        self._kept[key] = (Kept(output), until_ms)
        await self.release(key)

    async def release(self, key: IdempotencyKey) -> None:
        """Let the next that waits have the key."""
        self._held.pop(key).set()

    def _within_ttl(self, key: IdempotencyKey) -> Kept | None:
        kept, until_ms = self._kept.get(key, (None, None))
        if kept and until_ms is not None and until_ms <= self._now_ms():
            del self._kept[key]
            return None
        return kept
