"""TransformPool: workers that run transforms, as many at once as there are cores, the rest in line."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from signal import SIGKILL, SIGTERM, SIGXCPU, Signals
from typing import Final

from wonder.language.values import JsonValue
from wonder.sandbox.pool_errors import TransformFailed, WorkerLost, WorkerNotStarted
from wonder.sandbox.pool_values import crashed, failure, is_worn, out_of_time, read_output, request
from wonder.sandbox.worker import OUTPUT
from wonder.sandbox.worker_process import Answer, WorkerProcess

MEMORY_BYTES_MAX: Final = 64 << 20

# What a worker may have grown by and be kept.
_GROWN_KIB: Final = 32 << 10
_CLOSE_SECONDS: Final = 5.0

log = logging.getLogger("wonder.sandbox")


class TransformPool:
    """Workers of one loop. They are started when they are needed, and replaced when they were ended or have grown.

    Two at least, so that one transform that uses up its time does not hold up all others.
    """

    def __init__(self, workers_max: int | None = None) -> None:
        self.workers_max = workers_max or max(2, _cores())
        self._workers: set[WorkerProcess] = set()
        self._idle: deque[WorkerProcess] = deque()
        self._line: deque[_Run] = deque()
        self._is_closed = False

    def begin(self) -> None:
        """Start a worker beside, if there is none, so that the first transform need not wait for it."""
        if not self._workers and not self._is_closed:
            try:
                self._add()
            except WorkerNotStarted as error:
                log.warning("%s", error)

    async def run(
        self,
        javascript: str,
        input: JsonValue,
        *,
        time_ms: int,
        memory_bytes: int,
        on_start: Callable[[], None] | None = None,
    ) -> JsonValue:
        """Run a script, and the function that it leaves as `__transform`; raises TransformFailed.

        `on_start` is called when a worker is free for it.
        """
        frame = request(javascript, input, time_ms=time_ms, memory_bytes=memory_bytes)
        answer = await self._ask(frame, time_ms, on_start)
        if answer.kind == OUTPUT:
            return read_output(answer.content)
        raise failure(answer.kind, answer.content, time_ms=time_ms, memory_bytes=memory_bytes)

    async def close(self) -> None:
        """End all workers."""
        self._is_closed = True
        for run in self._line:
            run.answer.cancel()
        ended = [worker.ended for worker in self._workers]
        for worker in self._workers:
            worker.kill()
        if ended:
            await asyncio.wait(ended, timeout=_CLOSE_SECONDS)

    async def _ask(self, frame: bytes, time_ms: int, on_start: Callable[[], None] | None) -> Answer:
        is_again = False
        while True:
            run = _Run(frame, time_ms / 1_000, on_start)
            self._enter(run)
            try:
                return await run.answer
            except asyncio.CancelledError:
                if run.worker:
                    run.worker.give_up(run.answer)
                raise
            except WorkerLost as lost:
                if lost.was_late or lost.exit_code == -SIGXCPU:
                    raise out_of_time(time_ms) from None
                # Somebody else has ended it. A transform is pure, so it can begin again; once, for it may be the cause.
                if is_again or lost.exit_code not in (-SIGKILL, -SIGTERM):
                    raise crashed(_how_ended(lost.exit_code)) from lost
                is_again = True

    def _enter(self, run: "_Run") -> None:
        """Begin a run, or put it in line; raises TransformFailed if no worker can be started."""
        # A second one is started beside with the first run: while one makes its next world, the other has one.
        if len(self._workers) < (min(2, self.workers_max) if self._idle else self.workers_max):
            try:
                self._add()
            except WorkerNotStarted as error:
                if not self._workers:
                    raise _not_started(error) from error
        if self._idle:
            # The one that was busy longest ago: it has its next world ready.
            run.begin(self._idle.popleft())
        else:
            run.wait()
            self._line.append(run)

    def _add(self) -> None:
        if self._is_closed:
            raise WorkerNotStarted("all of them were ended")
        worker = WorkerProcess(MEMORY_BYTES_MAX, self._give_back, self._ended)
        self._workers.add(worker)
        worker.ready.add_done_callback(lambda ready: None if ready.exception() else self._free(worker))

    def _give_back(self, worker: WorkerProcess, answer: Answer) -> None:
        if is_worn(answer.kind, answer.content) or answer.kib > worker.kib_at_start + _GROWN_KIB:
            worker.kill()
        else:
            self._free(worker)

    def _free(self, worker: WorkerProcess) -> None:
        """Give a worker to the first in line."""
        if worker.is_ending:
            # Its answer came just before it was ended, and another takes its place.
            return
        while self._line:
            run = self._line.popleft()
            if not run.answer.done():
                run.begin(worker)
                return
        self._idle.append(worker)

    def _ended(self, worker: WorkerProcess) -> None:
        """Put another worker in the place of one that has ended, unless that had nothing to do."""
        self._workers.discard(worker)
        if self._is_closed:
            return
        if worker in self._idle:
            self._idle.remove(worker)
            return
        try:
            worker.ready.result()
            self._add()
        except WorkerNotStarted as error:
            log.warning("%s", error)
            # Those in line would wait for ever; who comes later tries again.
            while self._line and not self._workers:
                run = self._line.popleft()
                if not run.answer.done():
                    run.answer.set_exception(_not_started(error))


class _Run:
    """A run that waits for a worker, and then for its answer."""

    __slots__ = ("_frame", "_on_start", "_seconds", "answer", "worker")

    def __init__(self, frame: bytes, seconds: float, on_start: Callable[[], None] | None) -> None:
        self._frame, self._seconds, self._on_start = frame, seconds, on_start
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.worker: WorkerProcess | None = None

    def wait(self) -> None:
        """Be ready to be begun by another than who asked for it."""
        if self._on_start:
            self._on_start = partial(copy_context().run, self._on_start)

    def begin(self, worker: WorkerProcess) -> None:
        """Have a worker run it."""
        self.worker = worker
        worker.ask(self._frame, self._seconds, self.answer)
        if self._on_start:
            self._on_start()


def _not_started(error: WorkerNotStarted) -> TransformFailed:
    return TransformFailed("TRANSFORM_NOT_STARTED", str(error), retryable=True)


def _how_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        try:
            return f"it was ended by {Signals(-exit_code).name}"
        except ValueError:
            return f"it was ended by signal {-exit_code}"
    return f"it has ended with {exit_code}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
