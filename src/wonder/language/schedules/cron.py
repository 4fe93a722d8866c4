"""Cron expressions: five fields that say which minutes of which days are meant."""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from wonder.errors import WonderError
from wonder.language.schedules.calendar import date_of, day_number, days_in_month, weekday_of

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d{1,4}))?", re.ASCII)
# February 29 on one weekday comes every 28 years, and once in 40 around a century without it.
_YEARS_AHEAD = 41
_LAST_YEAR = 9_000
_FIRST_YEAR = 1_900


class BadCron(WonderError):
    """A text is no cron expression."""

    code = "BAD_CRON"

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is no cron expression: {reason}")
        self.text, self.reason = text, reason


class _Field(Struct, frozen=True):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # Sunday is 0, and also 7, so that fri-sun is a range.
    _Field("day of the week", 0, 7, _WEEKDAYS),
)


class CronExpression(Struct, frozen=True):
    """Which minutes of a day, and which days."""

    minutes_of_day: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day of the month or of the week suffices, which is so when both are restricted."""
    in_every_hour: bool
    """Whether it names no hours of the day: then it follows the clock through every hour, also a repeated one."""

    def days_from(self, number: int) -> Iterator[int]:
        """Give the days that are meant, from one on, in order."""
        for year, month in _months_from(number, 1):
            if month in self.months:
                first = day_number(year, month, 1)
                for day in range(1, days_in_month(year, month) + 1):
                    if first + day - 1 >= number and self._fits(day, first + day - 1):
                        yield first + day - 1

    def days_back_from(self, number: int) -> Iterator[int]:
        """Give the days that are meant, from one on, back in time."""
        for year, month in _months_from(number, -1):
            if month in self.months:
                first = day_number(year, month, 1)
                for day in range(days_in_month(year, month), 0, -1):
                    if first + day - 1 <= number and self._fits(day, first + day - 1):
                        yield first + day - 1

    def _fits(self, day: int, number: int) -> bool:
        if self.either_day:
            return day in self.days or weekday_of(number) in self.weekdays
        return day in self.days and weekday_of(number) in self.weekdays


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> CronExpression:
    """Read a cron expression; raises BadCron.

    A field is `*`, a number, a name (jan, mon), a range, a list of these, each with a step (`*/15`, `10-20/2`, `5/10`,
    which is 5-59/10). `@daily` and the like stand for what they are known for.
    """
    written = text.strip()
    if written.startswith("@"):
        if written.lower() not in MACROS:
            raise BadCron(text, f"there is no {written!r}; write one of {', '.join(MACROS)}")
        written = MACROS[written.lower()]
    words = written.split()
    if len(words) != len(_FIELDS):
        wanted = "minute, hour, day of the month, month, day of the week"
        more = "; seconds are not supported, every_ms is" if len(words) == 6 else ""
        raise BadCron(text, f"it has {len(words)} of 5 fields ({wanted}){more}")
    minutes, hours, days, months, weekdays = (
        _values(text, word, field) for word, field in zip(words, _FIELDS, strict=True)
    )
    expression = CronExpression(
        minutes_of_day=tuple(hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not words[2].startswith(("*", "?")) and not words[4].startswith(("*", "?")),
        in_every_hour=len(hours) == 24,
    )
    if next(expression.days_from(day_number(2000, 1, 1)), None) is None:
        raise BadCron(text, "no month that it names has such a day, so it never comes; correct the day or the month")
    return expression


def _values(text: str, word: str, field: _Field) -> frozenset[int]:
    values: set[int] = set()
    for part in word.split(","):
        values.update(_range(text, part, field))
    return frozenset(values)


def _range(text: str, part: str, field: _Field) -> range:
    found = _PART.fullmatch("*" if part == "?" and field.name.startswith("day") else part)
    if not found:
        raise BadCron(
            text, f"{part!r} is no {field.name}; write *, a number, a range such as 1-5, or a step such as */5"
        )
    # 7 is Sunday once more.
    step, top = int(found["step"] or 1), 6 if field.names is _WEEKDAYS else field.last
    if step == 0:
        raise BadCron(text, f"the step of {part!r} is 0; write a number from 1 on")
    if found["first"] == "*":
        if found["last"]:
            raise BadCron(text, f"{part!r} is no {field.name}: a range begins with a number or a name")
        return range(field.first, top + 1, step)
    first = _number(text, found["first"], field)
    last = _number(text, found["last"], field) if found["last"] else max(top, first) if found["step"] else first
    if found["last"] and field.names is _WEEKDAYS and last == 0 < first:
        last = 7
    if last < first:
        message = f"{part!r} goes backwards; write {found['first']}-{top},{field.first}-{found['last']}"
        raise BadCron(text, f"the {field.name} {message}")
    return range(first, last + 1, step)


def _number(text: str, word: str, field: _Field) -> int:
    if word.lower() in field.names:
        return field.names.index(word.lower()) + field.first
    if not word.isdigit() or len(word) > 4 or not field.first <= int(word) <= field.last:
        named = f", or {field.names[0]} to {field.names[-1]}" if field.names else ""
        raise BadCron(text, f"{word!r} is no {field.name}; write {field.first} to {field.last}{named}")
    return int(word)


def _months_from(number: int, step: int) -> Iterator[tuple[int, int]]:
    year, month, _ = date_of(number)
    for count in range(0, _YEARS_AHEAD * 12 * step, step):
        years, zero_based = divmod(month - 1 + count, 12)
        if not _FIRST_YEAR <= year + years <= _LAST_YEAR:
            return
        yield year + years, zero_based + 1
