"""Schedules of the project: stored, found, paused, resumed, deleted, and what they have planned."""

from typing import Any

from wonder.app import App
from wonder.definitions.loading import load_value
from wonder.definitions.planning import planned_times
from wonder.definitions.records.schedules import Schedule
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError
from wonder.language.schedules import UTC, Zone, show_time
from wonder.language.values import JsonValue, check_value
from wonder.storage.named_resources import find_resource, load_resource
from wonder.storage.resource_errors import NameTaken
from wonder.storage.schedules import (
    Firing,
    StoredSchedule,
    archive_schedule,
    find_schedule,
    last_firings,
    pause_schedule,
    resume_schedule,
)
from wonder.storage.zones import announce_zones, find_zone

COUNT_MAX = 1_000


class BadCount(WonderError):
    """Nobody can be shown so many times."""

    code = "BAD_COUNT"

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} times can't be shown; ask for 1 to {COUNT_MAX}")
        self.count = count


async def create_schedule(app: App, name: str, fields: dict[str, JsonValue], *, replaces: bool) -> StoredSchedule:
    """Check and store a schedule, given as in a definition file; raises NameTaken or DefinitionRefused."""
    announce_zones()
    if not replaces and await find_resource(app.store, Schedule, app.home.project_id, name):
        raise NameTaken("schedule", name)
    await app.deploy(load_value(check_value({"schedules": {name: fields}})))
    return await find_schedule(app.store, app.home.project_id, name)


async def pause(app: App, name: str, note: str | None = None) -> StoredSchedule:
    """Let a schedule start nothing until it is resumed; raises NotFound."""
    stored = await find_schedule(app.store, app.home.project_id, name)
    async with app.store.transaction() as transaction:
        await pause_schedule(transaction, stored.schedule.id, note)
    return await find_schedule(app.store, app.home.project_id, name)


async def resume(app: App, name: str) -> StoredSchedule:
    """Let a schedule go on with what is planned from now on; raises NotFound."""
    stored = await find_schedule(app.store, app.home.project_id, name)
    async with app.store.transaction() as transaction:
        await resume_schedule(transaction, stored.schedule.id, now=app.clock())
    return await find_schedule(app.store, app.home.project_id, name)


async def delete(app: App, name: str) -> None:
    """Let a schedule start nothing any more; the runs that it started go on. Raises NotFound."""
    stored = await find_schedule(app.store, app.home.project_id, name)
    async with app.store.transaction() as transaction:
        await archive_schedule(transaction, stored.schedule.id, at=app.clock())


def next_times(schedule: Schedule, after_ms: int, count: int) -> list[int]:
    """Give the times that a schedule plans next, without what jitter adds; raises BadCount."""
    if not 1 <= count <= COUNT_MAX:
        raise BadCount(count)
    times, found = planned_times(schedule, zone_of(schedule)), list[int]()
    while len(found) < count and (following := times.after(after_ms)) is not None:
        found.append(following)
        after_ms = following
    return found


def zone_of(schedule: Schedule) -> Zone:
    """Give the zone of a schedule, or UTC where this machine does not know it."""
    return find_zone(schedule.time_zone) or UTC


async def show_schedule(app: App, stored: StoredSchedule, now_ms: int, firings: int = 0) -> dict[str, Any]:
    """Give all that is known of a schedule as JSON: its definition, its state, its next time and its last runs."""
    schedule, state = stored.schedule, stored.state
    workflow = await load_resource(app.store, Workflow, schedule.workflow_id)
    following = [] if stored.paused else next_times(schedule, max(now_ms, state.after_ms), 1)
    shown = schedule.model_dump() | {
        "workflow": workflow.name,
        "paused": stored.paused,
        "note": stored.note,
        "next_at": _time(following[0] if following else None),
        "queued": [show_time(planned) for planned in state.queued],
        "started": state.started,
        "skipped": state.skipped,
        "failed": state.failed,
        "last_planned_at": _time(state.last_planned_ms),
        "last_run_id": state.last_run_id,
        "last_skipped_at": _time(state.last_skipped_ms),
        "last_missed_at": _time(state.last_missed_ms),
        "last_error": state.last_error,
        "last_error_at": _time(state.last_error_ms),
    }
    if firings:
        shown["firings"] = [_firing(one) for one in await last_firings(app.store, schedule.id, limit=firings)]
    return shown


def _firing(firing: Firing) -> dict[str, Any]:
    return {
        "planned_at": show_time(firing.planned_ms),
        "started_at": show_time(firing.at_ms),
        "run_id": firing.run_id,
        "status": firing.status,
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else show_time(ms)
