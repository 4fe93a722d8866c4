"""Sharing: a read that many want at one moment is made once, and nobody gets an answer from before they asked."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class SharedReads(Generic[Key, Result]):
    """Reads by key; who asks while one is under way gets the next, which all share who come until it begins."""

    def __init__(self, read: Callable[[Key], Awaitable[Result]]) -> None:
        self._read = read
        self._next: dict[Key, asyncio.Task[Result]] = {}
        self._under_way: dict[Key, asyncio.Task[Result]] = {}

    async def get(self, key: Key) -> Result:
        """Give what was read after this was called; raises what reading raises."""
        following = self._next.get(key)
        if following is None:
            work = self._read_after(key, self._under_way.get(key))
            following = self._next[key] = asyncio.get_running_loop().create_task(work)
            following.add_done_callback(_look_at_error)
        return await asyncio.shield(following)

    async def _read_after(self, key: Key, before: "asyncio.Task[Result] | None") -> Result:
        try:
            if before is not None:
                await asyncio.wait([before])
        finally:
            # Whoever comes from here on might see an older answer.
            following = self._under_way[key] = self._next.pop(key)
        try:
            return await self._read(key)
        finally:
            if self._under_way.get(key) is following:
                del self._under_way[key]


def _look_at_error(done: "asyncio.Task[Result]") -> None:
    # Whoever asked may be gone; an error that nobody heard is nothing to warn of.
    if not done.cancelled():
        done.exception()
