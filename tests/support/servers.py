"""A real server on loopback, in a thread of its own, that several tests ask."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
import uvloop

from wonder.api.door import Door
from wonder.api.limits import Limits
from wonder.api.serving import address_of, bind, served
from wonder.app.application import Application
from wonder.app.opening import open_wonder

_SECONDS = 60.0
Result = TypeVar("Result")


class RunningServer:
    """A server that answers on `url`; `door` and what is behind it belong to the thread of its loop."""

    def __init__(self, database_url: str, limits: Limits | None, functions: dict[str, Callable[..., Any]]) -> None:
        self.database_url, self._limits, self._functions = database_url, limits, functions
        self.url = ""
        self.door: Door
        self.loop = uvloop.new_event_loop()
        self._stop: asyncio.Event
        self._begun = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Wait until it answers."""
        self._thread.start()
        assert self._begun.wait(_SECONDS)
        if self._failed:
            raise self._failed

    def stop(self) -> None:
        """End it, and wait for that."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_SECONDS)
        assert not self._thread.is_alive()

    def ask(self, work: Callable[[Application], Awaitable[Result]]) -> Result:
        """Do something with the application of the server, in its loop."""

        async def asked() -> Result:
            return await work(self.door.application)

        return asyncio.run_coroutine_threadsafe(asked(), self.loop).result(_SECONDS)

    def client(self, key: str | None = None, **options: Any) -> httpx2.Client:
        """Give a client of the server; whoever asks for it closes it."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=_SECONDS, trust_env=False, **options)

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.url.rpartition(":")[2])

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._serve())
        except BaseException as error:  # told to the test that waits
            self._failed = error
        finally:
            self._begun.set()
            self.loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        listening = bind("127.0.0.1", 0)
        async with open_wonder(self.database_url, functions=self._functions) as application:
            self.door = await Door.open(application, "127.0.0.1", limits=self._limits)
            async with served(self.door, listening, stop_seconds=1):
                self.url = address_of(listening)
                self._begun.set()
                await self._stop.wait()


@contextmanager
def running_server(
    database_url: str, *, limits: Limits | None = None, functions: dict[str, Callable[..., Any]] | None = None
) -> Iterator[RunningServer]:
    """Run a server on a database, with an engine."""
    server = RunningServer(database_url, limits, functions or {})
    server.start()
    try:
        yield server
    finally:
        server.stop()
