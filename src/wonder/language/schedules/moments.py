"""Moments as people write them: a date, or a date and a time, with or without a zone."""

import re

from wonder.errors import WonderError
from wonder.language.schedules.calendar import day_number, days_in_month
from wonder.language.schedules.zones import Zone

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?\s?(Z|z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_DAY = 86_400


class BadMoment(WonderError):
    """A text is no date, and no date and time."""

    code = "BAD_MOMENT"

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is no moment: {reason}; write 2030-01-31, or 2030-01-31T08:00:00Z")
        self.text, self.reason = text, reason


def parse_moment(text: str, zone: Zone) -> int:
    """Read a moment as milliseconds since 1970; without a zone of its own it is of the one given. Raises BadMoment."""
    found = _FORM.fullmatch(text.strip())
    if not found:
        raise BadMoment(text, "it has another form")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month) or not 1_970 <= year <= 9_000:
        raise BadMoment(text, "there is no such day")
    if hour > 23 or minute > 59 or second > 59:
        raise BadMoment(text, "there is no such time of the day")
    wall = day_number(year, month, day) * _DAY + hour * 3_600 + minute * 60 + second
    milliseconds = int((found[7] or "0").ljust(3, "0")[:3])
    return (wall - _offset(found[8], wall, zone)) * 1_000 + milliseconds


def _offset(written: str | None, wall: int, zone: Zone) -> int:
    if written is None:
        # The offset of the moment itself, which is the earlier one where clocks show a time twice.
        before = zone.offset(wall - _DAY)
        return before if zone.offset(wall - before) == before else zone.offset(wall + _DAY)
    if written in "Zz":
        return 0
    sign, digits = written[0], written[1:].replace(":", "")
    seconds = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
    return -seconds if sign == "-" else seconds
