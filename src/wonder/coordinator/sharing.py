"""Sharing: a read that many want at one moment is made once, and nobody gets an answer from before they asked."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


class SharedReads(Generic[Key, Result]):
    """Reads by key; who asks while one is under way gets the next, which all share who come until it begins."""

    def __init__(self, read: Callable[[Key], Awaitable[Result]]) -> None:
        self._read = read
        self._waiting: dict[Key, list[asyncio.Future[Result]]] = {}
        self._next: dict[Key, asyncio.Task[Result]] = {}
        self._under_way: dict[Key, asyncio.Task[Result]] = {}

    async def get(self, key: Key) -> Result:
        """Give what was read after this was called; raises what reading raises."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = []
            reading = self._next[key] = loop.create_task(self._read_after(key, self._under_way.get(key)))
            reading.add_done_callback(partial(self._ended, key, waiting))
        # One for each, who may be cancelled without the others: a thousand who come at once have nothing else to pay.
        answer: asyncio.Future[Result] = loop.create_future()
        waiting.append(answer)
        return await answer

    async def _read_after(self, key: Key, before: "asyncio.Task[Result] | None") -> Result:
        if before is not None:
            await asyncio.wait([before])
        # Whoever comes from here on might see an older answer.
        self._begin(key)
        return await self._read(key)

    def _begin(self, key: Key) -> None:
        del self._waiting[key]
        self._under_way[key] = self._next.pop(key)

    def _ended(self, key: Key, waiting: "list[asyncio.Future[Result]]", reading: "asyncio.Task[Result]") -> None:
        """Tell all who wait. It is called however the reading ends, also if it was cancelled before it began."""
        if self._next.get(key) is reading:
            self._begin(key)
        if self._under_way.get(key) is reading:
            del self._under_way[key]
        error = None if reading.cancelled() else reading.exception()
        for answer in waiting:
            if answer.done():
                continue
            if reading.cancelled():
                answer.cancel()
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(reading.result())
