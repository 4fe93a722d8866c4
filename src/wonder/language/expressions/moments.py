"""A point in time as SQLite's date functions keep it: calendar, clock and day count, computed from each other."""

import re
from dataclasses import dataclass

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.numbers import real_prefix

DAY = 86_400_000
EPOCH_SECONDS = 210_866_760_000
_LAST = 464_269_060_799_999
_FRACTION_DIGITS_MAX = 300

_DATE = re.compile(r"(-?)(\d{4})-(\d\d)-(\d\d)[\t-\r T]*", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?", re.ASCII)
# Blanks are not given back: two rows of them would be tried in every way that they can be divided.
_ZONE = re.compile(r"[\t-\r ]*+(?:([+-])(\d\d):(\d\d)|[zZ])?[\t-\r ]*", re.ASCII)


class NoMoment(Exception):
    """What was given is no date, or one that SQLite can't count: the result is NULL."""


@dataclass(slots=True)
class Moment:
    """Milliseconds since noon of November 24 in the year -4713, or calendar and clock that are not yet counted."""

    count: int | None = None
    date: tuple[int, int, int] | None = None
    clock: tuple[int, int, float] | None = None
    zone_minutes: int = 0
    # A number that was given, as long as nobody has said what it counts.
    raw: float | None = None
    shows_milliseconds: bool = False
    # Days by which the day goes over the end of its month.
    overflow_days: int = 0

    def counted(self) -> int:
        """Return the milliseconds, computed from calendar and clock if need be."""
        if self.count is not None:
            return self.count
        year, month, day = self.date or (2000, 1, 1)
        if not -4713 <= year <= 9999 or self.raw is not None:
            raise NoMoment
        if month <= 2:
            year, month = year - 1, month + 12
        century = (year + 4800) // 100
        leap = 38 - century + century // 4
        days = 36525 * (year + 4716) // 100 + 306001 * (month + 1) // 10000 + day + leap - 1524.5
        self.count = int(days * DAY)
        if self.clock:
            hour, minute, second = self.clock
            self.count += hour * 3_600_000 + minute * 60_000 + int(second * 1000 + 0.5)
            if self.zone_minutes or hour == 24:
                self.count -= self.zone_minutes * 60_000
                self.forget_calendar()
        return self.count

    def calendar(self) -> tuple[int, int, int]:
        """Return year, month and day."""
        if self.date is None:
            self.date = (2000, 1, 1) if self.count is None else _calendar(self.count)
        return self.date

    def time(self) -> tuple[int, int, float]:
        """Return hour, minute and second."""
        if self.clock is None:
            milliseconds = (self.counted() + DAY // 2) % DAY
            minutes = milliseconds // 60_000
            self.clock = (minutes // 60, minutes % 60, (milliseconds % 60_000) / 1000.0)
            self.raw = None
        return self.clock

    def forget_calendar(self) -> None:
        """Leave only the count."""
        self.date, self.clock, self.zone_minutes = None, None, 0

    def move(self, milliseconds: int) -> None:
        """Go forward, or back."""
        self.count = self.counted() + milliseconds
        self.forget_calendar()

    def set_date(self, year: int, month: int, day: int) -> None:
        """Set the calendar; months beyond December count on into other years."""
        years = (month - 1) // 12
        year, month = year + years, month - years * 12
        self.date, self.count = (year, month, day), None
        self.overflow_days = max(day - _days_in_month(year, month), 0)

    def checked(self) -> int:
        """Return the milliseconds if they are within the years that SQLite knows."""
        count = self.counted()
        if not 0 <= count <= _LAST:
            raise NoMoment
        return count


def moment_of_number(number: float) -> Moment:
    """Take a number for a Julian day where it can be one."""
    is_day = 0.0 <= number < 5373484.5
    return Moment(count=int(number * DAY + 0.5) if is_day else None, raw=number)


def moment_of_text(text: str) -> Moment:
    """Read a date, a time, both, or a number."""
    if moment := _date_and_time(text) or clock_time(text):
        return moment
    if text.lower() in ("now", "subsec", "subsecond"):
        raise EvaluationError(f"{text!r} is not allowed: a decision must not depend on the clock")
    number = real_prefix(text)
    if not number.found or not number.whole:
        raise NoMoment
    return moment_of_number(number.value)


def _date_and_time(text: str) -> Moment | None:
    head = _DATE.match(text)
    if not head:
        return None
    sign, year, month, day = head[1], int(head[2]), int(head[3]), int(head[4])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    moment = Moment() if head.end() == len(text) else clock_time(text[head.end() :])
    if moment:
        moment.set_date(-year if sign else year, month, day)
        if moment.clock and moment.clock[0] == 24:
            moment.overflow_days = 0
            moment.counted()
        elif moment.zone_minutes:
            moment.counted()
    return moment


def clock_time(text: str) -> Moment | None:
    """Read HH:MM, HH:MM:SS or HH:MM:SS.FFF, with or without a zone."""
    head = _TIME.match(text)
    zone = _ZONE.fullmatch(text, head.end()) if head else None
    if not head or not zone:
        return None
    hour, minute, second = int(head[1]), int(head[2]), int(head[3] or 0)
    zone_hour, zone_minute = int(zone[2] or 0), int(zone[3] or 0)
    if minute > 59 or second > 59 or zone_hour > 14 or zone_minute > 59:
        return None
    if hour > 24 or (hour == 24 and text[2 : head.end()].strip(":.0")):
        return None
    zone_minutes = zone_hour * 60 + zone_minute
    return Moment(
        clock=(hour, minute, second + _fraction(head[4] or "")),
        zone_minutes=-zone_minutes if zone[1] == "-" else zone_minutes,
    )


def _fraction(digits: str) -> float:
    value, scale = 0.0, 1.0
    # More of them would be infinite over infinite, where SQLite gives a time by chance.
    for digit in digits[1:_FRACTION_DIGITS_MAX]:
        value, scale = value * 10.0 + ord(digit) - ord("0"), scale * 10.0
    # More would be rounded up to a whole second.
    fraction = value / scale
    return 0.999 if fraction > 0.999 else fraction


def _calendar(count: int) -> tuple[int, int, int]:
    if not 0 <= count <= _LAST:
        raise NoMoment
    days = (count + DAY // 2) // DAY
    century = int((days + 32044.75) / 36524.25) - 52
    shifted = days + 1 + century - (century + 100) // 4 + 25 + 1524
    years = int((shifted - 122.1) / 365.25)
    start = 36525 * (years & 32767) // 100
    months = int((shifted - start) / 30.6001)
    month = months - 1 if months < 14 else months - 13
    return (years - 4716 if month > 2 else years - 4715), month, shifted - start - int(30.6001 * months)


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 28 if year % 4 != 0 or (year % 100 == 0 and year % 400 != 0) else 29
    return 30 if month in (4, 6, 9, 11) else 31
