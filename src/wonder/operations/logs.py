"""Logs: what actions, their programs and Wonder itself have logged (EVT-4a)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from wonder.app.application import Application
from wonder.app.log_archive import newest_records
from wonder.app.objects import objects_of
from wonder.clock import SYSTEM_CLOCK
from wonder.objects.store import Objects
from wonder.operations.declaring import Input, operation, stream
from wonder.operations.outputs import Output
from wonder.operations.runs import find_run
from wonder.storage.logs import LEVELS, Level, LogRecord, Wanted, records_before
from wonder.storage.pages import HIGHEST_LIMIT, LAST, LIMIT, check_limit, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.ulids import ulid_of

LEVEL_NAMES: Final = tuple(LEVELS)
PAGE_MAX: Final = HIGHEST_LIMIT
_FOLLOW_SECONDS: Final = 0.5
# Records of other processes may be written this much later than ones that have a higher id.
_LATE_MS: Final = 30_000
_FOLLOWED_MAX: Final = 10_000
# Records are written a moment after they were logged.
_LOOKS_AFTER_END: Final = 3


class LogMessage(Output, frozen=True):
    """One message of a log; times are milliseconds since 1970."""

    id: str
    timestamp: int
    level: str
    service: str
    """The name of the logger, or what else the message comes from."""
    trace_id: str
    """The run, or the process where it belongs to no run."""
    workspace_id: str | None
    project_id: str | None
    """Null where the message names a run and was written before it."""
    run_id: str | None
    node: str | None
    token_id: str | None
    message: str
    metadata: Any
    error_stack: str | None


class LogPage(Output, frozen=True):
    """Some messages, newest first; `cursor` gets the next page, of older ones, or is null at the end."""

    logs: list[LogMessage]
    cursor: str | None


class WhichLogs(Input, frozen=True):
    """Which messages: all of the project, or only those of a run."""

    run_id: str | None = None
    node: str | None = None
    """Only those of the node with this ref."""
    level: Level = "debug"
    """The lowest level."""
    since_ms: int | None = None
    until_ms: int | None = None


class ListLogs(WhichLogs, frozen=True):
    """Which messages, and which page of them."""

    limit: int = LIMIT
    cursor: str | None = None


@operation("logs.list", role="viewer")
async def list_logs(application: Application, given: ListLogs) -> LogPage:
    """List log messages of the project, newest first; older ones are read from the archive."""
    limit = check_limit(given.limit)
    end = LAST if given.until_ms is None else ulid_of(given.until_ms)
    (before,) = read_cursor(given.cursor, "logs", end)
    wanted = await _wanted(application, given)
    found = await newest_records(application.store, _objects(application), wanted, min(before, end), limit + 1)
    page = found[:limit]
    more = write_cursor("logs", page[-1].id) if len(found) > limit else None
    return LogPage(logs=[_message(application, record) for record in page], cursor=more)


@stream("logs.follow", role="viewer")
async def follow_logs(application: Application, given: WhichLogs) -> AsyncIterator[LogMessage]:
    """Give log messages as they are written, from now on or from `since_ms`; of a run, until it has ended."""
    from_ms = since_ms = SYSTEM_CLOCK.now_ms() if given.since_ms is None else given.since_ms
    wanted = await _wanted(application, given)
    seen: set[str] = set()
    looks_left = _LOOKS_AFTER_END
    while looks_left:
        now_ms = SYSTEM_CLOCK.now_ms()
        if _is_over(given.until_ms, now_ms) or (wanted.run_id and await _has_ended(application, wanted.run_id)):
            looks_left -= 1
        # Those that were late are looked for again.
        looked = Wanted(wanted.project_id, wanted.run_id, wanted.node, wanted.level, ulid_of(from_ms))
        end = LAST if given.until_ms is None else ulid_of(given.until_ms)
        found = await records_before(application.store, looked, end, _FOLLOWED_MAX)
        for record in reversed(found):
            if record.id not in seen:
                yield _message(application, record)
        seen = {record.id for record in found}
        from_ms = max(since_ms, now_ms - _LATE_MS)
        await asyncio.sleep(_FOLLOW_SECONDS)


def _is_over(until_ms: int | None, now_ms: int) -> bool:
    return until_ms is not None and until_ms <= now_ms


async def _has_ended(application: Application, run_id: str) -> bool:
    try:
        return (await find_run(application, run_id)).has_ended
    except NotFound:
        return True  # it ended long ago


async def _wanted(application: Application, given: WhichLogs) -> Wanted:
    project_id = application.home.project_id
    from_id = "" if given.since_ms is None else ulid_of(given.since_ms)
    wanted = Wanted(project_id, given.run_id, given.node, given.level, from_id)
    if given.run_id is None:
        return wanted
    try:
        run_id = (await find_run(application, given.run_id)).id
    except NotFound:
        # Logs are kept longer than runs. Those of another project are not found.
        everything = Wanted(project_id, given.run_id, None, "debug", "")
        if not await newest_records(application.store, _objects(application), everything, LAST, 1):
            raise
        return wanted
    return Wanted(project_id, run_id, given.node, given.level, from_id)


def _objects(application: Application) -> Callable[[], Objects]:
    return lambda: objects_of(application.url, application.objects_url)


def _message(application: Application, record: LogRecord) -> LogMessage:
    return LogMessage(
        id=record.id,
        timestamp=record.at_ms,
        level=record.level,
        service=record.service,
        trace_id=record.trace_id,
        workspace_id=application.home.workspace_id if record.project_id else None,
        project_id=record.project_id,
        run_id=record.run_id,
        node=record.node,
        token_id=record.token_id,
        message=record.message,
        metadata=record.metadata,
        error_stack=record.error_stack,
    )
