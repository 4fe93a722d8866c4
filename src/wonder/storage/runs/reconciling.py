"""Reconciling: what should have followed from something durable, and got lost with a process or a commit."""

from typing import NamedTuple

from wonder.storage.runs.cells import number, text, text_or_none
from wonder.storage.runs.outside import AwaitedEvent
from wonder.storage.store import Reader


class StrayChild(NamedTuple):
    """A live sub-workflow that is not as its caller is; `is_orphan` if nobody waits for it any more."""

    run_id: str
    parent_run_id: str
    parent_status: str
    status: str
    paused_reason: str | None
    is_orphan: bool


class Call(NamedTuple):
    """A token that waits for a sub-workflow."""

    run_id: str
    token_id: str


class EventWait(NamedTuple):
    """A token that waits for an event."""

    project_id: str
    run_id: str
    token_id: str
    event: str
    key: str | None

    @property
    def awaited(self) -> AwaitedEvent:
        """The event that it waits for."""
        return AwaitedEvent(self.project_id, self.event, self.key or None)


class CountedRun(NamedTuple):
    """A run that counts for its project's `max_concurrent_runs`."""

    run_id: str
    project_id: str


async def stray_children(reader: Reader) -> list[StrayChild]:
    """List the live sub-workflows whose callers have ended, are paused while they are not, or the other way round."""
    return [
        StrayChild(text(id), text(parent_id), text(parent_status), text(status), text_or_none(reason), bool(orphan))
        for id, parent_id, parent_status, status, reason, orphan in await reader.fetch("stray_children")
    ]


async def root_of_run(reader: Reader, run_id: str) -> str:
    """Give the run at the top of the calls that led to a run; itself if nobody called it."""
    rows = await reader.fetch("root_of_run", run_id)
    return text(rows[0][0]) if rows else run_id


async def bytes_written_by_family(reader: Reader, run_id: str) -> int:
    """Sum up about how many bytes a run has written, with all that triggers and calls lead to from it on."""
    ((written,),) = await reader.fetch("bytes_written_by_family", run_id)
    return int(written)  # type: ignore[arg-type]  # PostgreSQL's sum is a Decimal


async def count_live_called(reader: Reader, run_id: str) -> int:
    """Count the live runs that a run has called, and those that these have called."""
    ((count,),) = await reader.fetch("count_live_called", run_id)
    return number(count)


async def calls_without_child(reader: Reader) -> list[Call]:
    """List the tokens that wait for a sub-workflow that was never stored."""
    return [Call(text(run_id), text(token_id)) for run_id, token_id in await reader.fetch("calls_without_child")]


async def waits_with_kept_event(reader: Reader, now_ms: int) -> list[EventWait]:
    """List the tokens that wait for an event although one was kept for them, the longest waiting first."""
    return [
        EventWait(text(project_id), text(run_id), text(token_id), text(event), text(key) or None)
        for project_id, run_id, token_id, event, key in await reader.fetch("waits_with_kept_event", now_ms)
    ]


async def counted_runs(reader: Reader) -> list[CountedRun]:
    """List the runs that `max_concurrent_runs` counts (RES-6)."""
    return [CountedRun(text(id), text(project_id)) for id, project_id in await reader.fetch("counted_runs")]


async def projects_with_queued_runs(reader: Reader) -> list[str]:
    """List the projects in which a run waits for its start."""
    return [text(project_id) for (project_id,) in await reader.fetch("projects_with_queued_runs")]


async def queued_runs(reader: Reader, project_id: str, *, after: str = "", limit: int = 100) -> list[str]:
    """List the ids of a project's runs that wait for their start, in the order in which they were accepted."""
    return [text(id) for (id,) in await reader.fetch("queued_runs", project_id, after, limit)]
