"""Values that cross the border to a user's code: copied on the way in, copied and checked on the way out.

Values are shared inside Wonder and never changed in place. A user's function knows nothing of that: it may sort the
list that it was given, or keep the list that it returned and add to it later.
"""

from typing import Any

from wonder.language.values import MAX_BYTES, MAX_DEPTH, BadValue, JsonValue, check_value, is_plain

_SCALARS = frozenset({str, int, float, bool, type(None)})
# What an element that is no text counts for: as many bytes as it can take with its comma. It takes a tenth at least.
_ELEMENT_BYTES = 22
_CERTAINLY_TOO_LARGE = 11 * MAX_BYTES
_WORD = 2**63


def copy_value(value: JsonValue) -> JsonValue:
    """Return a copy that shares nothing which could be changed."""
    # By exact type, because isinstance and match cost several times as much.
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {key: held if type(held) in _SCALARS else copy_value(held) for key, held in value.items()}  # type: ignore[union-attr]  # kind says so
    return [held if type(held) in _SCALARS else copy_value(held) for held in value]  # type: ignore[union-attr]  # the last kind there is


def take_value(value: object) -> JsonValue:
    """Return a value of a user's code as a JSON value of our own; raises BadValue.

    Subclasses (a StrEnum, a defaultdict, a numpy float) become the plain type that they extend.
    """
    if type(value) is dict:
        copied: JsonValue = value.copy()
        if is_plain(copied):
            return copied
    taking = _Taking()
    try:
        taken = taking.take(value, MAX_DEPTH)
    except BadValue:
        raise
    except Exception as error:
        # Its own code runs while it is read: a dict that another thread changes, a subclass whose items() fails.
        raise BadValue(f"the value can't be read: {type(error).__name__}") from error
    return check_value(taken) if taking.is_doubtful or taking.size > MAX_BYTES else taken


class _Taking:
    """One value on its way in: copied first, because another thread could change it after it was checked.

    What is plainly a JSON value is not checked again; anything else makes the whole doubtful, for `check_value` to say
    where. What is held several times is read once and counted each time, because `x = [x, x]` a hundred times over is
    small in memory and has no end. `size` is at least the number of bytes that the value takes.
    """

    __slots__ = ("_known", "is_doubtful", "size")

    def __init__(self) -> None:
        self.size = 0
        self.is_doubtful = False
        # With the original, so that nothing else gets its id meanwhile.
        self._known: dict[int, tuple[Any, Any, int]] = {}

    def take(self, value: Any, depth_left: int) -> Any:
        kind = type(value)
        if kind is str:
            self.size += len(value) + 4
            if not value.isascii() or "\x00" in value:
                self.is_doubtful = True
            return value
        if kind is dict or kind is list or isinstance(value, dict | list):
            return self._take_container(value, depth_left)
        self.size += _ELEMENT_BYTES
        if kind is int:
            self.is_doubtful |= not -_WORD < value < _WORD
        elif kind is float:
            self.is_doubtful |= value - value != 0.0
        elif value is not None and kind is not bool:
            self.is_doubtful = True
            return _plain(value)
        return value

    def _take_container(self, value: dict[Any, Any] | list[Any], depth_left: int) -> Any:
        if not depth_left:
            raise BadValue(f"nested deeper than {MAX_DEPTH} levels")
        if known := self._known.get(id(value)):
            self.size += known[2]
            return known[1]
        before, take, deeper = self.size, self.take, depth_left - 1
        self.size += _ELEMENT_BYTES
        taken: Any
        if type(value) is dict or isinstance(value, dict):
            taken = {self._key(key): take(held, deeper) for key, held in value.items()}
        else:
            taken = [take(held, deeper) for held in value]
        if self.size > _CERTAINLY_TOO_LARGE:
            raise BadValue(f"the value takes more than the limit of {MAX_BYTES:,} bytes")
        self._known[id(value)] = (value, taken, self.size - before)
        return taken

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            self.is_doubtful = True
            return key
        return self.take(key, 0)


def _plain(value: Any) -> Any:
    """Return a scalar of a subclass as its plain type; other values are returned as they are, to be rejected."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return value
