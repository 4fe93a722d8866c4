"""When something is planned: cron expressions and intervals, in time zones that others know."""

from wonder.language.schedules.cron import BadCron, CronExpression, parse_cron
from wonder.language.schedules.inputs import REFS, fill_input, input_refs, show_time
from wonder.language.schedules.moments import BadMoment, parse_moment
from wonder.language.schedules.times import CronTimes, IntervalTimes, Times, Within
from wonder.language.schedules.zones import UTC, ZONES, Zone

__all__ = [
    "REFS",
    "UTC",
    "ZONES",
    "BadCron",
    "BadMoment",
    "CronExpression",
    "CronTimes",
    "IntervalTimes",
    "Times",
    "Within",
    "Zone",
    "fill_input",
    "input_refs",
    "parse_cron",
    "parse_moment",
    "show_time",
]
