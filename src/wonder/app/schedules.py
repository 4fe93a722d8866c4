"""Schedules of the project: stored, found, paused, resumed, deleted, and what they have planned."""

import wonder.actions  # noqa: F401  # announces the built-in kinds to the rooms that read definitions
from wonder.app.deploying import store_definition
from wonder.app.project import OpenProject
from wonder.definitions.loading import load_value
from wonder.definitions.planning import planned_times
from wonder.definitions.records.schedules import Schedule
from wonder.errors import WonderError
from wonder.language.schedules import UTC, Zone
from wonder.language.values import JsonValue, check_value
from wonder.storage.named_resources import find_resource
from wonder.storage.resource_errors import NameTaken
from wonder.storage.schedules import (
    StoredSchedule,
    archive_schedule,
    find_schedule,
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


async def create_schedule(
    app: OpenProject, name: str, fields: dict[str, JsonValue], *, replaces: bool
) -> StoredSchedule:
    """Check and store a schedule, given as in a definition file; raises NameTaken or DefinitionRefused."""
    announce_zones()
    if not replaces and await find_resource(app.store, Schedule, app.home.project_id, name):
        raise NameTaken("schedule", name)
    await store_definition(app, load_value(check_value({"schedules": {name: fields}})))
    return await find_schedule(app.store, app.home.project_id, name)


async def pause(app: OpenProject, name: str, note: str | None = None) -> StoredSchedule:
    """Let a schedule start nothing until it is resumed; raises NotFound."""
    stored = await find_schedule(app.store, app.home.project_id, name)
    async with app.store.transaction() as transaction:
        await pause_schedule(transaction, stored.schedule.id, note)
    return await find_schedule(app.store, app.home.project_id, name)


async def resume(app: OpenProject, name: str) -> StoredSchedule:
    """Let a schedule go on with what is planned from now on; raises NotFound."""
    stored = await find_schedule(app.store, app.home.project_id, name)
    async with app.store.transaction() as transaction:
        await resume_schedule(transaction, stored.schedule.id, now=app.clock())
    return await find_schedule(app.store, app.home.project_id, name)


async def delete(app: OpenProject, name: str) -> None:
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
