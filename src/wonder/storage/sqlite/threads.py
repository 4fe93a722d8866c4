"""Threads that own an SQLite connection and run whole jobs on it, so that the event loop never waits for a disk."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import apsw

from wonder.storage.errors import StoreClosed

Result = TypeVar("Result")


class _Job(NamedTuple):
    work: Callable[[apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class ConnectionThreads:
    """Threads that take jobs from one line, first come first served, each with its own connection.

    With one thread the jobs run strictly one after another: that is the writer. A thread starts with a job that finds
    none of them idle, up to `count`.
    """

    def __init__(self, name: str, connect: Callable[[], apsw.Connection], count: int) -> None:
        self._name, self._connect, self._count = name, connect, count
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._connections: list[apsw.Connection] = []
        self._under_way = 0
        self._closed = False
        self._refusing = False

    def submit(self, work: Callable[[apsw.Connection], Result]) -> "asyncio.Future[Result]":
        """Put a job in the line; it runs even when nobody waits for its result any more."""
        if self._closed:
            raise StoreClosed
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._under_way += 1
        if self._under_way > len(self._threads) and len(self._threads) < self._count:
            self._start()
        self._jobs.put(_Job(work, loop, future))
        return future

    def lend(self) -> apsw.Connection | None:
        """Give a connection for use in the caller's own thread, until it next awaits; None while a job is under way."""
        idle = self._connections and not self._under_way and not self._closed
        return self._connections[0] if idle else None

    async def close(self) -> None:
        """Let the jobs in the line end, then close the connections."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    async def break_off(self) -> None:
        """Close without letting the jobs end: those under way are interrupted, those in the line refused."""
        self._refusing = True
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        while any(thread.is_alive() for thread in self._threads):
            # Again and again, because an interrupt just before a statement begins has no effect on it.
            for connection in self._connections:
                with suppress(apsw.ConnectionClosedError):
                    connection.interrupt()
            await asyncio.sleep(0.001)

    def _start(self) -> None:
        name = f"wonder-{self._name}-{len(self._threads)}"
        # Daemons, because a program that forgot to close its store must still be able to end.
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        connection: apsw.Connection | None = None
        while (job := self._jobs.get()) is not None:
            result, error = None, None
            try:
                self._refuse_when_closing()
                if connection is None:
                    connection = self._connect()
                    self._connections.append(connection)
                result = job.work(connection)
            except BaseException as raised:
                error = raised
            # The loop may be gone when a program ends without closing; then nobody waits for the result either.
            with suppress(RuntimeError):
                job.loop.call_soon_threadsafe(self._deliver, job.future, result, error)
            # Held until the next job otherwise, together with everything that its closure holds.
            del job, result, error
        if connection is not None:
            connection.close()

    def _refuse_when_closing(self) -> None:
        if self._refusing:
            raise StoreClosed

    def _deliver(self, future: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
        self._under_way -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
