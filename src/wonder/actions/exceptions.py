"""What a user's exception becomes: a failure with its type, its message and the user's part of the traceback."""

import socket
import traceback
from collections import deque
from types import TracebackType

from wonder.actions.copied_values import take_value
from wonder.actions.protocol import ActionFailed
from wonder.language.values import BadValue, JsonValue

MESSAGE_MAX = 2_000
CODE_MAX = 200
FRAMES_MAX = 20

# A century, as for every length of time.
_RETRY_AFTER_MAX_MS = 3_155_760_000_000
_OUR_MODULES = frozenset({"wonder.actions.python.kind", "wonder.actions.threads"})

# RET-1's connection failures and time-outs, as Python calls them.
_TRANSIENT = (ConnectionError, TimeoutError, socket.gaierror)


def failure_of(error: BaseException, function: str) -> ActionFailed:
    """Return the failure that an exception out of a user's function means; one that it raised itself stands."""
    if isinstance(error, ActionFailed):
        return _storable_failure(error)
    name, message = type(error).__name__, message_of(error)
    details: dict[str, JsonValue] = {
        "function": function,
        "type": name,
        "traceback": _frames(error.__traceback__),
    }
    shown = f"{function} raised {name}: {message}" if message else f"{function} raised {name}"
    names = tuple(base.__name__ for base in type(error).__mro__[:-1])
    return ActionFailed(
        "PYTHON_EXCEPTION", shown, retryable=isinstance(error, _TRANSIENT), details=details, names=names
    )


def storable(text: str, length_max: int = MESSAGE_MAX) -> str:
    """Return a text that can be stored (CTX-7), shortened when it is long."""
    text = text if len(text) <= length_max else text[: length_max - 1] + "…"
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def message_of(error: BaseException) -> str:
    """Return an exception's message, whatever its own code does when asked for it."""
    try:
        return storable(str(error))
    except Exception:
        return "(its message can't be read)"


def _storable_failure(failure: ActionFailed) -> ActionFailed:
    """Return a failure of a user's making with nothing in it that can't be stored or waited for."""
    try:
        details = take_value(failure.details)
        assert isinstance(details, dict)
    except BadValue as refusal:
        details = {"details_refused": str(refusal)}
    retry_after = failure.retry_after_ms
    return ActionFailed(
        storable(str(failure.code), CODE_MAX),
        storable(str(failure.message)),
        retryable=bool(failure.retryable),
        details=details,
        retry_after_ms=retry_after
        if isinstance(retry_after, int) and 0 <= retry_after <= _RETRY_AFTER_MAX_MS
        else None,
        names=tuple(map(str, failure.names)),
    )


def _frames(trace: TracebackType | None) -> list[JsonValue]:
    # Not extract_tb, which reads the lines of the source from disk.
    theirs = (
        (frame, line) for frame, line in traceback.walk_tb(trace) if frame.f_globals.get("__name__") not in _OUR_MODULES
    )
    last = deque(theirs, maxlen=FRAMES_MAX)
    return [storable(f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_qualname}") for frame, line in last]
