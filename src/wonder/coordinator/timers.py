"""Timers that come due soon: durable ones are rows, of which only the near ones are in memory."""

import heapq
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from wonder.clock import Clock, Timer

RETRY_TIMER: Final = "retry"
"""The key of the timer of a failed run that its trigger retries; its time follows from the rows of the run (PHS-6)."""
# Timers that are due later than this stay in the database until the next look.
WINDOW_MS = 60_000
# A loop's timer can't be set further ahead than this without losing precision, and none needs to be.
_SLEEP_MAX_MS = 30_000


class _Entry(NamedTuple):
    due_ms: int
    run_id: str
    key: str


class NearTimers:
    """Calls `fire(run_id, key)` for each timer once it is due, never earlier (INV-6)."""

    def __init__(self, clock: Clock, fire: Callable[[str, str], None]) -> None:
        self._clock, self._fire = clock, fire
        self._heap: list[_Entry] = []
        # What is set, so that a timer that was cancelled or moved is not fired by its old entry.
        self._due: dict[tuple[str, str], int] = {}
        # What must not fire yet, and which of it has come due meanwhile.
        self._held: set[tuple[str, str]] = set()
        self._overdue: set[tuple[str, str]] = set()
        self._alarm: Timer | None = None
        self._alarm_ms = 0

    def set(self, run_id: str, key: str, due_ms: int) -> None:
        """Set a timer, if it is near; a far one is found in the database when it is."""
        if due_ms - self._clock.now_ms() > WINDOW_MS:
            self._due.pop((run_id, key), None)
            return
        if self._due.get((run_id, key)) != due_ms:
            self._due[run_id, key] = due_ms
            heapq.heappush(self._heap, _Entry(due_ms, run_id, key))
            self._arm()

    def cancel(self, run_id: str, key: str) -> None:
        """Forget a timer."""
        self._due.pop((run_id, key), None)

    def hold(self, run_id: str, keys: Iterable[str]) -> None:
        """Let timers not fire until they are freed, set or not."""
        self._held.update((run_id, key) for key in keys)

    def free(self, run_id: str, keys: Iterable[str]) -> None:
        """Let timers fire that were held, at once if they are due."""
        for key in keys:
            self._held.discard((run_id, key))
            if (run_id, key) in self._overdue:
                self._overdue.discard((run_id, key))
                if (due_ms := self._due.pop((run_id, key), None)) is not None:
                    self.set(run_id, key, due_ms)

    def close(self) -> None:
        """Fire nothing any more."""
        self._heap.clear()
        self._due.clear()
        self._held.clear()
        self._overdue.clear()
        if self._alarm:
            self._alarm.cancel()

    def _arm(self) -> None:
        if not self._heap:
            return
        due_ms = self._heap[0].due_ms
        if self._alarm:
            if self._alarm_ms <= due_ms:
                return
            self._alarm.cancel()
        self._alarm_ms = due_ms
        wait_ms = min(max(due_ms - self._clock.now_ms(), 0), _SLEEP_MAX_MS)
        self._alarm = self._clock.after(wait_ms, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now_ms = self._clock.now_ms()
        while self._heap and self._heap[0].due_ms <= now_ms:
            due_ms, run_id, key = heapq.heappop(self._heap)
            if self._due.get((run_id, key)) != due_ms:
                continue
            if (run_id, key) in self._held:
                self._overdue.add((run_id, key))
            else:
                del self._due[run_id, key]
                self._fire(run_id, key)
        self._arm()
