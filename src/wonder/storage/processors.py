"""Which processor the thread that writes is on.

A disk with one queue has its interrupts served by one processor, and so is the rest of the kernel's work on a write.
Who does something else meanwhile is kept from it by that, on this processor and on no other: a third of the time of a
write. Nobody says which one it is, so it is found out: some writes from here, some from elsewhere, then from where they
are quicker. The thread is only moved, never tied: the system may move it whenever it has a reason.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Final

# So many writes tell how quick they are on a processor.
_TRIAL: Final = 32
# What is that much quicker is worth a move, which takes half as long as a write itself.
_QUICKER: Final = 0.88
# After so many writes all is found out anew: machines change, and have slow moments.
_FOUND_OUT_FOR: Final = 2_000
# The first writes on a processor find nothing in its caches, which they would not elsewhere either.
_COLD: Final = 2
# Who has just come somewhere stays for so many writes; for more where the system takes it back again and again.
_STAY: Final = 1
_LONGEST_STAY: Final = 4_096


class Processors:
    """What is known of the processors that a thread may use."""

    def __init__(self, here: Callable[[], int], usable: Callable[[], set[int]], move: Callable[[int], None]) -> None:
        self._here, self._usable, self._move = here, usable, move
        self._seconds: dict[int, float] = {}
        self._writes: dict[int, int] = {}
        self._last = -1
        """The processor of the write before."""
        self._since = 0
        """How many writes were made there in a row."""
        self._stay = _STAY
        self._left = _FOUND_OUT_FOR
        self._chosen = -1
        """Where the thread was moved to."""
        self._is_moving = False

    @classmethod
    def of_this_thread(cls) -> "Processors | None":
        """Give those of the current thread; None where there is no choice, or it can't be told."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
            return None
        try:
            here = ctypes.PyDLL(None).sched_getcpu
        except (OSError, AttributeError):
            return None
        return cls(here, lambda: os.sched_getaffinity(0), move_to) if here() >= 0 else None

    def wrote(self, seconds: float) -> None:
        """Note how long a write took with all that was done meanwhile, and move to where it would be quicker."""
        here = self._here()
        self._come_to(here)
        self._left -= 1
        if self._since > _COLD:
            self._note(here, seconds)
        writes = self._writes.get(here, 0)
        # To look each time would take as long as there is to win by it.
        if writes >= _TRIAL and (self._since == self._stay or (self._since > self._stay and writes % _TRIAL == 0)):
            self._choose(here)

    def _note(self, here: int, seconds: float) -> None:
        known = self._seconds.get(here)
        # Down quickly and up slowly: much makes a write slow that has nothing to do with the processor.
        if known is None:
            self._seconds[here] = seconds
        else:
            self._seconds[here] = known + (seconds - known) / 4 if seconds < known else min(seconds, known * 1.005)
        self._writes[here] = self._writes.get(here, 0) + 1

    def _come_to(self, here: int) -> None:
        moved, self._is_moving = self._is_moving, False
        if here == self._last:
            self._since += 1
            if moved:
                # It was taken back before it could write.
                self._stay, self._since = min(2 * self._stay, _LONGEST_STAY), 0
            return
        if self._last == self._chosen and self._last >= 0:
            # The system has taken it away from where it was moved to.
            self._stay = min(2 * self._stay, _LONGEST_STAY) if self._since < _TRIAL // 2 else _STAY
        self._last, self._since = here, 1

    def _choose(self, here: int) -> None:
        if self._left <= 0:
            self._seconds, self._writes, self._left = {here: self._seconds[here]}, {here: _TRIAL}, _FOUND_OUT_FOR
        others = [one for one, writes in self._writes.items() if one != here and writes >= _TRIAL]
        if not others:
            known = self._writes.keys() - {here}
            self._go(min(known) if known else _after(here, self._usable()))
            return
        best = min(others, key=lambda one: self._seconds[one])
        if self._seconds[best] < _QUICKER * self._seconds[here]:
            self._go(best)

    def _go(self, to: int) -> None:
        try:
            self._move(to)
        except OSError:
            # It is not for us any more, or we may not choose.
            self._seconds.pop(to, None)
            self._writes.pop(to, None)
            self._stay, self._since = _LONGEST_STAY, 0
            return
        self._chosen, self._is_moving = to, True


def move_to(processor: int) -> None:
    """Move this thread to a processor, and leave it to the system where it goes from there; raises OSError."""
    usable = os.sched_getaffinity(0)
    if processor not in usable:
        raise OSError(f"processor {processor} is not for this thread")
    try:
        os.sched_setaffinity(0, {processor})
    finally:
        os.sched_setaffinity(0, usable)


def _after(here: int, usable: set[int]) -> int:
    """Give the processor that comes after this one."""
    return min((one for one in usable if one > here), default=min(usable))
