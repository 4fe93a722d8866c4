"""Moments: ISO 8601 texts as milliseconds since 1970, by arithmetic alone."""

import re
from typing import Final

from wonder.errors import WonderError

_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?\s?(Z|z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class BadMoment(WonderError):
    """A text is no point in time."""

    code = "BAD_MOMENT"

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:100]!r} is no point in time; write it like 2031-05-28T14:30:00Z")
        self.text = text


def moment_ms(text: str) -> int:
    """Read a point in time; without a zone it is UTC, without a time midnight."""
    found = _MOMENT.fullmatch(text)
    if not found:
        raise BadMoment(text)
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] + (leap and month == 2):
        raise BadMoment(text)
    if hour > 23 or minute > 59 or second > 59:
        raise BadMoment(text)
    fraction_ms = int(((found[7] or "") + "000")[:3])
    seconds = _days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - _offset_seconds(found[8])
    return seconds * 1_000 + fraction_ms


def _days(year: int, month: int, day: int) -> int:
    """Count the days since 1970-01-01 in the Gregorian calendar."""
    # Years are counted from March, so that the leap day is the last of its year.
    if month <= 2:
        year -= 1
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def _offset_seconds(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds
