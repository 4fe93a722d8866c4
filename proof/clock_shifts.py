"""A clock that lies: the time of day of a process jumps back and forth, while what measures durations goes on."""

import random
import threading
import time
from typing import Final

from proof.outside_log import OutsideLog, true_ms

FARTHEST_MS: Final = 20_000
_EVERY_SECONDS: Final = (0.05, 0.6)


def shift_clock(seed: int, log: OutsideLog, *, to_the_end: bool) -> None:
    """Let this process's time of day jump, by a seed; `to_the_end` puts it forward for good, so that all comes due."""
    clock = _Clock(random.Random(seed), log)
    time.time_ns = clock.now_ns
    if to_the_end:
        clock.jump_to(FARTHEST_MS)
    else:
        clock.jump()
        threading.Thread(target=clock.jump_for_ever, daemon=True).start()


class _Clock:
    def __init__(self, chance: random.Random, log: OutsideLog) -> None:
        self._random, self._log = chance, log
        self._real_ns = time.time_ns
        self._offset_ms = 0

    def now_ns(self) -> int:
        return self._real_ns() + self._offset_ms * 1_000_000

    def jump(self) -> None:
        # Small jumps, as a clock is set right, and large ones, as one is set wrong.
        farthest = self._random.choice([20, 200, 2_000, FARTHEST_MS])
        self.jump_to(self._random.randint(-farthest, farthest))

    def jump_to(self, offset_ms: int) -> None:
        # Told before: what happens by the new time is never logged ahead of it.
        self._log.note_all([{"kind": "clock", "at": true_ms(), "offset": offset_ms}])
        self._offset_ms = offset_ms

    def jump_for_ever(self) -> None:
        while True:
            time.sleep(self._random.uniform(*_EVERY_SECONDS))
            self.jump()
