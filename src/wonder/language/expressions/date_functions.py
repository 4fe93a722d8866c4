"""SQLite's date and time functions, in the forms that depend on their arguments alone."""

import re
from collections.abc import Callable
from math import fmod
from typing import Final

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.formatting import printf
from wonder.language.expressions.limits import MAX_TEXT
from wonder.language.expressions.moments import (
    DAY,
    EPOCH_SECONDS,
    Moment,
    NoMoment,
    clock_time,
    moment_of_number,
    moment_of_text,
)
from wonder.language.expressions.numbers import is_same_integer, real_prefix
from wonder.language.expressions.sql_values import SqlValue, built, text_of
from wonder.language.steps import spend

# A conversion takes as long as so many steps.
_FIELD_STEPS: Final = 5


def date(*arguments: SqlValue) -> str | None:
    """date(TIME, MODIFIER, ...): YYYY-MM-DD."""
    moment = _moment(arguments)
    return None if moment is None else _date_text(moment)


def time(*arguments: SqlValue) -> str | None:
    """time(TIME, MODIFIER, ...): HH:MM:SS."""
    moment = _moment(arguments)
    return None if moment is None else _time_text(moment)


def datetime(*arguments: SqlValue) -> str | None:
    """datetime(TIME, MODIFIER, ...): YYYY-MM-DD HH:MM:SS."""
    moment = _moment(arguments)
    return None if moment is None else f"{_date_text(moment)} {_time_text(moment)}"


def julianday(*arguments: SqlValue) -> float | None:
    """julianday(TIME, MODIFIER, ...): days since noon of November 24 in the year -4713."""
    moment = _moment(arguments)
    return None if moment is None else moment.counted() / DAY


def unixepoch(*arguments: SqlValue) -> int | float | None:
    """unixepoch(TIME, MODIFIER, ...): seconds since 1970."""
    moment = _moment(arguments)
    if moment is None:
        return None
    if moment.shows_milliseconds:
        return (moment.counted() - EPOCH_SECONDS * 1000) / 1000.0
    return moment.counted() // 1000 - EPOCH_SECONDS


def strftime(template: SqlValue, *arguments: SqlValue) -> str | None:
    """strftime(FORMAT, TIME, MODIFIER, ...): the time as the format says, NULL for an invalid format."""
    moment = None if template is None else _moment(arguments)
    if moment is None:
        return None
    text = text_of(template)
    if len(text) > MAX_TEXT:
        raise EvaluationError(f"the format of strftime() has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    written = []
    for literal, letter in _FIELDS.findall(text):
        written.append(literal)
        if letter:
            spend(_FIELD_STEPS)
            convert = _CONVERSIONS.get(letter[1:])
            if convert is None:
                return None
            written.append(convert(moment))
    return built("".join(written))


def timediff(first: SqlValue, second: SqlValue) -> str | None:
    """timediff(A, B): what must be added to B to get A, as +YYYY-MM-DD HH:MM:SS.SSS."""
    one, other = _moment((first,)), _moment((second,))
    if one is None or other is None:
        return None
    try:
        return _difference(one, other)
    except NoMoment:
        return None


def _difference(one: Moment, other: Moment) -> str:
    direction = 1 if one.counted() >= other.counted() else -1
    (year, month, _), (other_year, other_month, day), clock = one.calendar(), other.calendar(), other.time()
    months = direction * ((year - other_year) * 12 + month - other_month)
    at = year * 12 + month - 1
    if (year, month) != (other_year, other_month):
        other = _on(at, day, clock)
    while (one.counted() - other.counted()) * direction < 0:
        months, at = months - 1, at - direction
        other = _on(at, day, clock)
    rest = Moment(count=abs(one.counted() - other.counted()) + 148_699_540_800_000)
    (_, _, days), (hour, minute, seconds) = rest.calendar(), rest.time()
    sign = "+" if direction > 0 else "-"
    date_part = f"{sign}{months // 12:04d}-{months % 12:02d}-{days - 1:02d}"
    return f"{date_part} {hour:02d}:{minute:02d}:{printf('%06.3f', seconds)}"


def _on(month_number: int, day: int, clock: tuple[int, int, float]) -> Moment:
    year, month = divmod(month_number, 12)
    return Moment(date=(year, month + 1, day), clock=clock)


def _moment(arguments: tuple[SqlValue, ...]) -> Moment | None:
    if not arguments:
        raise EvaluationError("a date function needs a time: a decision must not depend on the clock")
    first = arguments[0]
    try:
        if first is None:
            return None
        is_number = type(first) is int or type(first) is float
        moment = moment_of_number(float(first)) if is_number else moment_of_text(text_of(first))
        for position, modifier in enumerate(arguments[1:], 1):
            if modifier is None:
                return None
            _modify(moment, text_of(modifier), position)
        moment.checked()
        if len(arguments) == 1 and moment.date and moment.date[2] > 28:
            moment.date = None  # so that February 31 is shown as a day of March
        moment.calendar(), moment.time()
    except NoMoment:
        return None
    return moment


def _date_text(moment: Moment) -> str:
    year, month, day = moment.calendar()
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}"


def _time_text(moment: Moment) -> str:
    hour, minute, second = moment.time()
    if not moment.shows_milliseconds:
        return f"{hour:02d}:{minute:02d}:{int(second):02d}"
    milliseconds = int(1000.0 * second + 0.5)
    return f"{hour:02d}:{minute:02d}:{milliseconds // 1000 % 100:02d}.{milliseconds % 1000:03d}"


def _modify(moment: Moment, modifier: str, position: int) -> None:
    word = modifier.lower()
    if word in ("localtime", "utc"):
        raise EvaluationError(f"the modifier {word!r} is not allowed: it depends on the machine's time zone")
    if word in ("auto", "julianday", "unixepoch"):
        _read_number_as(moment, word, position)
    elif word in ("subsec", "subsecond"):
        moment.shows_milliseconds = True
    elif word == "floor":
        moment.move(-moment.overflow_days * DAY)
    elif word == "ceiling":
        moment.move(0)
        moment.overflow_days = 0
    elif word.startswith(("start of ", "end of ")):
        _go_to_edge(moment, *word.split(" of ", 1))
    elif word.startswith("weekday "):
        _go_to_weekday(moment, word[8:])
    else:
        _shift(moment, modifier)


def _read_number_as(moment: Moment, word: str, position: int) -> None:
    number = moment.raw
    if position > 1 or (number is None and word != "auto"):
        raise NoMoment
    if number is None:
        return
    if word == "julianday" and moment.count is None:
        raise NoMoment
    is_day = moment.count is not None and word != "unixepoch"
    if not is_day:
        seconds = -EPOCH_SECONDS <= number <= 253_402_300_799
        milliseconds = number * 1000.0 + EPOCH_SECONDS * 1000
        if word == "auto" and not seconds:
            return
        if not 0.0 <= milliseconds < 464_269_060_800_000.0:
            raise NoMoment
        moment.count = int(milliseconds + 0.5)
        moment.forget_calendar()
    moment.raw = None


def _go_to_edge(moment: Moment, edge: str, unit: str) -> None:
    if (moment.count is None and moment.date is None and moment.clock is None) or unit not in ("day", "month", "year"):
        raise NoMoment
    year, month, day = moment.calendar()
    moment.clock = (0, 0, 0.0) if edge == "start" else (23, 59, 59.999)
    moment.raw, moment.zone_minutes, moment.count = None, 0, None
    if edge == "start":
        moment.date = (year, 1 if unit == "year" else month, day if unit == "day" else 1)
    elif unit == "month":
        moment.set_date(year, month + 1, 1)
        moment.move(-DAY)
    else:
        moment.date = (year, 12, 31) if unit == "year" else (year, month, day)


def _go_to_weekday(moment: Moment, text: str) -> None:
    number = real_prefix(text)
    weekday = int(number.value) if -6.0 <= number.value <= 6.0 else 9
    if not number.found or not number.whole or not is_same_integer(number.value, weekday):
        raise NoMoment
    moment.calendar(), moment.time()
    moment.zone_minutes, moment.count = 0, None
    today = (moment.counted() + 129_600_000) // DAY % 7
    ahead = (abs(weekday) - today) % 7
    back = 7 if ahead and "-" in text else 0
    moment.move((ahead - back) * DAY)


_CALENDAR_SHIFT = re.compile(r"([+-])(\d{4,5})-(\d\d)-(\d\d)(?:[\t-\r ](\d\d:\d\d.*))?", re.ASCII | re.DOTALL)
# Each unit with the amounts that are too large, as C's short floats have them, and its seconds.
_UNITS: Final = {
    "second": (464270014873600.0, 1.0),
    "minute": (7737900171264.0, 60.0),
    "hour": (128970000384.0, 3600.0),
    "day": (5373485.0, 86400.0),
    "month": (176546.0, 2592000.0),
    "year": (14713.0, 31536000.0),
}


def _shift(moment: Moment, modifier: str) -> None:
    """Carry out +N days, +HH:MM, +YYYY-MM-DD and their like."""
    if modifier[:1] not in "+-0123456789" or not modifier:
        raise NoMoment
    if by_calendar := _CALENDAR_SHIFT.fullmatch(modifier):
        _shift_calendar(moment, by_calendar)
        return
    end = next((at for at in range(1, len(modifier)) if modifier[at] in ":\t\n\v\f\r "), len(modifier))
    number = real_prefix(modifier[:end])
    if not number.found or not number.whole:
        raise NoMoment
    if modifier[end : end + 1] == ":":
        _shift_clock(moment, modifier.lstrip("+-") if modifier[0] in "+-" else modifier, modifier[0] == "-")
    else:
        _shift_by_unit(moment, number.value, modifier[end:].lstrip("\t\n\v\f\r ").lower())


def _shift_calendar(moment: Moment, by: re.Match[str]) -> None:
    years, months, days = int(by[2]), int(by[3]), int(by[4])
    if years > 14712 or months >= 12 or days >= 31:
        raise NoMoment
    direction = -1 if by[1] == "-" else 1
    (year, month, day), _ = moment.calendar(), moment.time()
    moment.set_date(year + direction * years, month + direction * months, day)
    moment.move(direction * days * DAY)
    if by[5]:
        _shift_clock(moment, by[5], direction < 0)


def _shift_clock(moment: Moment, text: str, back: bool) -> None:
    shift = clock_time(text)
    if shift is None:
        raise NoMoment
    milliseconds = (shift.counted() - DAY // 2) % DAY
    moment.move(-milliseconds if back else milliseconds)


def _shift_by_unit(moment: Moment, amount: float, unit: str) -> None:
    if not 3 <= len(unit.encode()) <= 10:
        raise NoMoment
    unit = unit.removesuffix("s")
    limit, seconds = _UNITS.get(unit, (0.0, 0.0))
    if not -limit < amount < limit:
        raise NoMoment
    moment.counted()
    moment.overflow_days = 0
    rounding = -0.5 if amount < 0 else 0.5
    if unit in ("month", "year"):
        (year, month, day), _ = moment.calendar(), moment.time()
        whole = int(amount)
        moment.set_date(year + (whole if unit == "year" else 0), month + (whole if unit == "month" else 0), day)
        amount -= whole
    moment.move(int(amount * 1000.0 * seconds + rounding))


def _day_of_year(moment: Moment) -> int:
    january = Moment(date=(moment.calendar()[0], 1, 1), clock=moment.time())
    return (moment.counted() - january.counted() + DAY // 2) // DAY


def _days_after_monday(moment: Moment) -> int:
    return (moment.counted() + DAY // 2) // DAY % 7


def _days_after_sunday(moment: Moment) -> int:
    return (moment.counted() + 129_600_000) // DAY % 7


def _thursday(moment: Moment) -> Moment:
    """Return the Thursday of the same week, which decides on the year that the week belongs to."""
    return Moment(count=moment.counted() + (3 - _days_after_monday(moment)) * DAY, clock=moment.time())


def _twelve_hours(moment: Moment) -> int:
    hour = moment.time()[0]
    return (hour - 12 if hour > 12 else hour) or 12


def _epoch_text(moment: Moment) -> str:
    if moment.shows_milliseconds:
        return printf("%.3f", (moment.counted() - EPOCH_SECONDS * 1000) / 1000.0) or ""
    return str(moment.counted() // 1000 - EPOCH_SECONDS)


_FIELDS = re.compile(r"([^%]*)(%(?s:.?)|)", re.DOTALL)
_CONVERSIONS: Final[dict[str, Callable[[Moment], str]]] = {
    "d": lambda moment: f"{moment.calendar()[2]:02d}",
    "e": lambda moment: f"{moment.calendar()[2]:2d}",
    "f": lambda moment: printf("%06.3f", min(moment.time()[2], 59.999)) or "",
    "F": lambda moment: "{:04d}-{:02d}-{:02d}".format(*moment.calendar()),
    "G": lambda moment: f"{_thursday(moment).calendar()[0]:04d}",
    "g": lambda moment: f"{int(fmod(_thursday(moment).calendar()[0], 100)):02d}",
    "H": lambda moment: f"{moment.time()[0]:02d}",
    "I": lambda moment: f"{_twelve_hours(moment):02d}",
    "j": lambda moment: f"{_day_of_year(moment) + 1:03d}",
    "J": lambda moment: printf("%.16g", moment.counted() / DAY) or "",
    "k": lambda moment: f"{moment.time()[0]:2d}",
    "l": lambda moment: f"{_twelve_hours(moment):2d}",
    "m": lambda moment: f"{moment.calendar()[1]:02d}",
    "M": lambda moment: f"{moment.time()[1]:02d}",
    "p": lambda moment: "PM" if moment.time()[0] >= 12 else "AM",
    "P": lambda moment: "pm" if moment.time()[0] >= 12 else "am",
    "R": lambda moment: f"{moment.time()[0]:02d}:{moment.time()[1]:02d}",
    "s": _epoch_text,
    "S": lambda moment: f"{int(moment.time()[2]):02d}",
    "T": lambda moment: f"{moment.time()[0]:02d}:{moment.time()[1]:02d}:{int(moment.time()[2]):02d}",
    "u": lambda moment: str(_days_after_sunday(moment) or 7),
    "U": lambda moment: f"{(_day_of_year(moment) - _days_after_sunday(moment) + 7) // 7:02d}",
    "V": lambda moment: f"{_day_of_year(_thursday(moment)) // 7 + 1:02d}",
    "w": lambda moment: str(_days_after_sunday(moment)),
    "W": lambda moment: f"{(_day_of_year(moment) - _days_after_monday(moment) + 7) // 7:02d}",
    "Y": lambda moment: f"{moment.calendar()[0]:04d}",
    "%": lambda moment: "%",
}
