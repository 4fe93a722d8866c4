"""Cron expressions: what can be written, and which minutes it means, counted minute by minute in several zones."""

from collections.abc import Iterator
from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.depth import tries
from wonder.language.schedules import UTC, BadCron, CronTimes, IntervalTimes, Within, Zone, parse_cron
from wonder.language.schedules.calendar import date_of, day_number, weekday_of
from wonder.storage.zones import find_zone

# Each with its own way to change clocks: by an hour, by half of one, at midnight, at a minute past it, by a whole day,
# several times in a year, and not at all.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "America/Havana",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Asia/Kolkata",
]


def zone_of(name: str) -> Zone:
    zone = find_zone(name)
    assert zone is not None
    return zone


def ms(text: str) -> int:
    """Read a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1_000)


def shown(at_ms: int | None, zone: str) -> str | None:
    """Write a time as the clocks of a zone show it."""
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)).strftime("%m-%d %H:%M%z")


def times_of(text: str, zone: str, since: str, count: int) -> list[str | None]:
    times, at_ms = CronTimes(parse_cron(text), zone_of(zone)), ms(since)
    found: list[str | None] = []
    for _ in range(count):
        following = times.after(at_ms)
        assert following is not None
        found.append(shown(following, zone))
        at_ms = following
    return found


@pytest.mark.parametrize(
    ("text", "since", "expected"),
    [
        ("30 2 * * *", "2026-01-01T02:30:00+00:00", "01-02 02:30"),
        ("*/15 * * * *", "2026-01-01T02:30:01+00:00", "01-01 02:45"),
        ("5/20 * * * *", "2026-01-01T02:06:00+00:00", "01-01 02:25"),
        ("0 9-17/4 * * *", "2026-01-01T14:00:00+00:00", "01-01 17:00"),
        ("0 0 1,15 * *", "2026-01-02T00:00:00+00:00", "01-15 00:00"),
        ("0 0 * feb,Oct *", "2026-01-02T00:00:00+00:00", "02-01 00:00"),
        ("0 0 * * mon-fri", "2026-01-02T00:00:00+00:00", "01-05 00:00"),  # January 2 was a Friday
        ("0 0 * * 7", "2026-01-02T00:00:00+00:00", "01-04 00:00"),
        ("0 0 * * 1/2", "2026-01-02T00:00:00+00:00", "01-05 00:00"),  # Monday, Wednesday, Friday; Sunday is 0
        ("0 0 * * sat-sun", "2026-01-03T00:00:00+00:00", "01-04 00:00"),
        ("0 0 13 * fri", "2026-01-02T00:00:00+00:00", "01-09 00:00"),  # either day suffices
        ("0 0 */2 * fri", "2026-01-02T00:00:00+00:00", "01-09 00:00"),  # a star restricts: both days
        ("0 0 29 2 *", "2026-01-02T00:00:00+00:00", "02-29 00:00"),
        ("0 0 ? * mon", "2026-01-02T00:00:00+00:00", "01-05 00:00"),
        ("@daily", "2026-01-02T00:00:00+00:00", "01-03 00:00"),
        ("@Hourly", "2026-01-02T00:00:00+00:00", "01-02 01:00"),
        ("@weekly", "2026-01-02T00:00:00+00:00", "01-04 00:00"),
        ("@monthly", "2026-01-02T00:00:00+00:00", "02-01 00:00"),
        ("@yearly", "2026-01-02T00:00:00+00:00", "01-01 00:00"),
    ],
)
def test_an_expression_means_the_first_fitting_minute_behind_a_moment(text: str, since: str, expected: str) -> None:
    assert times_of(text, "UTC", since, 1) == [f"{expected}+0000"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has 0 of 5 fields"),
        ("* * * *", "it has 4 of 5 fields"),
        ("0 * * * * *", "seconds are not supported, every_ms is"),
        ("60 * * * *", "'60' is no minute; write 0 to 59"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day of the month"),
        ("* * * 13 *", "'13' is no month; write 1 to 12, or jan to dec"),
        ("* * * * 8", "'8' is no day of the week"),
        ("* * * mon *", "'mon' is no month"),
        ("*/0 * * * *", "the step of '*/0' is 0"),
        ("1--2 * * * *", "'1--2' is no minute"),
        ("1, * * * *", "'' is no minute"),
        ("-1 * * * *", "'-1' is no minute"),
        ("² * * * *", "'²' is no minute"),
        ("* 22-4 * * *", "write 22-23,0-4"),
        ("* * * * fri-mon", "write fri-6,0-mon"),
        ("* * L * *", "'L' is no day of the month"),
        ("* * * * 5#2", "'5#2' is no day of the week"),
        ("*-5 * * * *", "a range begins with a number"),
        ("0 0 31 2 *", "it never comes"),
        ("0 0 31 apr,jun,9,nov *", "it never comes"),
        ("@reboot", "write one of @yearly"),
        ("99999999999999999999 * * * *", "is no minute"),
    ],
)
def test_what_is_no_expression_is_refused_with_a_way_to_mend_it(text: str, reason: str) -> None:
    with pytest.raises(BadCron) as refusal:
        parse_cron(text)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "zone", "since", "expected"),
    [
        # Clocks go from 02:00 to 03:00 on March 29, and from 03:00 to 02:00 on October 25.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", ["03-29 03:00+0200", "03-30 02:30+0200"]),
        ("*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", ["10-25 02:30+0200", "10-26 02:30+0100"]),
        ("30 * * * *", "Europe/Berlin", "2026-03-29T01:30:00+01:00", ["03-29 03:30+0200", "03-29 04:30+0200"]),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2026-10-25T01:30:00+02:00",
            ["10-25 02:30+0200", "10-25 02:30+0100", "10-25 03:30+0100"],
        ),
        # By half an hour, from 02:00 to 02:30 on October 4.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", ["10-04 02:30+1100", "10-05 02:15+1100"]),
        # From midnight to 01:00: the day has no beginning.
        ("0 0 * * *", "America/Havana", "2026-03-07T12:00:00-05:00", ["03-08 01:00-0400", "03-09 00:00-0400"]),
        # A minute past midnight, back into the day before.
        ("0 0 * * *", "America/St_Johns", "2010-11-06T12:00:00-02:30", ["11-07 00:00-0230", "11-08 00:00-0330"]),
        # A whole day that never was: December 30 of 2011.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", ["12-31 00:00+1400", "12-31 12:00+1400"]),
    ],
)
def test_a_time_that_does_not_exist_comes_once_when_clocks_go_on_and_one_that_exists_twice_comes_once(
    text: str, zone: str, since: str, expected: list[str]
) -> None:
    assert times_of(text, zone, since, len(expected)) == expected


def allowed(word: str, first: int, last: int) -> frozenset[int]:
    """Give what a field means, by the words of crontab(5)."""
    values: set[int] = set()
    for part in word.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        begin = first if low == "*" else int(low)
        end = last if low == "*" or (step and not high) else int(high or low)
        values.update(range(begin, end + 1, int(step or 1)))
    return frozenset(values)


def fits_day(date: datetime, text: str) -> bool:
    _, _, day, month, weekday = text.split()
    in_day = date.day in allowed(day, 1, 31)
    in_weekday = date.isoweekday() % 7 in {number % 7 for number in allowed(weekday, 0, 6)}
    days = (in_day and in_weekday) if "*" in (day[0], weekday[0]) else (in_day or in_weekday)
    return days and date.month in allowed(month, 1, 12)


# Only the last one is kept: a year has half a million minutes, and all zones together took a gigabyte.
@lru_cache(maxsize=1)
def moments_by_wall(zone: str, first_day: datetime, days: int) -> dict[int, tuple[int, ...]]:
    """Go through some days minute by minute, by the real clock: when did the clocks of a zone show a local minute?"""
    place, seen = ZoneInfo(zone), dict[int, tuple[int, ...]]()

    def offset(minute: int) -> int:
        there = datetime.fromtimestamp(minute * 60, UTC_ZONE).astimezone(place).utcoffset()
        assert there is not None
        return int(there.total_seconds()) // 60

    first = int(first_day.replace(tzinfo=UTC_ZONE).timestamp()) // 60
    for hour in range(first, first + days * 1_440, 60):
        steady = offset(hour) == offset(hour + 60)
        ahead = offset(hour)
        for minute in range(hour, hour + 60):
            wall = minute + (ahead if steady else offset(minute))
            seen[wall] = (*seen.get(wall, ()), minute)
    return seen


def brute_force(text: str, zone: str, start_ms: int, end_ms: int) -> list[int]:
    """Give all times between two moments, by looking at each minute around them."""
    first_day = datetime.fromtimestamp(start_ms / 1_000, UTC_ZONE).replace(tzinfo=None, hour=0, minute=0, second=0)
    days = (end_ms - start_ms) // 86_400_000 + 2
    seen = moments_by_wall(zone, first_day - timedelta(days=4), days + 8)
    minutes, hours = allowed(text.split()[0], 0, 59), allowed(text.split()[1], 0, 23)
    in_day = [hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)]
    found: set[int] = set()
    for date in (first_day + timedelta(days=count) for count in range(-2, days + 2)):
        midnight = int(date.replace(tzinfo=UTC_ZONE).timestamp()) // 60
        for wall in [midnight + minute for minute in in_day] if fits_day(date, text) else ():
            if len(hours) == 24:
                found.update(seen.get(wall, ()))
            else:
                while wall not in seen:  # what was left out ends with the minute at which clocks went on
                    wall += 1
                found.add(seen[wall][0])
    return sorted(minute * 60_000 for minute in found if start_ms < minute * 60_000 < end_ms)


def forwards(text: str, zone: str, start_ms: int, end_ms: int) -> Iterator[int]:
    times = CronTimes(parse_cron(text), zone_of(zone))
    while (following := times.after(start_ms)) is not None and following < end_ms:
        yield following
        start_ms = following


def backwards(text: str, zone: str, start_ms: int, end_ms: int) -> Iterator[int]:
    times = CronTimes(parse_cron(text), zone_of(zone))
    while (earlier := times.before(end_ms)) is not None and earlier > start_ms:
        yield earlier
        end_ms = earlier


@pytest.mark.parametrize(
    ("zone", "year"),
    [(zone, 2026) for zone in ZONES]
    + [("America/St_Johns", 2010), ("Pacific/Apia", 2011), ("America/Sao_Paulo", 2018), ("Africa/Casablanca", 2012)],
)
def test_times_are_those_that_looking_at_every_minute_of_a_year_gives(zone: str, year: int) -> None:
    span = ms(f"{year}-01-01T00:00:00+00:00"), ms(f"{year + 1}-01-01T00:00:00+00:00")
    for text in ("*/30 0-3 * * *", "7 * * * *", "59 23 28-31 * 0", "0 12 30,31 3,10,12 *"):
        expected = brute_force(text, zone, *span)
        assert expected, text
        assert list(forwards(text, zone, *span)) == expected, text
        assert list(backwards(text, zone, *span))[::-1] == expected, text


def number(first: int, last: int) -> st.SearchStrategy[str]:
    values = st.integers(first, last)
    spans = st.tuples(values, values).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(spans | st.just("*"), st.integers(1, last)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(values.map(str) | spans | steps, min_size=1, max_size=3).map(",".join) | st.just("*")


EXPRESSIONS = st.tuples(number(0, 59), number(0, 23), number(1, 28), number(1, 12), number(0, 7)).map(" ".join)


@given(EXPRESSIONS, st.sampled_from(ZONES), st.integers(0, 366))
@settings(max_examples=tries(40, 400))
def test_any_expression_plans_what_looking_at_every_minute_of_some_days_gives(text: str, zone: str, day: int) -> None:
    start = ms("2026-01-01T00:00:00+00:00") + day * 86_400_000
    span = start, start + 2 * 86_400_000
    expected = brute_force(text, zone, *span)
    assert list(forwards(text, zone, *span)) == expected
    assert list(backwards(text, zone, *span))[::-1] == expected


def test_days_are_counted_as_the_calendar_has_them() -> None:
    for number in range(-40_000, 60_000, 7):
        date = datetime(1970, 1, 1) + timedelta(days=number)
        assert date_of(number) == (date.year, date.month, date.day)
        assert day_number(date.year, date.month, date.day) == number
        assert weekday_of(number) == date.isoweekday() % 7


def test_an_interval_has_equal_distances_from_its_anchor() -> None:
    times = IntervalTimes(900_000, ms("2026-01-01T00:05:00+00:00"))
    assert shown(times.after(ms("2026-01-01T00:05:00+00:00")), "UTC") == "01-01 00:20+0000"
    assert shown(times.before(ms("2026-01-01T00:20:00+00:00")), "UTC") == "01-01 00:05+0000"
    assert shown(times.after(ms("2025-12-31T23:49:59+00:00")), "UTC") == "12-31 23:50+0000"


def test_times_stay_within_a_start_and_an_end_both_included() -> None:
    every = CronTimes(parse_cron("@daily"), UTC)
    times = Within(every, ms("2026-02-01T00:00:00+00:00"), ms("2026-02-03T00:00:00+00:00"))
    assert shown(times.after(0), "UTC") == "02-01 00:00+0000"
    assert shown(times.after(ms("2026-02-02T00:00:00+00:00")), "UTC") == "02-03 00:00+0000"
    assert times.after(ms("2026-02-03T00:00:00+00:00")) is None
    assert shown(times.before(ms("2030-01-01T00:00:00+00:00")), "UTC") == "02-03 00:00+0000"
    assert times.before(ms("2026-02-01T00:00:00+00:00")) is None


@pytest.mark.parametrize(
    "name",
    [
        *("Europe/Atlantis", "Europe", "../etc/passwd", "/etc/localtime", "", "Ünïcode/Zone", "a\0b"),
        *("right/Europe/Berlin", "posix/Europe/Berlin", "posixrules", "localtime", "Factory"),
    ],
)
def test_a_zone_that_is_none_is_not_found(name: str) -> None:
    assert find_zone(name) is None
