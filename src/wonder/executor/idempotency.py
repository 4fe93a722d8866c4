"""Acting once per key (RET-4): what an executor needs of a store, who holds a key, and a store in memory."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol

from wonder.language.values import JsonValue
from wonder.storage.idempotency import Kept


class IdempotencyKey(NamedTuple):
    """A key in its scope, which is project and action."""

    project_id: str
    action_id: str
    text: str


class IdempotencyStore(Protocol):
    """Where successes are kept; one execution per key at a time holds it."""

    async def claim(self, key: IdempotencyKey) -> Kept | None:
        """Return what is kept, or None when the caller holds the key now and must complete or release it.

        Waits while another execution holds it.
        """

    async def complete(self, key: IdempotencyKey, output: JsonValue, ttl_seconds: int | None) -> None:
        """Keep the output of the execution that holds the key, for a time or for ever, and let go of the key."""

    def release(self, key: IdempotencyKey) -> None:
        """Give up a key that is held: the execution failed, and the next may act."""


class Claims:
    """Which keys are held, and who waits for them.

    They are in memory only, because one process at a time runs the engine: a claim dies with its holder, and costs
    no commit.
    """

    def __init__(self) -> None:
        self._held: dict[IdempotencyKey, asyncio.Future[Kept | None]] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def take(self, key: IdempotencyKey) -> Kept | None:
        """Return None when the caller holds the key now, or what its holder has kept; waits while there is one."""
        while held := self._held.get(key):
            # Shielded, because one that gives up must not take the others with it.
            if kept := await asyncio.shield(held):
                return kept
        self._held[key] = asyncio.get_running_loop().create_future()
        return None

    def free(self, key: IdempotencyKey, kept: Kept | None = None) -> None:
        """Let go of a key: those that wait get what was kept, or else one of them holds it next."""
        self._held.pop(key).set_result(kept)


class MemoryIdempotency:
    """Successes kept in memory, for as long as this program runs."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._claims = Claims()
        self._kept: dict[IdempotencyKey, tuple[Kept, int | None]] = {}

    async def claim(self, key: IdempotencyKey) -> Kept | None:
        """Return what is kept, or None when the caller holds the key now."""
        return self._within_ttl(key) or await self._claims.take(key)

    async def complete(self, key: IdempotencyKey, output: JsonValue, ttl_seconds: int | None) -> None:
        """Keep an output."""
        kept = Kept(output)
        self._kept[key] = (kept, expiry_ms(self._now_ms(), ttl_seconds))
        self._claims.free(key, kept)

    def release(self, key: IdempotencyKey) -> None:
        """Let the next that waits have the key."""
        self._claims.free(key)

    def _within_ttl(self, key: IdempotencyKey) -> Kept | None:
        kept, until_ms = self._kept.get(key, (None, None))
        if kept and until_ms is not None and until_ms <= self._now_ms():
            del self._kept[key]
            return None
        return kept


def expiry_ms(now_ms: int, ttl_seconds: int | None) -> int | None:
    """Say when what is kept from now on expires; None for never."""
    return None if ttl_seconds is None else now_ms + ttl_seconds * 1_000
