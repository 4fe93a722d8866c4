"""WorkerProcess: the engine's side of one worker, which it asks, waits for, and ends."""

import asyncio
import fcntl
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from wonder.sandbox.pool_errors import WorkerLost, WorkerNotStarted
from wonder.sandbox.worker import ANSWER, OUTPUT_BYTES_MAX, READY
from wonder.sandbox.worker_start import start, why_not_started

_PIPE_BYTES: Final = 1 << 20
# Room for more than this is asked of the kernel and given back each time.
_CHUNK_BYTES: Final = 64 << 10
_START_SECONDS: Final = 30.0
# QuickJS ends by itself what it can interrupt, so it is given a moment for that.
_LATE_SECONDS: Final = 0.1
# A busy machine is no reason to fail: the time counts that the worker has computed, unless it takes far too long.
_WALL_TIMES_MAX: Final = 10


class Answer(NamedTuple):
    """What a worker has sent: its kind, the KiB that it had in memory beforehand, and the content."""

    kind: bytes
    kib: int
    content: bytes


class WorkerProcess:
    """One worker, which runs one transform at a time.

    `ready` is done when it can be asked, and fails with WorkerNotStarted if it never can. `on_answer` is called when it
    has answered, and can be asked again; `on_end` once, when it has ended for whatever reason.
    """

    def __init__(
        self,
        memory_bytes_max: int,
        on_answer: Callable[["WorkerProcess", "Answer"], None],
        on_end: Callable[["WorkerProcess"], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_answer, self._on_end = on_answer, on_end
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.kib_at_start = 0
        self._answer: asyncio.Future[Answer] | None = None
        self._read, self._missing = bytearray(), 0
        self._left = memoryview(b"")
        self._late: asyncio.TimerHandle | None = None
        self._late_at = self._begun = self._seconds = 0.0
        self._begun_cpu: float | None = None
        self._was_late = False
        self._exit_code: int | None = None
        self.is_ending = False
        """Whether it was ended, and must not be asked any more."""
        self._popen, self._lifeline = start(memory_bytes_max)
        assert self._popen.stdin
        assert self._popen.stdout
        self._to, self._from = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        for pipe in (self._to, self._from):
            os.set_blocking(pipe, False)
            with suppress(AttributeError, OSError):  # where a system has no such thing, or no more of it for us
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._loop.add_reader(self._from, self._readable)
        self._late = self._loop.call_later(_START_SECONDS, self.kill)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._popen.pid

    @property
    def is_busy(self) -> bool:
        """Whether it runs a transform."""
        return self._answer is not None

    def ask(self, frame: bytes, seconds: float, answer: "asyncio.Future[Answer]") -> None:
        """Have a transform run within so many seconds of computing; a future is given its answer, or WorkerLost."""
        assert self._answer is None, "a worker runs one transform at a time"
        if self.ended.done():
            # Its descriptors may mean something else by now.
            answer.set_exception(WorkerLost(self._exit_code, was_late=False))
            return
        self._answer = answer
        self._send(frame)
        self._watch(seconds)

    def give_up(self, answer: "asyncio.Future[Answer]") -> None:
        """End it if it still computes what nobody waits for any more."""
        if self._answer is answer:
            self.kill()

    def kill(self) -> None:
        """End it; that it has ended is noticed a moment later."""
        self.is_ending = True
        if not self.ended.done():
            self._popen.kill()

    def _send(self, frame: bytes) -> None:
        try:
            written = os.write(self._to, frame)  # most often all of it
        except BlockingIOError:
            written = 0
        except OSError:  # it has ended, and the caller learns it when that is read
            return
        if written < len(frame):
            self._left = memoryview(frame)[written:]
            self._loop.add_writer(self._to, self._writable)

    def _writable(self) -> None:
        try:
            self._left = self._left[os.write(self._to, self._left[:_PIPE_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            self._left = memoryview(b"")
        if not self._left:
            self._left = memoryview(b"")  # of nothing large any more
            self._loop.remove_writer(self._to)

    def _readable(self) -> None:
        try:
            chunk = os.read(self._from, max(_CHUNK_BYTES, self._missing))
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._end()
            return
        read = self._read
        read += chunk
        if len(read) < ANSWER.size:
            return
        kind, kib, size = ANSWER.unpack_from(read)
        missing = ANSWER.size + size - len(read)
        self._missing = max(0, min(missing, _PIPE_BYTES))
        if size > OUTPUT_BYTES_MAX:
            self.kill()  # not what a worker of ours sends
        elif missing <= 0:
            content = bytes(memoryview(read)[ANSWER.size : ANSWER.size + size])
            self._read = bytearray()
            self._take(Answer(kind, kib, content))

    def _take(self, answer: Answer) -> None:
        if answer.kind == READY:
            self.kib_at_start = answer.kib
            self._look_at(None)
            if not self.ready.done():
                self.ready.set_result(None)
        elif asked := self._answer:
            self._answer = None
            if not asked.done():
                asked.set_result(answer)
            self._on_answer(self, answer)

    def _watch(self, seconds: float) -> None:
        """End it when the time is over, seen from outside: there are loops that nothing inside can interrupt."""
        self._seconds, self._begun, self._begun_cpu = seconds, self._loop.time(), _cpu_seconds(self.pid)
        due = self._begun + seconds + _LATE_SECONDS
        # A look that was meant for an earlier run comes sooner, and then looks ahead: so most runs need no timer.
        if self._late is None or due < self._late_at:
            self._look_at(due)

    def _look(self) -> None:
        self._late = None
        if self._answer is None:
            return
        now, now_cpu, seconds = self._loop.time(), _cpu_seconds(self.pid), self._seconds
        took = now - self._begun
        used = took if self._begun_cpu is None or now_cpu is None else now_cpu - self._begun_cpu
        if used >= seconds or took >= _WALL_TIMES_MAX * seconds + _LATE_SECONDS:
            self._was_late = True
            self.kill()
        else:
            self._look_at(now + seconds - used + _LATE_SECONDS)

    def _look_at(self, due: float | None) -> None:
        """Look at a moment whether it is late, and at no other."""
        if self._late:
            self._late.cancel()
        self._late = None if due is None else self._loop.call_at(due, self._look)
        self._late_at = due or 0.0

    def _end(self) -> None:
        """Note that it has closed its output, which it does by ending: what is left of it can be waited for."""
        self._loop.remove_reader(self._from)
        self._loop.remove_writer(self._to)
        self._look_at(None)
        self.is_ending = True
        exit_code = self._exit_code = _reap(self._popen)
        os.close(self._lifeline)
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe
            pipe.close()
        if not self.ready.done():
            self.ready.set_exception(WorkerNotStarted(why_not_started(exit_code)))
            self.ready.exception()  # looked at, because nobody else may
        if self._answer and not self._answer.done():
            self._answer.set_exception(WorkerLost(exit_code, was_late=self._was_late))
        self._answer = None
        self.ended.set_result(None)
        self._on_end(self)


def _cpu_seconds(pid: int) -> float | None:
    """Give how long a process has computed; None where a system does not say."""
    try:
        # Linux makes the number of a process's clock out of the process's own.
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, OverflowError):
        return None


def _reap(popen: "subprocess.Popen[bytes]") -> int | None:
    try:
        # It has closed its files, which is the last but one thing that a process does.
        return popen.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        popen.kill()
        return None
