"""The `wonder` program as a process of its own: started, heard line by line, given signals."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

_PROGRAM = [sys.executable, "-c", "from wonder.cli.main import entry; entry()"]
_SECONDS = 60.0


class Command:
    """A `wonder` command under way."""

    def __init__(self, words: list[str], **given: Any) -> None:
        # A shell starts what it runs in the background with SIGINT ignored.
        heard = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(
                [*_PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **given
            )
        finally:
            signal.signal(signal.SIGINT, heard)
        self.out: list[str] = []
        self.err: list[str] = []
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._readers = [self._read(self.process.stdout, self.out), self._read(self.process.stderr, self.err)]

    def said(self, text: str) -> None:
        """Wait until it has printed a text."""
        self.until(lambda: any(text in line for line in [*self.out, *self.err]), f"{text!r}")

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        end = time.monotonic() + _SECONDS
        while not is_so():
            assert time.monotonic() < end, f"not within {_SECONDS:.0f} s: {what}; {self.out} {self.err}"
            try:
                self._news.get(timeout=0.02)
            except queue.Empty:
                assert is_so() or self.process.poll() is None, f"ended without {what}: {self.out} {self.err}"

    def send(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def ended(self, seconds: float = _SECONDS) -> int:
        """Wait for its end, and return its exit status."""
        status = self.process.wait(timeout=seconds)
        for reader in self._readers:
            reader.join(timeout=_SECONDS)
        return status

    def _read(self, stream: "IO[str] | None", lines: list[str]) -> threading.Thread:
        def read() -> None:
            assert stream
            with stream:
                for line in stream:
                    lines.append(line.rstrip("\n"))
                    self._news.put(None)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        return reader


@contextmanager
def wonder(*words: str, **given: Any) -> Iterator[Command]:
    """Run a command; in the end it is killed if it has not ended."""
    command = Command(list(words), **given)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.ended()
