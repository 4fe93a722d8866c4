"""The times that a schedule plans."""

from wonder.definitions.records.schedules import ScheduleBody
from wonder.language.schedules import CronTimes, IntervalTimes, Times, Within, Zone, parse_cron, parse_moment


def planned_times(schedule: ScheduleBody, zone: Zone) -> Times:
    """Give all times of a schedule in its zone; raises BadCron or BadMoment.

    An interval counts from `starts_at`, or from the beginning of 1970.
    """
    starts_ms = None if schedule.starts_at is None else parse_moment(schedule.starts_at, zone)
    ends_ms = None if schedule.ends_at is None else parse_moment(schedule.ends_at, zone)
    if schedule.cron is not None:
        times: Times = CronTimes(parse_cron(schedule.cron), zone)
    else:
        assert schedule.every_ms is not None
        times = IntervalTimes(schedule.every_ms, starts_ms or 0)
    return times if starts_ms is None and ends_ms is None else Within(times, starts_ms, ends_ms)
