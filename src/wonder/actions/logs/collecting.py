"""Collects log records in memory, within bounds: nobody who logs ever waits, and what is dropped is counted."""

import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from threading import RLock
from typing import Any, Final, NamedTuple

from wonder.actions.attempts import Origin
from wonder.actions.logs.redacted_text import redacted_text, redacted_value
from wonder.clock import SYSTEM_CLOCK
from wonder.storage.logs import Level, LogRecord
from wonder.storage.ulids import ulid_of

RECORDS_MAX: Final = 10_000
BYTES_MAX: Final = 16_000_000
"""So much waits to be written at most, and what the last record holds besides its texts."""
MESSAGE_MAX: Final = 10_000
STACK_MAX: Final = 50_000
# What is longer is cut before it is looked through for secrets; far behind the place where it is cut in the end.
_TAKEN_MAX: Final = 1_000_000
_METADATA_DEPTH: Final = 4
_METADATA_ITEMS: Final = 50
_METADATA_TEXT: Final = 2_000
_RECORD_BYTES: Final = 300
_ITEM_BYTES: Final = 8
_COUNTER_BITS: Final = 40
# What a record of the standard library has by itself; anything else was given as `extra`.
_OWN_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Place(NamedTuple):
    """Where in a run something was logged."""

    origin: Origin
    step: str
    attempt: int


class _Waiting(NamedTuple):
    at_ms: int
    level: int
    service: str
    message: str
    stack: str | None
    place: Place | None
    fields: Mapping[str, Any] | None
    record: logging.LogRecord | None
    size: int


class LogCollector:
    """The log records of one database in this process, until they are written."""

    def __init__(self, trace_id: str) -> None:
        self.dropped = 0
        """How many were dropped and not yet reported."""
        self.on_first: Callable[[], None] | None = None
        """Called in whatever thread logs, when a record waits and none did before."""
        self._trace_id = trace_id
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._is_last_counted = True
        # One that can be taken twice: what runs while a record is added, such as a finalizer, may log too.
        self._lock = RLock()
        self._prefix = int.from_bytes(os.urandom(5)) << _COUNTER_BITS
        self._counter = 0

    @property
    def waiting(self) -> int:
        """How many records wait to be written."""
        return len(self._waiting)

    def add(
        self,
        level: int,
        service: str,
        message: str,
        *,
        place: Place | None = None,
        fields: Mapping[str, Any] | None = None,
        stack: str | None = None,
        record: logging.LogRecord | None = None,
    ) -> None:
        """Take a record, from any thread; `level` is a number of the standard library. Never waits, never raises."""
        at_ms = SYSTEM_CLOCK.now_ms()
        stack = stack[-_TAKEN_MAX:] if stack else None
        message = message[:_TAKEN_MAX]
        size = len(message) + len(stack or "") + _RECORD_BYTES
        waiting = _Waiting(at_ms, level, service, message, stack, place, fields, record, size)
        with self._lock:
            self._count_last()
            if len(self._waiting) >= RECORDS_MAX or self._bytes + waiting.size > BYTES_MAX:
                self.dropped += 1
                return
            self._waiting.append(waiting)
            self._bytes += waiting.size
            self._is_last_counted = False
            is_first = len(self._waiting) == 1
        if is_first and self.on_first:
            self.on_first()

    def drop(self, count: int) -> None:
        """Count records that can't be written."""
        with self._lock:
            self.dropped += count

    def take_dropped(self) -> int:
        """Give how many were dropped since this was asked last; a record that says so has room."""
        with self._lock:
            if len(self._waiting) >= RECORDS_MAX:
                return 0
            dropped, self.dropped = self.dropped, 0
            return dropped

    def take(self, limit: int) -> list[LogRecord]:
        """Take the oldest records out, without secrets and ready to be written."""
        with self._lock:
            count = min(limit, len(self._waiting))
            taken = [self._waiting.popleft() for _ in range(count)]
            self._bytes -= sum(one.size for one in taken)
        return [self._ready(one) for one in taken]

    def _count_last(self) -> None:
        """Count what the last record holds besides its texts; only now, because `extra` is added after it is taken."""
        if self._waiting and not self._is_last_counted:
            held = _held_by(self._waiting[-1])
            self._waiting[-1] = self._waiting[-1]._replace(size=self._waiting[-1].size + held)
            self._bytes += held
        self._is_last_counted = True

    def _ready(self, one: _Waiting) -> LogRecord:
        fields = {**(one.fields or {}), **(_extra(one.record) if one.record else {})}
        run_id, node, place = fields.pop("run_id", None), fields.pop("node", None), one.place
        project_id, token_id = fields.pop("project_id", None), fields.pop("token_id", None)
        if place:
            origin = place.origin
            project_id, run_id, node, token_id = origin.project_id, origin.run_id, origin.node, origin.token_id
            fields = {"step": place.step, "branch": origin.branch, "attempt": place.attempt, **fields}
        self._counter += 1
        run_id = str(run_id) if run_id else None
        return LogRecord(
            id=ulid_of(one.at_ms, self._prefix | self._counter),
            at_ms=one.at_ms,
            level=_level(one.level),
            service=_shown(one.service, MESSAGE_MAX),
            trace_id=run_id or self._trace_id,
            project_id=str(project_id) if project_id else None,
            run_id=run_id,
            node=str(node) if node else None,
            token_id=str(token_id) if token_id else None,
            message=_shown(one.message, MESSAGE_MAX),
            metadata=redacted_value(_plain(fields)) if fields else None,
            error_stack=_shown(one.stack, STACK_MAX, is_end=True) if one.stack else None,
        )


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    return "warning" if number >= logging.WARNING else "info" if number >= logging.INFO else "debug"


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in list(vars(record).items()) if name not in _OWN_FIELDS}


def _held_by(one: _Waiting) -> int:
    """Give about how many bytes the fields, arguments and format of a record take."""
    try:
        held = _bytes_of(dict(one.fields or {}))
        if one.record:
            longer = _bytes_of(one.record.msg) - len(one.message)
            held += _bytes_of(_extra(one.record)) + _bytes_of(one.record.args) + max(0, longer)
    except Exception:
        # What is odd, or changes while it is looked at, such as a dict of another thread, is not worth a failure.
        return 0
    return held


def _bytes_of(value: Any, depth: int = _METADATA_DEPTH) -> int:
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if not depth or not isinstance(value, dict | list | tuple | set | frozenset):
        return 0
    items = value.values() if isinstance(value, dict) else value
    return len(value) * _ITEM_BYTES + sum(_bytes_of(held, depth - 1) for held in islice(items, _METADATA_ITEMS))


def _shown(text: str, length: int, *, is_end: bool = False) -> str:
    """Give a text without secrets, cut, and with nothing in it that a database refuses."""
    text = redacted_text(text)
    if len(text) > length:
        # The end of a traceback says what went wrong.
        text = "… " + text[-length:] if is_end else text[:length] + " …"
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _plain(value: Any, depth: int = _METADATA_DEPTH) -> Any:
    """Give a value as JSON that is small; anything else becomes a text."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and -(2**53) < value < 2**53):
        return value
    if depth and isinstance(value, Mapping):
        items = list(value.items())[:_METADATA_ITEMS]
        return {_text(key): _plain(held, depth - 1) for key, held in items}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_plain(held, depth - 1) for held in list(value)[:_METADATA_ITEMS]]
    return _text(value) if not isinstance(value, float) or value - value != 0 else value


def _text(value: Any) -> str:
    try:
        text = str(value)
    except Exception as error:
        text = f"[a {type(value).__name__} that can't be shown: {type(error).__name__}]"
    text = text[:_METADATA_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode()
