"""What servers say besides answering: their standard error and their log messages, kept within bounds."""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from wonder.actions.captured_logs import SAID_OTHERWISE, say
from wonder.actions.context import CURRENT, ActionContext
from wonder.actions.logs.collecting import LogCollector
from wonder.actions.logs.lines import LogLines
from wonder.actions.mcp.losses import shown

_LAST: Final = 5
# What a server says so soon after a call may well belong to it: two pipes have no common order.
_AFTER_CALL_SECONDS: Final = 1.0

log = logging.getLogger("wonder.mcp")
_SERVERS = logging.getLogger(SAID_OTHERWISE)


class Journal:
    """Writes one server's lines to the log: each cut, and only so many a second."""

    def __init__(self, server: str, project_id: str, clock: Callable[[], float]) -> None:
        self._server, self._project_id, self._clock = server, project_id, clock
        self._lines = LogLines(self._log, clock)
        self._callers: list[ActionContext] = []
        self._last_caller: tuple[float, ActionContext] | None = None
        self._logs: LogCollector | None = None
        self.last: deque[str] = deque(maxlen=_LAST)

    def note_call(self) -> None:
        """Note that a call begins: what the server says meanwhile belongs to its run, if no other call is under way."""
        if caller := CURRENT.get(None):
            self._callers.append(caller)
            self._logs = caller.logs

    def note_end(self) -> None:
        """Note that a call has ended."""
        if (caller := CURRENT.get(None)) in self._callers and caller:
            self._callers.remove(caller)
            self._last_caller = (self._clock(), caller)

    def feed(self, data: bytes) -> None:
        """Take bytes of its standard error as they come."""
        self._lines.feed(data)

    def close(self) -> None:
        """Write what is left."""
        self._lines.close()
        self._last_caller = None

    def write(self, text: str, level: int = logging.INFO) -> None:
        """Write one line."""
        self._lines.write(text, level)

    def _log(self, level: int, text: str) -> None:
        text = shown(text)
        self.last.append(text)
        service = f"mcp/{self._server}"
        if caller := self._caller():
            caller.say_of(service)(level, text)
        elif self._logs:
            self._logs.add(level, service, text, fields={"project_id": self._project_id})
        else:
            say(level, service, text, project_id=self._project_id)
        _SERVERS.log(level, "%s: %s", self._server, text)

    def _caller(self) -> ActionContext | None:
        if self._callers:
            return self._callers[0] if len(self._callers) == 1 else None
        if self._last_caller and self._clock() - self._last_caller[0] < _AFTER_CALL_SECONDS:
            return self._last_caller[1]
        return None
