"""Flat or not: what was measured over time, judged by a stated rule for each measure.

The first part of the time is warm-up and does not count. The rest is cut into thirds, of which the last is compared
with the first. Medians, and slopes that are the median of all slopes between two points, let single outliers pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Final, NamedTuple

WARM_UP: Final = 0.2
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 60
_JUDGED_AT_LEAST: Final = 4


class Point(NamedTuple):
    """A value, so many minutes after the beginning."""

    minutes: float
    value: float


@dataclass
class Measure:
    """One thing that was measured, and by which rule it is flat."""

    name: str
    rule: "Rule"
    points: list[Point] = field(default_factory=list)

    @property
    def counted(self) -> list[Point]:
        """All points after the warm-up."""
        from_minutes = self.points[-1].minutes * WARM_UP if self.points else 0.0
        return [point for point in self.points if point.minutes >= from_minutes]

    def thirds(self) -> tuple[list[Point], list[Point]]:
        """Give the first and the last third."""
        counted = self.counted
        size = max(1, len(counted) // 3)
        return counted[:size], counted[-size:]

    @property
    def slope(self) -> float:
        """The change per minute: the median of all slopes."""
        counted = self.counted[:: max(1, len(self.counted) // 150)]
        slopes = [(b.value - a.value) / (b.minutes - a.minutes) for a, b in combinations(counted, 2)]
        return median(slopes) if slopes else 0.0

    @property
    def is_flat(self) -> bool:
        """Whether its rule holds; what was measured a few times only can't be judged."""
        return len(self.counted) < _JUDGED_AT_LEAST or self.rule.holds(self)

    def __str__(self) -> str:
        first, last = (_shown(median(point.value for point in third)) for third in self.thirds())
        highest, slope = _shown(max(point.value for point in self.counted)), _shown(self.slope)
        verdict = "flat" if self.is_flat else "NOT FLAT"
        cells = f"{self.name:<34}{first:>10}{last:>10}{highest:>10}{slope:>10}  {verdict:<9}{self.rule.text}"
        return f"{cells}\n    {self._plot()}"

    def _plot(self) -> str:
        """Draw it over time, from zero, so that what is flat looks so."""
        values = [point.value for point in self.points]
        size = -(-len(values) // _WIDTH)
        drawn = [median(values[begin : begin + size]) for begin in range(0, len(values), size)]
        top = max([*drawn, 1e-9])
        return "".join(_LEVELS[min(7, int(max(0.0, value) / top * 7.99))] for value in drawn)


HEAD: Final = f"{'':<34}{'first':>10}{'last':>10}{'highest':>10}{'per min':>10}"


class Rule(NamedTuple):
    """What flat means for a measure, in words and as a test."""

    text: str
    holds: Callable[[Measure], bool]


def grows_less_than(per_minute: float, allowed: float) -> Rule:
    """Allow a slope, and a little that is no slope."""

    def holds(measure: Measure) -> bool:
        counted = measure.counted
        minutes = counted[-1].minutes - counted[0].minutes
        return measure.slope * minutes <= allowed + per_minute * minutes

    return Rule(f"slope at most {per_minute:g} per minute, and {allowed:g}", holds)


def not_higher(allowed: float = 0.0) -> Rule:
    """Allow no value in the last third that is higher than all until the end of the first, the warm-up with it."""

    def holds(measure: Measure) -> bool:
        first, last = measure.thirds()
        before = [point for point in measure.points if point.minutes <= first[-1].minutes]
        return _highest(last) <= _highest(before) + allowed

    return Rule("last third never higher than the first" + (f" by more than {allowed:g}" if allowed else ""), holds)


def at_most(times: float, allowed: float) -> Rule:
    """Allow the last third's median to be so many times the first one's, and a little."""

    def holds(measure: Measure) -> bool:
        first, last = measure.thirds()
        return median(p.value for p in last) <= times * median(p.value for p in first) + allowed

    return Rule(f"last third at most {times:g} x the first, and {allowed:g}", holds)


def grows_steadily(times: float, allowed: float) -> Rule:
    """Allow growth, if it is not faster in the last third than in the first."""

    def holds(measure: Measure) -> bool:
        first, last = (third[-1].value - third[0].value for third in measure.thirds())
        return last <= times * first + allowed

    return Rule(f"grows at most {times:g} x as fast in the last third, and {allowed:g}", holds)


def shown() -> Rule:
    """Judge nothing."""
    return Rule("only shown", lambda measure: True)


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _highest(points: Sequence[Point]) -> float:
    return max((point.value for point in points), default=0.0)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
