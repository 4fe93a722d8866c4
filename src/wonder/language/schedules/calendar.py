"""The calendar: days counted from January 1 of 1970, and back to year, month and day."""

from typing import NamedTuple

_DAYS_OF_ERA = 146_097
"""The days of 400 years, after which the calendar repeats itself."""
# From year 0, March 1 to January 1 of 1970: a year that begins in March has its odd day at the end.
_EPOCH = 719_468


class Date(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        """Write it as ISO 8601 does."""
        return f"{self.year:04}-{self.month:02}-{self.day:02}"


def day_number(year: int, month: int, day: int) -> int:
    """Count the days from January 1 of 1970 to a date."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _DAYS_OF_ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH


def date_of(number: int) -> Date:
    """Give the date that is so many days after January 1 of 1970."""
    era, of_era = divmod(number + _EPOCH, _DAYS_OF_ERA)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    march_based = (5 * of_year + 2) // 153
    month = march_based + 3 if march_based < 10 else march_based - 9
    return Date(year + era * 400 + (month <= 2), month, of_year - (153 * march_based + 2) // 5 + 1)


def days_in_month(year: int, month: int) -> int:
    """Say how many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def weekday_of(number: int) -> int:
    """Give the day of the week, from 0 for Sunday to 6 for Saturday."""
    return (number + 4) % 7
