"""What functions print, as log records of the run that they belong to (EVT-4a)."""

from threading import RLock
from typing import Any, Final, TextIO

from wonder.actions.captured_logs import say
from wonder.actions.context import CURRENT
from wonder.actions.logs.lines import LogLines

SERVICE: Final = "stdout"


class LoggedOutput:
    """A stream that passes on what is written to it, and gives its lines to the logs.

    A line belongs to the attempt whose context variables the writing code has. A thread that a function has started by
    itself has none of them, so that its lines belong to no run.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._nobodys = _PrintedLines(lambda level, line: say(level, SERVICE, line))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; each of its lines is logged when it ends."""
        written = self._stream.write(text)
        self._lines().feed(text.encode("utf-8", "replace"))
        return written

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def end(self) -> None:
        """Log a line of nobody's that was begun; those of runs are logged when their attempt ends."""
        self._nobodys.close()

    def _lines(self) -> LogLines:
        context = CURRENT.get(None)
        if context is None:
            return self._nobodys
        if context.printed is None:
            context.printed = _PrintedLines(context.say_of(SERVICE))
        return context.printed


class _PrintedLines(LogLines):
    """Lines that several threads may write."""

    def __init__(self, write: Any) -> None:
        super().__init__(write)
        # One that can be taken twice: what runs while a line is added, such as a finalizer, may print too.
        self._lock = RLock()

    def feed(self, data: bytes) -> None:
        with self._lock:
            super().feed(data)

    def close(self) -> None:
        with self._lock:
            super().close()
