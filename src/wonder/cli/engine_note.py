"""Whether any process runs the engine: a person who waits for a schedule or a run is told when nobody does.

A schedule that is stored and a run that was accepted look alike whether something goes on with them or not, and the
first question of who sees nothing happen is this one.
"""

from collections.abc import Iterable

from wonder.cli.output import color
from wonder.storage.runs.headers import RunHeader, list_runs, load_header
from wonder.storage.runs.leases import is_held
from wonder.storage.runs.standing import only_outside_moves
from wonder.storage.schedules import list_schedules
from wonder.storage.store import Store

HOW = "`wonder schedules run`, or a program that has the database open"
_PAGE = 100


async def print_if_nobody_runs(store: Store, what: str) -> None:
    """Say that something waits for an engine, if no process runs one; `what` is the sentence's beginning."""
    if not await is_held(store):
        print(f"{color('warning', '!')} no process runs the engine now: {what} when one does ({HOW})")


async def moves_by_itself(store: Store, headers: Iterable[RunHeader]) -> bool:
    """Say whether an engine would go on with one of these runs: not with what has ended or waits for somebody."""
    for header in headers:
        # Read again, because one of a list does not know its last event.
        if not header.has_ended and not await only_outside_moves(store, await load_header(store, header.id)):
            return True
    return False


async def awaited(store: Store, project_id: str) -> list[str]:
    """Say what waits for an engine in a project, in words: schedules that are not paused, and runs."""
    waiting = []
    page = await list_schedules(store, project_id, limit=_PAGE, cursor=None)
    if any(not stored.paused for stored in page.items):
        waiting.append("schedules start runs")
    for status in ("running", "queued", "waiting"):
        runs = await list_runs(store, project_id, status=status, limit=_PAGE, cursor=None)
        if await moves_by_itself(store, runs.items):
            waiting.append("runs go on")
            break
    return waiting
