"""Timers in memory: each fires once, in order, never early (INV-6), however many come after one another."""

from collections.abc import Callable

from wonder.coordinator.timers import NearTimers


class Bell:
    """What rings once, unless it is cancelled."""

    def __init__(self, due_ms: float, ring: Callable[[], None]) -> None:
        self.due_ms, self.ring = due_ms, ring
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at_ms = 1_000
        self.bells: list[Bell] = []

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_ms(self) -> float:
        return float(self.at_ms)

    def after(self, milliseconds: float, call: Callable[[], None]) -> Bell:
        self.bells.append(Bell(self.at_ms + milliseconds, call))
        return self.bells[-1]

    def go_to(self, at_ms: int) -> None:
        """Let the time come, and ring what is due."""
        self.at_ms = at_ms
        for bell in [bell for bell in self.bells if bell.due_ms <= at_ms]:
            self.bells.remove(bell)
            if not bell.cancelled:
                bell.ring()


def test_inv_6_timers_fire_one_after_another_and_never_early() -> None:
    clock, fired = ManualClock(), list[str]()
    timers = NearTimers(clock, lambda run_id, key: fired.append(key))
    for key, due_ms in [("late", 3_000), ("soon", 1_500), ("moved", 1_600), ("cancelled", 1_700)]:
        timers.set("run", key, due_ms)
    timers.set("run", "moved", 2_000)
    timers.cancel("run", "cancelled")
    told = []
    for at_ms in (1_499, 1_500, 1_999, 2_000, 2_999, 3_000, 9_000):
        clock.go_to(at_ms)
        told.append((at_ms, list(fired)))
    assert told == [
        (1_499, []),
        (1_500, ["soon"]),
        (1_999, ["soon"]),
        (2_000, ["soon", "moved"]),
        (2_999, ["soon", "moved"]),
        (3_000, ["soon", "moved", "late"]),
        (9_000, ["soon", "moved", "late"]),
    ]


def test_a_timer_that_is_held_fires_when_it_is_freed_and_a_cancelled_one_never() -> None:
    clock, fired = ManualClock(), list[str]()
    timers = NearTimers(clock, lambda run_id, key: fired.append(key))
    timers.hold("run", ["due", "later", "cancelled", "unset"])
    for key, due_ms in [("due", 1_500), ("later", 3_000), ("cancelled", 1_600)]:
        timers.set("run", key, due_ms)
    clock.go_to(2_000)
    timers.cancel("run", "cancelled")
    assert fired == []
    timers.free("run", ["due", "later", "cancelled", "unset"])
    clock.go_to(2_001)
    assert fired == ["due"]
    clock.go_to(3_000)
    assert fired == ["due", "later"]
