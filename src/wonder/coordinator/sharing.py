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
        self._waiting: dict[Key, list[asyncio.Future[Result]]] = {}
        self._next: dict[Key, asyncio.Task[None]] = {}
        self._under_way: dict[Key, asyncio.Task[None]] = {}

    async def get(self, key: Key) -> Result:
        """Give what was read after this was called; raises what reading raises."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = []
            self._next[key] = loop.create_task(self._read_after(key, waiting, self._under_way.get(key)))
        # One for each, who may be cancelled without the others: a thousand who come at once have nothing else to pay.
        answer: asyncio.Future[Result] = loop.create_future()
        waiting.append(answer)
        return await answer

    async def _read_after(
        self, key: Key, waiting: "list[asyncio.Future[Result]]", before: "asyncio.Task[None] | None"
    ) -> None:
        following = self._next[key]
        try:
            if before is not None:
                await asyncio.wait([before])
            # Whoever comes from here on might see an older answer.
            self._begin(key)
            result = await self._read(key)
        except Exception as error:
            _fail(waiting, error)
        else:
            _tell(waiting, result)
        finally:
            if self._next.get(key) is following:
                self._begin(key)
            if self._under_way.get(key) is following:
                del self._under_way[key]
            # Nobody is left waiting if this was cancelled.
            for answer in waiting:
                answer.cancel()

    def _begin(self, key: Key) -> None:
        del self._waiting[key]
        self._under_way[key] = self._next.pop(key)


def _tell(waiting: "list[asyncio.Future[Result]]", result: Result) -> None:
    for answer in waiting:
        if not answer.done():
            answer.set_result(result)


def _fail(waiting: "list[asyncio.Future[Result]]", error: Exception) -> None:
    for answer in waiting:
        if not answer.done():
            answer.set_exception(error)
