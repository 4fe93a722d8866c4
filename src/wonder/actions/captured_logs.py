"""Takes what is logged in this process into the logs of its database, with the run and node that it belongs to.

Records of the standard `logging` module are seen as they are made, by a record factory, and not by a handler: a handler
of ours would keep `logging.basicConfig()` and the output to stderr from working as an application expects.
"""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet

from wonder.actions.context import CURRENT
from wonder.actions.logs.collecting import LogCollector

_COLLECTORS: "WeakSet[LogCollector]" = WeakSet()
_OURS: "ContextVar[LogCollector | None]" = ContextVar("wonder_log_collector", default=None)
_OWN: Final = "wonder"
_PROBE: Final = "wonder.logs.probe"
SAID_OTHERWISE: Final = "wonder.mcp.servers"
"""A logger whose messages are given to the logs by `say`, with more than a record has."""


def say(level: int, service: str, message: str, **metadata: Any) -> None:
    """Log one message of the running task, from any thread that has its context variables.

    For what is no record of the `logging` module, such as a line that a function prints:
    `say(logging.INFO, "stdout", line)`. `level` is a number of the `logging` module, `service` says where the message
    comes from, `metadata` is stored with it. Run, node and token are those of the action that runs; outside of a task
    the message belongs to no run. It is redacted and written later: this never waits and never raises.
    """
    if context := CURRENT.get(None):
        if context.logs:
            context.logs.add(level, service, message, place=context.place, fields=metadata)
        return
    for collector in _for_this_process():
        collector.add(level, service, message, fields=metadata)


@contextmanager
def capturing(collector: LogCollector) -> Iterator[None]:
    """Take what is logged from here on, by tasks and by Wonder itself."""
    _COLLECTORS.add(collector)
    # Looked at each time, because somebody may have set another factory meanwhile, on top of ours or in its place.
    if not _is_installed():
        logging.setLogRecordFactory(_CapturedRecords(logging.getLogRecordFactory()))
    before = _OURS.get()
    _OURS.set(collector)
    try:
        yield
    finally:
        _COLLECTORS.discard(collector)
        _OURS.set(before)


class _CapturedRecords:
    """Makes log records as they were made before, and takes them."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __call__(self, *arguments: Any, **fields: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._made(*arguments, **fields)
        if record.name == _PROBE:
            record.msg = _PROBE
        # Only copies of records have no name: those that `makeLogRecord` makes.
        elif record.name and _COLLECTORS:
            try:
                _take(record)
            except Exception:
                for collector in _for_this_process():
                    collector.drop(1)
        return record


def _is_installed() -> bool:
    """Make a record, and see whether it went through our hands."""
    seen = logging.getLogRecordFactory()(_PROBE, logging.DEBUG, "", 0, "", (), None)
    return bool(seen.msg == _PROBE)


def _take(record: logging.LogRecord) -> None:
    if record.name == SAID_OTHERWISE:
        return
    if context := CURRENT.get(None):
        if context.logs:
            # Fields that were given as `extra` are added to the record after this, and read when it is written. One
            # with an exception is not kept until then: it would keep all that the function had in its variables.
            kept = None if record.exc_info else record
            given = (record.levelno, record.name, _message(record))
            context.logs.add(*given, place=context.place, stack=_stack(record), record=kept)
        return
    is_ours = record.name == _OWN or record.name.startswith(f"{_OWN}.")
    if is_ours and record.levelno >= logging.WARNING:
        for collector in _for_this_process():
            collector.add(record.levelno, record.name, _message(record), stack=_stack(record), record=record)


def _for_this_process() -> tuple[LogCollector, ...]:
    ours = _OURS.get()
    # A thread of ours has no context variables: it may belong to any database that is open.
    return (ours,) if ours is not None and ours in _COLLECTORS else tuple(_COLLECTORS)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:
        # The arguments don't fit: the handlers report that, and the text without them is better than nothing.
        return str(record.msg)


def _stack(record: logging.LogRecord) -> str | None:
    if record.exc_info and record.exc_info[1] is not None:
        return "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
    return record.exc_text or record.stack_info
