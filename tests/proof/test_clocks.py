"""Clocks that jump: a small share of what `python -m proof clocks` does."""

from typing import Any

import pytest

from proof import clocks


def test_inv_6_a_timer_is_early_by_no_more_than_the_clock_was_put_forward(capfd: pytest.CaptureFixture[str]) -> None:
    """INV-6."""
    assert clocks.main(["--count", "4", "--seed", "5"]) == 0, capfd.readouterr().out


@pytest.mark.parametrize(
    ("offsets", "slept_ms", "is_early"),
    [
        ([], 120, False),
        ([], 90, True),
        ([(50, 1_000)], 90, False),  # put forward while it was pending
        ([(50, -1_000)], 90, True),  # put back: it can only be late
        ([(-50, 1_000)], 90, True),  # before it was set: no excuse
        ([(10, -1_000), (50, 0)], 90, False),  # it may have been set while the clock was back
        ([(10, 20), (50, 25)], 90, True),
    ],
)
def test_inv_6_the_proof_sees_a_timer_that_is_early(
    offsets: list[tuple[int, int]], slept_ms: int, *, is_early: bool
) -> None:
    """INV-6: by the true time, less what the clock went ahead."""
    began_ms = 1_000_000
    lines: list[dict[str, Any]] = [{"kind": "clock", "at": began_ms + at, "offset": to} for at, to in offsets]
    for name, at_ms in (("before_120", began_ms), ("before_40", began_ms + slept_ms)):
        lines.append({"kind": "effect", "run": "run", "name": name, "at": at_ms})
    assert bool(list(clocks.early_timers(lines))) is is_early
