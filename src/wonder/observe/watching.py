"""What actions report while they run, passed on to the watchers of a run; nothing of it is kept."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from wonder.actions.copied_values import take_value
from wonder.actions.protocol import Origin
from wonder.language.values import BadValue, JsonValue

MESSAGES_MAX: Final = 1_000
"""How many messages wait for a watcher; of one that does not come to look, the oldest are dropped."""


class Progress(msgspec.Struct, frozen=True):
    """What an action has told: partial text, how far it is, what it waits for."""

    node: str
    branch: str
    step: str
    progress: JsonValue


class Watcher:
    """One that watches a run; messages come in any thread and go out in its own loop."""

    def __init__(self, messages_max: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._messages: deque[Progress] = deque(maxlen=messages_max)
        self._come = asyncio.Event()
        self._is_over = False
        self.dropped = 0
        """How many messages were never looked at."""

    def take(self) -> list[Progress]:
        """Give what has come since the last time, oldest first."""
        self._come.clear()
        taken: list[Progress] = []
        while self._messages:
            taken.append(self._messages.popleft())
        return taken

    async def messages(self) -> AsyncIterator[Progress]:
        """Give each message as it comes, until there are no more to come."""
        while True:
            for message in self.take():
                yield message
            if self._is_over:
                return
            await self._come.wait()

    def end(self) -> None:
        """Let no more messages come; what has come is still given."""
        self._is_over = True
        self._wake()

    def put(self, message: Progress) -> None:
        """Add a message, in whatever thread; never waits."""
        self.dropped += len(self._messages) == self._messages.maxlen
        self._messages.append(message)
        if not self._come.is_set():
            self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._come.set)


class Watchers:
    """All that watch runs of an engine."""

    def __init__(self) -> None:
        self._by_run: dict[str, tuple[Watcher, ...]] = {}
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._by_run.values()))

    def tell(self, origin: Origin, step: str, progress: JsonValue) -> None:
        """Pass on what an action tells, if anybody watches its run; in whatever thread, and without waiting."""
        watching = self._by_run.get(origin.run_id)
        if watching:
            try:
                # A copy: the action may go on changing its value.
                message = Progress(origin.node, origin.branch, step, take_value(progress))
            except BadValue:
                return  # What can't be written down can't be shown either.
            for watcher in watching:
                watcher.put(message)

    @contextmanager
    def watch(self, run_id: str, messages_max: int = MESSAGES_MAX) -> Iterator[Watcher]:
        """Watch a run from now on."""
        watcher = Watcher(messages_max)
        with self._changing:
            self._by_run[run_id] = (*self._by_run.get(run_id, ()), watcher)
        try:
            yield watcher
        finally:
            with self._changing:
                left = tuple(one for one in self._by_run[run_id] if one is not watcher)
                if left:
                    self._by_run[run_id] = left
                else:
                    del self._by_run[run_id]
