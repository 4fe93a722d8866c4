"""Whether any process runs the engine, and what waits for one.

A schedule that is stored and a run that was accepted look alike whether something goes on with them or not, and this is
the first question of a person who sees nothing happen.
"""

from collections.abc import Iterable

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.leases import is_held
from wonder.storage.runs.listing import RunFilter, list_runs
from wonder.storage.runs.own_runs import load_own_run, load_own_runs
from wonder.storage.runs.progress import only_outside_moves
from wonder.storage.schedules import list_schedules

_PAGE = 100
_MOVING = ("running", "queued", "waiting")


class EngineQuestion(Input, frozen=True):
    """Of which runs to say whether an engine would go on with one of them; null asks for the whole project."""

    run_ids: list[str] | None = None


class EngineStatus(Output, frozen=True):
    """Whether a process runs the engine, and what waits for one."""

    is_running: bool
    runs_wait: bool
    """Whether an engine would go on with a run: not with one that has ended, or that waits for somebody outside."""
    schedules_wait: bool
    """Whether a schedule is not paused."""


@operation("engine.status", role="viewer")
async def engine_status(application: Application, given: EngineQuestion) -> EngineStatus:
    """Say whether a process runs the engine of the database, and what would go on with one."""
    store, project_id = application.store, application.home.project_id
    if given.run_ids is not None:
        runs_wait = await _moves_by_itself(application, await load_own_runs(store, project_id, given.run_ids))
    else:
        runs_wait = False
        for status in _MOVING:
            page = await list_runs(store, project_id, RunFilter(status=status), limit=_PAGE)
            runs_wait = runs_wait or await _moves_by_itself(application, page.items)
    schedules = await list_schedules(store, project_id, limit=_PAGE, cursor=None)
    return EngineStatus(
        is_running=await is_held(store),
        runs_wait=runs_wait,
        schedules_wait=any(not stored.paused for stored in schedules.items),
    )


async def _moves_by_itself(application: Application, headers: Iterable[RunHeader]) -> bool:
    store, project_id = application.store, application.home.project_id
    for header in headers:
        if header.has_ended:
            continue
        # Read again, because one of a list does not know its last event.
        if not await only_outside_moves(store, await load_own_run(store, project_id, header.id)):
            return True
    return False
