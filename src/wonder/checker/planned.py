"""Planned times: which moments a schedule's row means, counted anew and by other means than the engine's.

The engine goes from day to day and looks hours up; here every quarter of an hour is looked at as clocks show it, since
no zone's clocks are changed in between.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES: Final[dict[int, tuple[str, ...]]] = {3: _MONTHS, 4: ("sun", "mon", "tue", "wed", "thu", "fri", "sat")}
_RANGES: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MINUTE, _QUARTER, _HOUR = 60, 900, 3_600
# Further than this nobody looks ahead, nor counts more: what is rarer or more often is left unsaid.
_AHEAD: Final = 400 * 86_400
COUNTED_MAX: Final = 50_000


@dataclass(frozen=True)
class Plan:
    """What a schedule plans: an interval, or fields of a cron expression in a zone, between its start and its end."""

    every_ms: int | None
    fields: tuple[frozenset[int], ...]
    either_day: bool
    zone: tzinfo
    starts_ms: int | None
    ends_ms: int | None

    def fits(self, ms: int) -> bool:
        """Say whether a moment is planned."""
        return next(self.moments(ms - 1, ms), None) == ms

    def first_after(self, ms: int) -> int | None:
        """Give the first planned moment behind another; None if there is none, or none for more than a year."""
        return next(self.moments(ms, ms + _AHEAD * 1_000), None)

    def count(self, after_ms: int, upto_ms: int) -> int | None:
        """Count what is planned behind one moment and up to another; None if that is too much to count."""
        if upto_ms - after_ms > _AHEAD * 1_000:
            return None
        counted = 0
        for _ in self.moments(after_ms, upto_ms):
            counted += 1
            if counted > COUNTED_MAX:
                return None
        return counted

    def moments(self, after_ms: int, upto_ms: int) -> Iterator[int]:
        """Give what is planned behind one moment and up to another, in order."""
        if self.starts_ms is not None:
            after_ms = max(after_ms, self.starts_ms - 1)
        if self.ends_ms is not None:
            upto_ms = min(upto_ms, self.ends_ms)
        if self.every_ms is not None:
            anchor = self.starts_ms or 0
            first = anchor + ((after_ms - anchor) // self.every_ms + 1) * self.every_ms
            yield from range(first, upto_ms + 1, self.every_ms)
            return
        quarter = after_ms // 1_000 // _QUARTER * _QUARTER
        while quarter * 1_000 <= upto_ms:
            shown = datetime.fromtimestamp(quarter, self.zone)
            for second in self._in_quarter(quarter, shown):
                if after_ms < second * 1_000 <= upto_ms:
                    yield second * 1_000
            # A day that is not meant is left out up to its evening: clocks may be changed around midnight.
            hours = max(20 - shown.hour, 0) if not self._is_day(shown) else 0
            quarter += hours * _HOUR or _QUARTER

    def _in_quarter(self, quarter: int, shown: datetime) -> Iterator[int]:
        minutes, hours = self.fields[:2]
        in_every_hour = len(hours) == 24
        if not in_every_hour and self._is_left_out_before(quarter, shown):
            yield quarter
            if self._means(shown):
                return
        if not self._is_day(shown) or shown.hour not in hours or (shown.fold and not in_every_hour):
            return
        for minute in range(shown.minute, shown.minute + _QUARTER // _MINUTE):
            if minute in minutes:
                yield quarter + (minute - shown.minute) * _MINUTE

    def _is_left_out_before(self, quarter: int, shown: datetime) -> bool:
        """Say whether clocks are put forward at a moment, over a time of the day that is meant."""
        before = datetime.fromtimestamp(quarter - 1, self.zone)
        if before.utcoffset() == shown.utcoffset():
            return False
        offsets = [int((one.utcoffset() or timedelta()).total_seconds()) for one in (before, shown)]
        walls = range(quarter + offsets[0], quarter + offsets[1], _MINUTE)
        return any(self._means(datetime.fromtimestamp(wall, UTC)) for wall in walls)

    def _means(self, shown: datetime) -> bool:
        return self._is_day(shown) and shown.hour in self.fields[1] and shown.minute in self.fields[0]

    def _is_day(self, shown: datetime) -> bool:
        _, _, days, months, weekdays = self.fields
        of_month, of_week = shown.day in days, (shown.weekday() + 1) % 7 in weekdays
        return shown.month in months and (of_month or of_week if self.either_day else of_month and of_week)


def read_plan(row: dict[str, Any]) -> Plan | None:
    """Read what a schedule's row plans; None if its zone is not known here, or a moment has a form that is not."""
    try:
        zone: tzinfo = UTC if row["time_zone"] in ("UTC", "Etc/UTC") else ZoneInfo(row["time_zone"])
        starts_ms, ends_ms = (_moment(row[name], zone) for name in ("starts_at", "ends_at"))
    except (KeyError, ValueError, OSError):
        return None
    if row["cron"] is None:
        return Plan(int(row["every_ms"]), (), False, zone, starts_ms, ends_ms)
    words = _MACROS.get(row["cron"].strip().lower(), row["cron"]).lower().split()
    either_day = not any(words[place].startswith(("*", "?")) for place in (2, 4))
    fields = tuple(_values(word, place) for place, word in enumerate(words))
    return Plan(None, fields, either_day, zone, starts_ms, ends_ms)


def _moment(text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(re.sub(r"\s(?=[Zz+-])", "", text.strip()))
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp() * 1_000)


def _values(word: str, place: int) -> frozenset[int]:
    """Read one field: a list of numbers, names and ranges, with steps."""
    low, high = _RANGES[place]
    values: set[int] = set()
    for part in word.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first in ("*", "?"):
            begin, end = low, high
        else:
            begin = _number(first, place)
            end = _number(last, place) if last else high if step else begin
        if place == 4 and end < begin:
            end = 7  # up to Sunday, which is 0 and 7
        values.update(value % 7 if place == 4 else value for value in range(begin, max(end, begin) + 1, int(step or 1)))
    return frozenset(values)


def _number(word: str, place: int) -> int:
    names = _NAMES.get(place, ())
    return names.index(word) if word in names else int(word)
