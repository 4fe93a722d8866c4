"""The standard error of programs, as log records: each line cut, and only so many a second."""

import logging
import time
from collections.abc import Callable
from typing import Final

LINE_BYTES: Final = 2_000
LINES_PER_SECOND: Final = 100


class LogLines:
    """Takes the bytes that a program writes, and gives its lines; a flood of them costs next to nothing."""

    def __init__(self, write: Callable[[int, str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._partial = bytearray()
        self._is_cut = False
        self._second, self._lines, self._dropped = 0, 0, 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        *lines, rest = data.split(b"\n", LINES_PER_SECOND)
        for line in lines:
            self._add(line)
            self._end_line()
        if b"\n" in rest:
            # More than would be shown: only counted.
            self._dropped += rest.count(b"\n")
            rest = rest[rest.rindex(b"\n") + 1 :]
            self._partial.clear()
        self._add(rest)

    def close(self) -> None:
        """Write what is left."""
        if self._partial:
            self._end_line()
        if self._dropped:
            self._write(logging.INFO, f"{self._dropped:,} more lines are not shown")
            self._dropped = 0

    def write(self, text: str, level: int = logging.INFO) -> None:
        """Write one line."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._lines = second, 0
            if self._dropped:
                self._write(logging.INFO, f"{self._dropped:,} lines are not shown, it writes too many")
                self._dropped = 0
        self._lines += 1
        if self._lines > LINES_PER_SECOND:
            self._dropped += 1
        else:
            self._write(level, text)

    def _add(self, part: bytes) -> None:
        room = LINE_BYTES - len(self._partial)
        self._is_cut |= len(part) > room
        self._partial += part[:room]

    def _end_line(self) -> None:
        text = bytes(self._partial).decode("utf-8", "replace").rstrip("\r") + (" …" if self._is_cut else "")
        self._partial.clear()
        self._is_cut = False
        if text:
            self.write(text)
