"""Schedules as they are stored: what an author said, what they have done, and the runs that they have started."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from wonder.definitions.records.schedules import Schedule
from wonder.engine.schedules import ScheduleState
from wonder.storage.named_resources import find_resource, put_resource
from wonder.storage.pages import LIMIT, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.cells import from_json, number, number_or_none, text, text_or_none, to_json
from wonder.storage.store import Entry, Reader, Row, Transaction, Value
from wonder.storage.tables import SCHEDULES

# What says when a schedule comes: with another of these, what was planned before does not count.
_TIMING = ("cron", "every_ms", "time_zone", "starts_at", "ends_at", "jitter_ms")


class StoredSchedule(Struct, frozen=True, kw_only=True):
    """A schedule with all that is known of it."""

    schedule: Schedule
    state: ScheduleState
    revision: int
    paused: bool
    note: str | None

    def move(self, state: ScheduleState) -> Entry:
        """Give the statement that stores what it has done, unless it was changed since it was read."""
        row = (
            self.schedule.id,
            self.revision,
            state.after_ms,
            state.due_ms,
            to_json(state.queued),
            state.last_planned_ms,
            state.last_run_id,
            state.last_skipped_ms,
            state.last_missed_ms,
            state.last_error,
            state.last_error_ms,
            state.started,
            state.skipped,
            state.failed,
        )
        return "move_schedule", [row]

    def fired(self, planned_ms: int, run_id: str, at_ms: int) -> Entry:
        """Give the statement that stores which run was started for a planned time."""
        return "put_schedule_firing", [(self.schedule.id, planned_ms, run_id, at_ms)]

    def closed(self, planned_ms: int) -> Entry:
        """Give the statement that stores that such a run has ended."""
        return "close_schedule_firing", [(self.schedule.id, planned_ms)]


class LiveFiring(NamedTuple):
    """A run that a schedule has started and that was not seen to have ended."""

    planned_ms: int
    run_id: str
    has_ended: bool


class Firing(NamedTuple):
    """A run that a schedule has started; its status is None if it is not there any more."""

    planned_ms: int
    run_id: str
    at_ms: int
    status: str | None


async def put_schedule(transaction: Transaction, schedule: Schedule, *, paused: bool, now: str) -> tuple[str, bool]:
    """Store a schedule under its name, and say its id and whether anything changed; what it has done stays known."""
    before = await find_resource(transaction, Schedule, schedule.project_id, schedule.name)
    put = await put_resource(transaction, schedule)
    id, now_ms = put.record.id, _milliseconds(now)
    if before is None:
        await transaction.execute("begin_schedule", id, int(paused), now_ms)
    elif any(getattr(before, field) != getattr(put.record, field) for field in _TIMING):
        await transaction.execute("replan_schedule", id, now_ms)
    elif put.is_changed:
        await transaction.execute("revise_schedule", id)
    return id, put.is_changed


async def pause_schedule(transaction: Transaction, id: str, note: str | None) -> None:
    """Let a schedule start nothing."""
    await transaction.execute("pause_schedule", id, note)


async def resume_schedule(transaction: Transaction, id: str, *, now: str) -> None:
    """Let a paused schedule go on with what is planned from now on; harmless if it is not paused."""
    await transaction.execute("resume_schedule", id, _milliseconds(now))


async def archive_schedule(transaction: Transaction, id: str, *, at: str) -> None:
    """Let a schedule start nothing any more; its name is free again, and the runs that it started are still known."""
    await transaction.execute("archive_resource(schedules)", id, at)
    await transaction.execute("end_schedule", id)


async def find_schedule(reader: Reader, project_id: str, name: str) -> StoredSchedule:
    """Find a project's schedule by its name or id (RES-7); raises NotFound."""
    found = await find_resource(reader, Schedule, project_id, name)
    stored = await load_schedule(reader, found.id if found else name)
    if stored is None or stored.schedule.project_id != project_id:
        raise NotFound("schedule", name)
    return stored


async def load_schedule(reader: Reader, id: str) -> StoredSchedule | None:
    """Load a schedule by its id; None if there is none, or it was archived."""
    rows = await reader.fetch_named("schedule_by_id", id)
    return _stored(rows[0]) if rows else None


async def list_schedules(
    reader: Reader, project_id: str, *, limit: int = LIMIT, cursor: str | None = None
) -> Page[StoredSchedule]:
    """List a project's schedules by name, page by page; raises BadLimit or BadCursor."""
    check_limit(limit)
    (after,) = read_cursor(cursor, "schedules", "")
    rows = await reader.fetch_named("schedules_of_project", project_id, after, limit + 1)
    page, more = cut([_stored(row) for row in rows], limit)
    return Page(page, write_cursor("schedules", page[-1].schedule.name) if more else None)


async def due_schedules(reader: Reader, now_ms: int, *, limit: int) -> list[StoredSchedule]:
    """List the schedules that have something to do, the longest due first."""
    return [_stored(row) for row in await reader.fetch_named("due_schedules", now_ms, limit)]


async def next_schedule_due(reader: Reader, now_ms: int) -> int | None:
    """Say when the next schedule has something to do; None if none has."""
    rows = await reader.fetch("next_schedule_due", now_ms)
    return number(rows[0][0]) if rows else None


async def live_firings(reader: Reader, id: str, *, limit: int) -> list[LiveFiring]:
    """List the runs of a schedule that were not seen to have ended, oldest first."""
    rows = await reader.fetch("live_schedule_firings", id, limit)
    return [LiveFiring(number(planned), text(run_id), bool(ended)) for planned, run_id, ended in rows]


async def has_firing(reader: Reader, id: str, planned_ms: int) -> bool:
    """Say whether a run of a schedule stands for a time."""
    return bool(await reader.fetch("schedule_firing", id, planned_ms))


async def last_firings(reader: Reader, id: str, *, limit: int) -> list[Firing]:
    """List the last runs that a schedule has started, newest first."""
    rows: list[Row] = await reader.fetch("last_schedule_firings", id, limit)
    return [Firing(number(planned), text(run), number(at), text_or_none(status)) for planned, run, at, status in rows]


def _stored(row: Mapping[str, Value]) -> StoredSchedule:
    state = ScheduleState(
        after_ms=number(row["after_ms"]),
        due_ms=number_or_none(row["due_ms"]),
        queued=tuple(from_json(row["queued"])),
        last_planned_ms=number_or_none(row["last_planned_ms"]),
        last_run_id=text_or_none(row["last_run_id"]),
        last_skipped_ms=number_or_none(row["last_skipped_ms"]),
        last_missed_ms=number_or_none(row["last_missed_ms"]),
        last_error=text_or_none(row["last_error"]),
        last_error_ms=number_or_none(row["last_error_ms"]),
        started=number(row["started"]),
        skipped=number(row["skipped"]),
        failed=number(row["failed"]),
    )
    return StoredSchedule(
        schedule=SCHEDULES.load(row),
        state=state,
        revision=number(row["revision"]),
        paused=bool(row["paused"]),
        note=text_or_none(row["note"]),
    )


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1_000)
