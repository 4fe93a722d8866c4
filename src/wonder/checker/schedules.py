"""Schedules: each planned time has one run, or is accounted for; none comes early, twice, or where another one goes."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from wonder.checker.planned import read_plan
from wonder.checker.scheduled_runs import StoredSchedule, check_firing, is_by_hand, milliseconds, shown_time
from wonder.checker.stored import Fields
from wonder.checker.values import read
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

QUEUED_MAX: Final = {"queue_one": 1, "queue_all": 1_000}
# What failed by a fault of the engine's own is tried again so much later.
_AFTER_ERROR_MS: Final = 10_000
# Clocks of two processes, or one that was put right.
_OVERLAP_MS: Final = 1_000
_ONLY_LIVE_MS: Final = 1_000_000_000_000_000
_PER_PAGE: Final = 1_000
_TRIES: Final = 5


@dataclass
class _Tally:
    """What the firings of a schedule come to."""

    planned: int = 0
    by_hand: int = 0
    behind_missed: int = 0
    latest_ms: int | None = None
    knows_last: bool = False


async def check_schedules(reader: Reader, *, trusts_clock: bool = True) -> AsyncIterator[Violation]:
    """Check every schedule with its runs; where the clock may have jumped, nothing is concluded from two times."""
    for kind, id in await reader.fetch("checker_schedule_orphans"):
        yield Violation("schedules", "", f"{kind!s} has rows of schedule {id!s}, which is not there")
    after = ""
    while page := await reader.fetch("checker_schedule_ids", after, _PER_PAGE):
        for (id,) in page:
            after = str(id)
            for violation in await _check_schedule(reader, after, trusts_clock):
                yield violation


async def _check_schedule(reader: Reader, id: str, trusts_clock: bool) -> list[Violation]:
    """Check one schedule; one that moves on again and again while it is read is passed over."""
    for _ in range(_TRIES):
        before = await reader.fetch_named("checker_schedule", id)
        if not before:
            return []
        row: Fields = dict(before[0])
        try:
            row["queued"] = read(row["queued"])
            found = await _look(reader, StoredSchedule(row, read_plan(row)), trusts_clock)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            found = [Violation("unreadable", "", f"the rows of schedule {id} can't be read: {error!r}")]
        if await reader.fetch_named("checker_schedule", id) == before:
            return found
    return []


async def _look(reader: Reader, schedule: StoredSchedule, trusts_clock: bool) -> list[Violation]:
    row, tally, found = schedule.row, _Tally(), list[Violation]()
    async for firing in _firings(reader, row["id"]):
        _count(tally, firing, row)
        for message in check_firing(schedule, firing, trusts_clock=trusts_clock):
            found.append(Violation("schedules", firing["run_id"], message))
    named = f"schedule {row['name']!r}"
    for run_id, key in await reader.fetch("checker_unlisted_scheduled_runs", row["workflow_id"], row["id"]):
        message = f"it was started as {key!s}, of which {named} knows nothing"
        found.append(Violation("schedules", str(run_id), message))
    if row["overlap"] != "allow":
        slack_ms = _OVERLAP_MS if trusts_clock else _ONLY_LIVE_MS
        for (run_id,) in await reader.fetch("checker_overlapping_runs", row["id"], slack_ms, schedule.changed_ms):
            message = f"{named} started it while another one of its runs went on, against overlap {row['overlap']}"
            found.append(Violation("schedules", str(run_id), message))
    if row["schedule_id"] is None:
        if row["archived_at"] is None:
            found.append(Violation("schedules", "", f"{named} has no state, and can never start anything"))
        return found
    messages = [*_state(schedule, tally), *_accounts(schedule, tally)]
    return found + [Violation("schedules", "", f"{named} {message}") for message in messages]


async def _firings(reader: Reader, id: str) -> AsyncIterator[Fields]:
    after_ms = -1
    while page := await reader.fetch_named("checker_schedule_firings", id, after_ms, _PER_PAGE):
        for row in page:
            after_ms = int(str(row["planned_ms"]))
            yield dict(row)


def _count(tally: _Tally, firing: Fields, row: Fields) -> None:
    tally.knows_last |= firing["run_id"] == row["last_run_id"]
    if is_by_hand(firing):
        tally.by_hand += 1
        return
    tally.planned += 1
    tally.latest_ms = firing["planned_ms"]
    tally.behind_missed += firing["planned_ms"] > (row["last_missed_ms"] or 0)


def _state(schedule: StoredSchedule, tally: _Tally) -> Iterator[str]:
    """Look at what a schedule says of itself: what it has started, what waits, and when it goes on."""
    row, all_told = schedule.row, tally.planned + tally.by_hand
    queued: list[Any] = row["queued"]
    if row["started"] < all_told - (row["revision"] - 1) or (schedule.is_untouched and row["started"] > all_told):
        yield f"says that it started {row['started']} runs, and there are {all_told}"
    if row["last_run_id"] is not None and not tally.knows_last:
        yield f"says that its last run is {row['last_run_id']}, which it has not started"
    if queued != sorted(set(queued)) or any(planned > row["after_ms"] for planned in queued):
        yield f"has {queued} queued, and is at {row['after_ms']}"
    if schedule.is_untouched:
        if len(queued) > QUEUED_MAX.get(row["overlap"], 0):
            yield f"has {len(queued)} times queued, against overlap {row['overlap']}"
        if tally.latest_ms is not None and tally.latest_ms > row["after_ms"]:
            yield f"has started a run for {shown_time(tally.latest_ms)}, which may come again"
        if queued and tally.latest_ms is not None and tally.latest_ms >= queued[0]:
            yield f"has {shown_time(queued[0])} queued, and has started a run for that time or a later one"
    yield from _due(schedule, queued)


def _due(schedule: StoredSchedule, queued: list[Any]) -> Iterator[str]:
    """Look whether it goes on in time for what is planned next."""
    row, plan = schedule.row, schedule.plan
    following = plan.first_after(row["after_ms"]) if plan else None
    if following is None and not queued:
        return
    if row["due_ms"] is None:
        yield f"never goes on, although {'a time is queued' if queued else f'{shown_time(following or 0)} is planned'}"
        return
    if following is not None:
        latest_ms = max(following + row["jitter_ms"], (row["last_error_ms"] or 0) + _AFTER_ERROR_MS)
        if row["due_ms"] > latest_ms:
            yield f"goes on at {shown_time(row['due_ms'])}, and {shown_time(following)} is planned before"


def _accounts(schedule: StoredSchedule, tally: _Tally) -> Iterator[str]:
    """Count what was planned anew: each time was started, skipped, refused, is queued, or was missed as it may be."""
    row, plan = schedule.row, schedule.plan
    if plan is None or not schedule.is_untouched:
        return
    planned = plan.count(milliseconds(row["created_at"]), row["after_ms"])
    if planned is None:
        return
    otherwise = row["skipped"] + row["failed"] + len(row["queued"])
    missed, missed_ms = planned - tally.planned - otherwise, row["last_missed_ms"]
    accounts = f"{tally.planned} were started, {row['skipped']} skipped, {row['failed']} refused, and"
    accounts = f"of {planned} planned times {accounts} {len(row['queued'])} wait"
    if missed < 0 or (missed > 0 and missed_ms is None):
        yield f"does not account for its times: {accounts}"
    if missed_ms is None:
        return
    if missed <= 0 or not plan.fits(missed_ms):
        yield f"says that it missed {shown_time(missed_ms)}: {accounts}"
    behind = plan.count(missed_ms, row["after_ms"]) or 0
    if behind > tally.behind_missed + otherwise:
        yield f"does not account for its times behind {shown_time(missed_ms)}, the last that it missed: {accounts}"
    owed = {"none": 0, "last": 1, "all": row["catch_up_max"]}[row["catch_up"]]
    if row["catch_up_ms"] is None and behind < owed:
        yield f"missed {shown_time(missed_ms)}, against catch_up {row['catch_up']}: {accounts}"
