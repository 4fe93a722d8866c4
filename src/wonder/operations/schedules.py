"""Schedules: stored, listed, paused, resumed, fired by hand, deleted, and what they have planned."""

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from wonder.app import schedules as kept
from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.schedules import CatchUp as CatchUp
from wonder.definitions.records.schedules import Overlap as Overlap
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError
from wonder.language.schedules import show_time
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.run_orders import StartedRun
from wonder.storage.own_resources import load_own_resource
from wonder.storage.pages import LIMIT
from wonder.storage.resource_errors import NameTaken
from wonder.storage.schedules import StoredSchedule, find_schedule, last_firings, list_schedules

_FIRINGS_SHOWN = 10
_NEXT_SHOWN = 5


class FiringRecord(Output, frozen=True):
    """A run that a schedule has started."""

    planned_at: str
    started_at: str
    run_id: str
    status: str | None
    """None where the run is gone."""


class ScheduleRecord(Output, frozen=True):
    """A schedule: what an author said of it, its state, its next time."""

    id: str
    project_id: str
    name: str
    description: str
    workflow_id: str
    workflow: str
    cron: str | None
    every_ms: int | None
    time_zone: str
    input: Any
    overlap: str
    catch_up: str
    catch_up_ms: int | None
    catch_up_max: int
    jitter_ms: int
    starts_at: str | None
    ends_at: str | None
    created_at: str
    updated_at: str
    paused: bool
    note: str | None
    next_at: str | None
    queued: list[str]
    started: int
    skipped: int
    failed: int
    last_planned_at: str | None
    last_run_id: str | None
    last_skipped_at: str | None
    last_missed_at: str | None
    last_error: str | None
    last_error_at: str | None
    firings: list[FiringRecord] | UnsetType = UNSET
    """The last runs that it has started; missing in lists."""


class SchedulePage(Output, frozen=True):
    """Some schedules, by name; `cursor` gets the next page, or is null at the end."""

    schedules: list[ScheduleRecord]
    cursor: str | None


class ListSchedules(Input, frozen=True):
    """Which page."""

    limit: int = LIMIT
    cursor: str | None = None


@operation("schedules.list", role="viewer")
async def list_project_schedules(application: Application, given: ListSchedules) -> SchedulePage:
    """List the schedules of the project."""
    page = await list_schedules(application.store, application.home.project_id, limit=given.limit, cursor=given.cursor)
    return SchedulePage(schedules=[await _record(application, one) for one in page.items], cursor=page.cursor)


class OneSchedule(Input, frozen=True):
    """A schedule, by its name or id."""

    name: str


@operation("schedules.show", role="viewer")
async def show_schedule(application: Application, given: OneSchedule) -> ScheduleRecord:
    """Show a schedule: what it has planned, and what it has started."""
    stored = await find_schedule(application.store, application.home.project_id, given.name)
    return await _record(application, stored, _FIRINGS_SHOWN)


class CreateSchedule(Input, frozen=True):
    """A schedule; what is missing has the default of definition files."""

    name: str
    workflow: str
    cron: str | UnsetType = UNSET
    every_ms: int | UnsetType = UNSET
    time_zone: str | UnsetType = UNSET
    input: Any | UnsetType = UNSET
    overlap: Overlap | UnsetType = UNSET
    catch_up: CatchUp | UnsetType = UNSET
    catch_up_ms: int | UnsetType = UNSET
    catch_up_max: int | UnsetType = UNSET
    jitter_ms: int | UnsetType = UNSET
    starts_at: str | UnsetType = UNSET
    ends_at: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    replace: bool = False
    """Whether to change the schedule of this name if there is one."""


class ScheduleTaken(WonderError):
    """There is a schedule of that name already, and nobody said that it is to be changed."""

    code = "NAME_TAKEN"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is a schedule {name!r} already; choose another name, or change that one with --replace"
        )
        self.name = name


@operation("schedules.create", role="author", changes=True)
async def create_schedule(application: Application, given: CreateSchedule) -> ScheduleRecord:
    """Check and store a schedule."""
    fields = {key: value for key, value in asdict(given).items() if value is not UNSET}
    name, replaces = fields.pop("name"), fields.pop("replace")
    try:
        stored = await kept.create_schedule(application, name, fields, replaces=replaces)
    except NameTaken as error:
        raise ScheduleTaken(error.name) from None
    return await _record(application, stored, _FIRINGS_SHOWN)


class PauseSchedule(Input, frozen=True):
    """Which schedule to pause, and why."""

    name: str
    note: str | None = None


@operation("schedules.pause", role="operator", changes=True)
async def pause_schedule(application: Application, given: PauseSchedule) -> ScheduleRecord:
    """Let a schedule start nothing until it is resumed."""
    return await _record(application, await kept.pause(application, given.name, given.note), _FIRINGS_SHOWN)


@operation("schedules.resume", role="operator", changes=True)
async def resume_schedule(application: Application, given: OneSchedule) -> ScheduleRecord:
    """Let a paused schedule go on with what is planned from now on."""
    return await _record(application, await kept.resume(application, given.name), _FIRINGS_SHOWN)


class DeletedSchedule(Output, frozen=True):
    """A schedule that starts nothing any more."""

    name: str
    deleted: bool


@operation("schedules.delete", role="author", changes=True)
async def delete_schedule(application: Application, given: OneSchedule) -> DeletedSchedule:
    """Let a schedule start nothing any more; the runs that it started go on."""
    await kept.delete(application, given.name)
    return DeletedSchedule(name=given.name, deleted=True)


@operation("schedules.fire", role="operator", changes=True, needs_engine=True)
async def fire_schedule(application: Application, given: OneSchedule) -> StartedRun:
    """Start a run of a schedule now, paused or not."""
    return StartedRun(run_id=(await application.fire_schedule(given.name)).id)


class NextTimes(Input, frozen=True):
    """How many of the times that a schedule plans next."""

    name: str
    count: int = _NEXT_SHOWN


class PlannedTimes(Output, frozen=True):
    """The times that a schedule plans next, in UTC and in its own zone."""

    name: str
    planned_at: list[str]
    in_zone: list[str]


@operation("schedules.next", role="viewer")
async def next_times(application: Application, given: NextTimes) -> PlannedTimes:
    """Show the times that a schedule plans next."""
    schedule = (await find_schedule(application.store, application.home.project_id, given.name)).schedule
    planned, zone = kept.next_times(schedule, _now_ms(), given.count), kept.zone_of(schedule)
    return PlannedTimes(
        name=schedule.name,
        planned_at=[show_time(one) for one in planned],
        in_zone=[show_time(one, zone.offset(one // 1_000)) for one in planned],
    )


async def _record(application: Application, stored: StoredSchedule, firings: int = 0) -> ScheduleRecord:
    """Give all that is known of a schedule; of the runs that it has started, the last."""
    store, schedule, state = application.store, stored.schedule, stored.state
    workflow = await load_own_resource(store, Workflow, schedule.project_id, schedule.workflow_id)
    following = [] if stored.paused else kept.next_times(schedule, max(_now_ms(), state.after_ms), 1)
    started = [
        FiringRecord(
            planned_at=show_time(one.planned_ms),
            started_at=show_time(one.at_ms),
            run_id=one.run_id,
            status=one.status,
        )
        for one in (await last_firings(store, schedule.id, limit=firings) if firings else ())
    ]
    return ScheduleRecord(
        **schedule.model_dump(),
        workflow=workflow.name,
        paused=stored.paused,
        note=stored.note,
        next_at=_time(following[0] if following else None),
        queued=[show_time(planned) for planned in state.queued],
        started=state.started,
        skipped=state.skipped,
        failed=state.failed,
        last_planned_at=_time(state.last_planned_ms),
        last_run_id=state.last_run_id,
        last_skipped_at=_time(state.last_skipped_ms),
        last_missed_at=_time(state.last_missed_ms),
        last_error=state.last_error,
        last_error_at=_time(state.last_error_ms),
        firings=started if firings else UNSET,
    )


def _time(ms: int | None) -> str | None:
    return None if ms is None else show_time(ms)


def _now_ms() -> int:
    return SYSTEM_CLOCK.now_ms()
