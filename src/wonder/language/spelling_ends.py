"""How spellings of secrets begin or end: by that they are found in a text, whole, or as what a cut has left of them."""

from bisect import bisect_left, insort
from typing import Final, NamedTuple

PART_MIN: Final = 8
PART_MAX: Final = 16
"""Of a spelling that was cut so much is still looked for: half of it, but no more and no less than these."""

# In the middle of a text a part stands by chance more often than at its edge: many secrets begin with a word.
_PART_INSIDE: Final = 12
# So much of a spelling, or three quarters of a shorter one, is a part of it whatever stands behind.
_PART_SURE: Final = 128
# The frame of a key in PEM is the same for all keys; its lines are spellings of their own.
_FRAME: Final = b"-----"


class Agreed(NamedTuple):
    """So many bytes agree with a spelling that this stands for; `whole` if that is all of it."""

    length: int
    mark: str
    whole: bool


class Spellings:
    """Spellings that begin alike, those of `Ends` for tails written backwards."""

    __slots__ = ("_lengths", "_marks", "_sorted", "longest")

    def __init__(self) -> None:
        self._marks: dict[bytes, str] = {}
        self._sorted: list[bytes] = []
        self._lengths: list[int] = []
        self.longest = 0

    def add(self, spelling: bytes, mark: str) -> None:
        """Look for a spelling too; of two secrets with the same one the first counts."""
        if spelling in self._marks:
            return
        self._marks[spelling] = mark
        insort(self._sorted, spelling)
        if len(spelling) not in self._lengths:
            insort(self._lengths, len(spelling), key=lambda length: -length)
        self.longest = max(self.longest, len(spelling))

    def agreed(self, window: bytes, edge: int) -> Agreed | None:
        """Say how far a text goes on as one of these does.

        The window has one byte more than the longest, where the text does. The text's edge is so many bytes away.
        """
        found: Agreed | None = None
        for length in self._lengths:
            if length <= len(window) and (mark := self._marks.get(window[:length])) is not None:
                found = Agreed(length, mark, True)
                break
        if found is None or found.length < self.longest:
            found = self._longest_part(window, edge, found)
        return found

    def _longest_part(self, window: bytes, edge: int, found: Agreed | None) -> Agreed | None:
        # Sorted, those that agree the longest with a text stand beside it.
        place = bisect_left(self._sorted, window)
        near = self._sorted[max(0, place - 2) : place + 2]
        for spelling in near:
            length = _common(window, spelling)
            if (found is None or length > found.length) and _is_part(window, length, spelling, edge):
                found = Agreed(length, self._marks[spelling], length == len(spelling))
        return found


def part_of(spelling: bytes) -> int:
    """Return how much of a spelling is looked for."""
    return min(max(PART_MIN, len(spelling) // 2), PART_MAX)


def _common(text: bytes, spelling: bytes) -> int:
    """Return how many bytes two begin with alike."""
    low, high = 0, min(len(text), len(spelling))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == spelling[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_part(window: bytes, length: int, spelling: bytes, edge: int) -> bool:
    """Say whether so many bytes are left of a spelling that was cut, and are not there by chance."""
    if length >= min(_PART_SURE, max(PART_MAX, len(spelling) * 3 // 4)):
        return True
    if length < part_of(spelling) or _FRAME in spelling[:PART_MIN]:
        return False
    if length >= edge:
        return True
    # A word that goes on in another way is another word.
    return length >= _PART_INSIDE and length < len(window) and not window[length : length + 1].isalnum()
