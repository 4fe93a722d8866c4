"""Scheduled runs: what a run that a schedule has started says of it, against what the schedule says of the run."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

from wonder.checker.planned import Plan, read_plan
from wonder.checker.stored import ENDED, Fields, StoredRun
from wonder.checker.values import read, same, shown
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

# A time that is not older was not missed.
ON_TIME_MS: Final = 60_000
# So long a start that was decided in time may have taken: its process may have stood still.
_SLOW_MS: Final = 600_000
AT_ONCE: Final = frozenset({"skip", "allow", "cancel_previous"})
# An engine may have read a schedule just before it was changed.
_CHANGED_MS: Final = 60_000


@dataclass
class StoredSchedule:
    """A schedule's row with its state, and what it plans, where that can be said here."""

    row: Fields
    plan: Plan | None

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has paused, resumed or changed it since it was made."""
        return bool(self.row["revision"] == 1)

    @property
    def changed_ms(self) -> int:
        """Behind this moment, all is as the row has it now."""
        if self.row["revision"] is None:
            return 1 << 62  # archived: what it was last is not known
        return 0 if self.is_untouched else milliseconds(self.row["updated_at"]) + _CHANGED_MS


def is_by_hand(firing: Fields) -> bool:
    """Say whether a run was wanted by somebody, and not planned."""
    return " by hand " in str(firing["idempotency_key"] or "")


def check_firing(schedule: StoredSchedule, firing: Fields, *, trusts_clock: bool) -> Iterator[str]:
    """Look at one run of a schedule."""
    row, planned_ms = schedule.row, firing["planned_ms"]
    source = f"schedule {row['name']!r} started it for {shown_time(planned_ms)}"
    if firing["found_id"] is None:
        yield f"{source}, and it is not there"
        return
    mark = f"by hand {planned_ms}" if is_by_hand(firing) else shown_time(planned_ms)
    if firing["idempotency_key"] != f"schedule {row['id']} {mark}":
        yield f"{source}, and it was started as {firing['idempotency_key']!r}"
    if not firing["live"] and firing["status"] not in ENDED:
        yield f"{source}, and takes it for ended, while it is {firing['status']}"
    if is_by_hand(firing):
        return
    if trusts_clock and min(firing["at_ms"], firing["created_ms"]) < planned_ms:
        yield f"{source}, {planned_ms - min(firing['at_ms'], firing['created_ms'])} ms too early"
    if min(firing["at_ms"], planned_ms) <= schedule.changed_ms:
        return
    yield from (f"{source}, {reason}" for reason in _as_defined(schedule, firing))
    if trusts_clock and (late := _late(row, firing)):
        yield f"{source}, {late}"


def _as_defined(schedule: StoredSchedule, firing: Fields) -> Iterator[str]:
    row, plan, planned_ms = schedule.row, schedule.plan, firing["planned_ms"]
    if plan is not None and not plan.fits(planned_ms):
        yield "which is not planned"
    if firing["workflow_id"] != row["workflow_id"]:
        yield f"and it is a run of another workflow than {row['workflow_id']}"


def _late(row: Fields, firing: Fields) -> str | None:
    """Say whether a time was caught up with that should not have been; one that was queued may be late."""
    if row["overlap"] not in AT_ONCE:
        return None
    late_ms = firing["at_ms"] - firing["planned_ms"]
    if row["catch_up"] == "none" and late_ms > ON_TIME_MS + row["jitter_ms"] + _SLOW_MS:
        return f"{late_ms} ms late, against catch_up none"
    limit_ms = row["catch_up_ms"]
    if limit_ms is not None and late_ms > max(limit_ms, ON_TIME_MS + row["jitter_ms"]) + _SLOW_MS:
        return f"{late_ms} ms late, against catch_up_ms {limit_ms}"
    return None


async def check_scheduled_input(reader: Reader, run: StoredRun) -> list[Violation]:
    """Compare the input that a scheduled run began with with what its schedule gives for its planned time."""
    key = str(run.row["idempotency_key"] or "")
    begun = next((event.metadata for event in run.events if event.type == "workflow_started"), None)
    if not key.startswith("schedule ") or begun is None:
        return []
    found = []
    for firing in await reader.fetch_named("checker_firing_of_run", run.id):
        for row in await reader.fetch_named("checker_schedule", str(firing["schedule_id"])):
            schedule = StoredSchedule(dict(row), read_plan(dict(row)))
            planned_ms = int(str(firing["planned_ms"]))
            if schedule.plan is None or min(int(str(firing["at_ms"])), planned_ms) <= schedule.changed_ms:
                continue
            given = _filled(read(row["input"]), planned_ms, schedule.plan.zone, str(row["name"]))
            if not _has(begun["input"], given):
                message = f"schedule {row['name']!r} gives it {shown(given)}, and it began with {shown(begun['input'])}"
                found.append(Violation("schedules", run.id, message))
    return found


def milliseconds(moment: str) -> int:
    """Read a moment as rows have it."""
    return int(datetime.fromisoformat(moment).timestamp() * 1_000)


def shown_time(ms: int) -> str:
    """Write a moment in UTC, as RFC 3339 does."""
    return _local_time(ms, UTC).removesuffix("+00:00") + "Z"


def _local_time(ms: int, zone: tzinfo) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
    return moment.astimezone(zone).isoformat(timespec="milliseconds" if ms % 1_000 else "seconds")


def _filled(template: Any, planned_ms: int, zone: tzinfo, name: str) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, planned_ms, zone, name) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, planned_ms, zone, name) for value in template]
    if not isinstance(template, str) or not template.startswith("@"):
        return template
    local = _local_time(planned_ms, zone)
    told = {
        "@time": shown_time(planned_ms),
        "@local_time": local,
        "@date": local.partition("T")[0],
        "@time_ms": planned_ms,
        "@schedule": name,
    }
    return told.get(template, template[1:])


def _has(value: Any, wanted: Any) -> bool:
    """Say whether an input is what was given; what a schema fills in may be there beside it."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and _has(value[key], wanted[key]) for key in wanted)
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_has, value, wanted))
    return same(value, wanted)
