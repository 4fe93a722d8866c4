"""What servers say besides answering: their standard error and their log messages, kept within bounds."""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from wonder.actions.mcp.losses import shown

_LINE_BYTES: Final = 2_000
_LINES_PER_SECOND: Final = 100
_LAST: Final = 5

log = logging.getLogger("wonder.mcp")


class Journal:
    """Writes one server's lines to the log: each cut, and only so many a second."""

    def __init__(self, server: str, clock: Callable[[], float]) -> None:
        self._server, self._clock = server, clock
        self._partial = bytearray()
        self._is_cut = False
        self._second, self._lines, self._dropped = 0, 0, 0
        self.last: deque[str] = deque(maxlen=_LAST)

    def feed(self, data: bytes) -> None:
        """Take bytes of its standard error as they come."""
        *lines, rest = data.split(b"\n", _LINES_PER_SECOND)
        for line in lines:
            self._add(line)
            self._end_line()
        if b"\n" in rest:
            # More than would be shown: only counted, so that a flood of lines costs next to nothing.
            self._dropped += rest.count(b"\n")
            rest = rest[rest.rindex(b"\n") + 1 :]
        self._add(rest)

    def close(self) -> None:
        """Write what is left."""
        if self._partial:
            self._end_line()
        if self._dropped:
            log.info("%s: %s more lines are not shown", self._server, f"{self._dropped:,}")
            self._dropped = 0

    def write(self, text: str, level: int = logging.INFO) -> None:
        """Write one line."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._lines = second, 0
            if self._dropped:
                log.info("%s: %s lines are not shown, it writes too many", self._server, f"{self._dropped:,}")
                self._dropped = 0
        self._lines += 1
        if self._lines > _LINES_PER_SECOND:
            self._dropped += 1
            return
        text = shown(text)
        self.last.append(text)
        log.log(level, "%s: %s", self._server, text)

    def _add(self, part: bytes) -> None:
        room = _LINE_BYTES - len(self._partial)
        self._is_cut |= len(part) > room
        self._partial += part[:room]

    def _end_line(self) -> None:
        text = bytes(self._partial).decode("utf-8", "replace").rstrip("\r") + (" …" if self._is_cut else "")
        self._partial.clear()
        self._is_cut = False
        if text:
            self.write(text)
