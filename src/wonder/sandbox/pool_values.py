"""What goes to a worker and what comes back: values as JSON texts, and failures in words."""

import json
import re
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from wonder.language.foreign_json import read_as
from wonder.language.values import MAX_DEPTH, BadValue, JsonValue, check_value, encode_json, show_path
from wonder.sandbox.pool_errors import TransformFailed
from wonder.sandbox.worker import BROKEN, OUT_OF_MEMORY, OUT_OF_TIME, OUTPUT, REFUSED, REQUEST, THROWN

# JavaScript's numbers hold every integer below this, and not every one above.
_EXACT: Final = 2**53
_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_MANY_ZEROS: Final = b"0" * 16
# From the beginning of a line, and with few digits: the author's code can make a stack of anything.
_FRAME: Final = re.compile(r"^[ \t]*at (.*) \(<input>:([0-9]{1,9}):[0-9]{1,9}\)", re.MULTILINE)
# As long as worker_faults.js shows them, and paths; that runs in the author's world, so it is cut here once more.
_SHOWN_MAX: Final = 2_000
_PATH_MAX: Final = 8
_OURS: Final = "__run"
_TEXT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_AS_ROUND: Final = bytes.maketrans(b"[]{}", b"()()")
_NO_BRACKETS: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))

_Told = TypeVar("_Told")


class _Thrown(msgspec.Struct):
    """What a transform threw."""

    name: str = ""
    message: str = "something that can't be described"
    stack: str = ""

    @property
    def is_out_of_memory(self) -> bool:
        return (self.name, self.message) == ("InternalError", "out of memory")


class _Refused(msgspec.Struct):
    """Why a value is not JSON, and where."""

    reason: str = "it is not JSON"
    path: list[str | int] = []


def request(javascript: str, input: JsonValue, *, time_ms: int, memory_bytes: int) -> bytes:
    """Write what a worker is asked; raises TransformFailed for an integer that would arrive as another."""
    script, text = javascript.encode(), encode_json(input).encode()
    if _has_many_digits(text):
        for path, number in _integers(input, ()):
            if not _is_exact(number):
                raise _inexact(path, number)
    return REQUEST.pack(len(script), len(text), memory_bytes, time_ms / 1_000) + script + text


def read_output(content: bytes) -> JsonValue:
    """Read the value that a transform gave; raises TransformFailed where it can't be stored."""
    try:
        try:
            value = _decode(content)
        except msgspec.DecodeError:
            # Half of a character, which is told with its place.
            return check_value(json.loads(content))
        return value if _is_harmless(content) else check_value(value)
    except RecursionError:
        raise _not_json(f"it is nested deeper than {MAX_DEPTH} levels", ()) from None
    except BadValue as error:
        raise _not_json(error.reason, error.path) from None
    except (OverflowError, ValueError):
        # A worker that works writes JSON: whatever this one is, it is no longer trusted.
        raise crashed("its answer is not JSON") from None


def failure(kind: bytes, content: bytes, *, time_ms: int, memory_bytes: int) -> TransformFailed:
    """Give the failure that an answer without a value tells of."""
    if kind == OUT_OF_TIME:
        return out_of_time(time_ms)
    if kind == OUT_OF_MEMORY or (kind == THROWN and _told(content, _Thrown, _Thrown()).is_out_of_memory):
        return _out_of_memory(memory_bytes)
    if kind == THROWN:
        return _threw(_told(content, _Thrown, _Thrown()))
    if kind == REFUSED:
        refused = _told(content, _Refused, _Refused())
        return _not_json(refused.reason, tuple(refused.path[:_PATH_MAX]))
    shown = content.decode("utf-8", "replace") if kind == BROKEN else f"an answer of the kind {kind!r}"
    return crashed(shown)


def is_worn(kind: bytes, content: bytes) -> bool:
    """Say whether a worker is better replaced after such an answer."""
    return kind not in (OUTPUT, REFUSED, THROWN, OUT_OF_TIME) or (kind == THROWN and b"out of memory" in content)


def out_of_time(time_ms: int) -> TransformFailed:
    """Give the failure of a transform that has computed for too long."""
    message = f"the transform took longer than {time_ms:,} ms and was ended; let it do less"
    return TransformFailed("TRANSFORM_TIMEOUT", message, details={"time_ms": time_ms})


def crashed(how: str) -> TransformFailed:
    """Give the failure of a transform that has ended its worker, or made it say what can't be understood."""
    return TransformFailed("TRANSFORM_CRASHED", f"the transform has broken the process that it ran in: {how[:500]}")


def _out_of_memory(memory_bytes: int) -> TransformFailed:
    megabytes = memory_bytes / (1 << 20)
    message = f"the transform needs more memory than {megabytes:,.0f} MB, its input and output included; let it do less"
    return TransformFailed("TRANSFORM_MEMORY", message, details={"memory_bytes": memory_bytes})


def _threw(told: "_Thrown") -> TransformFailed:
    name, message = _storable(told.name), _storable(told.message)
    details: dict[str, JsonValue] = {"type": name, "message": message}
    frame = _FRAME.search(told.stack[:_SHOWN_MAX])
    if frame and frame[1] != _OURS:
        details["line"] = int(frame[2])
    shown = ": ".join(part for part in (name, message) if part) or "something without a message"
    return TransformFailed("TRANSFORM_THREW", f"the transform threw {shown}", details=details)


def _not_json(reason: str, path: tuple[str | int, ...]) -> TransformFailed:
    place = _storable(show_path(path))
    where = f" at {place}" if path else ""
    message = f"the transform returned what can't be kept{where}: {_storable(reason)}; return JSON values only"
    return TransformFailed("TRANSFORM_NOT_JSON", message, details={"path": place})


def _inexact(path: tuple[str | int, ...], number: int) -> TransformFailed:
    where = f" at {show_path(path)}" if path else ""
    message = (
        f"the transform's input holds the integer {str(number)[:40]}{where}, which no JavaScript number can hold "
        "exactly; give it as a string"
    )
    return TransformFailed("TRANSFORM_INPUT", message, details={"path": show_path(path)})


def _integers(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    if type(value) is int:
        yield path, value
    elif isinstance(value, list):
        for index, held in enumerate(value):
            yield from _integers(held, (*path, index))
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _integers(held, (*path, key))


def _is_exact(number: int) -> bool:
    if -_EXACT <= number <= _EXACT:
        return True
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _decode(content: bytes) -> JsonValue:
    value: JsonValue = msgspec.json.decode(content)
    if not _has_many_digits(content):
        return value
    # JavaScript writes a large number with as few digits as tell it from others: what it is, is a double.
    found: JsonValue = json.loads(content, parse_int=lambda digits: int(float(digits)))
    return found


def _has_many_digits(text: bytes) -> bool:
    """Say whether there may be an integer that JavaScript's numbers do not hold, or write as another."""
    # A tenth of the time that a regular expression takes.
    return _MANY_ZEROS in text.translate(_AS_ZEROS)


def _told(content: bytes, form: type[_Told], otherwise: _Told) -> _Told:
    """Read what a worker says of a failure: in the words of the author's code, if that has meddled with them."""
    try:
        return read_as(content, form)
    except BadValue:
        return otherwise


def _is_harmless(content: bytes) -> bool:
    """Say whether JSON that could be read can be stored as well: not deep, and without U+0000.

    Looked for in the text, because to walk through all of a large value would hold up everybody else.
    """
    if b"\\u0000" in content:
        return False
    if content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return True
    brackets = _TEXT.sub(b"", content).translate(_AS_ROUND, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return True
        # Each time the innermost ones go.
        brackets = brackets.replace(b"()", b"")
    return not brackets


def _storable(text: str) -> str:
    shown = text[:_SHOWN_MAX].encode("utf-8", "replace").decode()
    return shown.replace("\x00", "\N{REPLACEMENT CHARACTER}")
