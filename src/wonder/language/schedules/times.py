"""The times that an expression or an interval plans, and what becomes of them when clocks are put forward or back.

An expression that names hours means times of the day: one that does not exist, because clocks were put forward, is
planned for the moment at which they were; one that exists twice is planned for the first. An expression for every hour
follows the clock: through both of two equal hours, and through none that is left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol

from wonder.language.schedules.cron import CronExpression
from wonder.language.schedules.zones import Zone

DAY = 86_400


class Times(Protocol):
    """Planned times, in milliseconds since 1970."""

    def after(self, ms: int) -> int | None:
        """Give the first planned time behind a moment; None if there is none."""

    def before(self, ms: int) -> int | None:
        """Give the last planned time in front of a moment; None if there is none."""


class IntervalTimes:
    """Times at equal distances, one of which is the anchor."""

    def __init__(self, every_ms: int, anchor_ms: int = 0) -> None:
        self._every, self._anchor = every_ms, anchor_ms

    def after(self, ms: int) -> int | None:
        """Give the first planned time behind a moment."""
        return self._anchor + ((ms - self._anchor) // self._every + 1) * self._every

    def before(self, ms: int) -> int | None:
        """Give the last planned time in front of a moment."""
        return self._anchor + ((ms - self._anchor - 1) // self._every) * self._every


class Within:
    """Only those times that are not before a start, and not behind an end."""

    def __init__(self, times: Times, starts_ms: int | None, ends_ms: int | None) -> None:
        self._times, self._starts, self._ends = times, starts_ms, ends_ms

    def after(self, ms: int) -> int | None:
        """Give the first planned time behind a moment."""
        found = self._times.after(ms if self._starts is None else max(ms, self._starts - 1))
        return None if found is None or (self._ends is not None and found > self._ends) else found

    def before(self, ms: int) -> int | None:
        """Give the last planned time in front of a moment."""
        found = self._times.before(ms if self._ends is None else min(ms, self._ends + 1))
        return None if found is None or (self._starts is not None and found < self._starts) else found


class CronTimes:
    """The times of a cron expression in a time zone."""

    def __init__(self, expression: CronExpression, zone: Zone) -> None:
        self._expression, self._zone = expression, zone

    def after(self, ms: int) -> int | None:
        """Give the first planned time behind a moment."""
        second = ms // 1_000
        # From the day before: where clocks are put back over midnight, a day comes again.
        start = (second + self._zone.offset(second)) // DAY - 1
        best, last_day = None, None
        for day in self._expression.days_from(start):
            if last_day is not None and day > last_day:
                break
            if (found := self._first_behind(day, second)) is not None:
                best = found if best is None else min(best, found)
                last_day = last_day or self._last_to_compare(day, 2)
            if day == last_day:
                break
        return None if best is None else best * 1_000

    def before(self, ms: int) -> int | None:
        """Give the last planned time in front of a moment."""
        second = -(-ms // 1_000)
        start = (second + self._zone.offset(second)) // DAY + 1
        best, last_day = None, None
        for day in self._expression.days_back_from(start):
            if last_day is not None and day < last_day:
                break
            if (found := self._last_in_front(day, second)) is not None:
                best = found if best is None else max(best, found)
                last_day = last_day or self._last_to_compare(day, -2)
            if day == last_day:
                break
        return None if best is None else best * 1_000

    def _last_to_compare(self, day: int, days: int) -> int:
        """Say up to which day times may be nearer than those found on one: on steady days its own are the nearest."""
        return day if self._steady_offset(day) is not None else day + days

    def _first_behind(self, day: int, second: int) -> int | None:
        offset, minutes = self._steady_offset(day), self._expression.minutes_of_day
        if offset is None:
            times = self._times_of(day)
            place = bisect_right(times, second)
            return times[place] if place < len(times) else None
        place = bisect_right(minutes, (second + offset - day * DAY) // 60)
        return day * DAY + minutes[place] * 60 - offset if place < len(minutes) else None

    def _last_in_front(self, day: int, second: int) -> int | None:
        offset, minutes = self._steady_offset(day), self._expression.minutes_of_day
        if offset is None:
            times = self._times_of(day)
            place = bisect_left(times, second)
            return times[place - 1] if place else None
        place = bisect_left(minutes, -(-(second + offset - day * DAY) // 60))
        return day * DAY + minutes[place - 1] * 60 - offset if place else None

    def _steady_offset(self, day: int) -> int | None:
        """Give the offset of a day around which clocks are not changed; None if they are."""
        before = self._zone.offset((day - 1) * DAY)
        return before if before == self._zone.offset((day + 2) * DAY) else None

    def _times_of(self, day: int) -> Sequence[int]:
        """Give the times of a day around which clocks are changed, in order."""
        times: set[int] = set()
        for minute in self._expression.minutes_of_day:
            wall = day * DAY + minute * 60
            found = self._moments(wall)
            if self._expression.in_every_hour:
                times.update(found)
            else:
                times.add(found[0] if found else self._end_of_gap(wall))
        return sorted(times)

    def _moments(self, wall: int) -> list[int]:
        """Give the moments at which the clocks show a local time: one, two, or none."""
        offsets = {self._zone.offset(wall - DAY), self._zone.offset(wall + DAY)}
        return sorted(wall - offset for offset in offsets if self._zone.offset(wall - offset) == offset)

    def _end_of_gap(self, wall: int) -> int:
        """Give the moment at which clocks were put forward over a local time."""
        earlier, later = wall - DAY, wall + DAY
        offset = self._zone.offset(earlier)
        while later - earlier > 1:
            middle = (earlier + later) // 2
            if self._zone.offset(middle) == offset:
                earlier = middle
            else:
                later = middle
        return later
