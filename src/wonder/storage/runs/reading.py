"""Looking: what a process needs when it begins, and what people ask of a run: its events, its tokens, its inbox."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from wonder.engine.decisions import RecordEvent
from wonder.engine.ending import WORKFLOW_TIMER
from wonder.engine.failure import Failure
from wonder.language.values import JsonValue, encode_json
from wonder.storage.pages import LIMIT, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.cells import failure_from, from_json, number, number_or_none, text, text_or_none, to_json
from wonder.storage.runs.event_rows import unpacked_events
from wonder.storage.store import Reader, Value

EVENTS_PER_PAGE = 1_000


class LiveRun(NamedTuple):
    """A run that has not ended."""

    id: str
    status: str


class CalledChild(NamedTuple):
    """A sub-workflow that was called with an idempotency key."""

    run_id: str
    has_completed: bool
    output: JsonValue


class DueTimer(NamedTuple):
    """A timer, and when it is due."""

    run_id: str
    key: str
    due_ms: int


class EndedChild(NamedTuple):
    """A sub-workflow that has ended while the token that called it still waits."""

    run_id: str
    parent_run_id: str
    parent_token_id: str
    status: str
    output: JsonValue
    failure: Failure | None


class InboxItem(Struct, frozen=True, kw_only=True):
    """A question to a person: `open`, `answered` or `withdrawn`."""

    id: str
    project_id: str
    run_id: str
    token_id: str | None
    kind: str
    prompt: str
    schema: JsonValue
    input: JsonValue
    due_ms: int | None
    status: str
    answer: JsonValue
    answered_by: str | None
    created_ms: int
    closed_ms: int | None
    assignee: str | None
    role: str | None
    claimed_by: str | None
    people: list[str]
    """Those whose turn it is: who has claimed it, the assignee, or the approvers who have not answered."""
    evidence: list[Any]
    rules: dict[str, Any]
    """Who may answer, and how many must agree."""
    progress: dict[str, Any]

    @property
    def approvers(self) -> list[str] | None:
        """Those who must answer, where several are asked."""
        return self.progress.get("approvers")

    @property
    def answers(self) -> list[dict[str, Any]] | None:
        """What approvers have answered so far: who, what, when; None where one person is asked."""
        return self.progress.get("answers")


class StoredToken(Struct, frozen=True, kw_only=True):
    """A token, ended or not; `state_data` says what it waits for."""

    id: str
    node_id: str
    status: str
    path_id: str
    parent_token_id: str | None
    group_id: str | None
    branch_index: int
    branch_total: int
    fan_out_transition_id: str | None
    born: int
    input: JsonValue
    last_error: JsonValue
    state_data: JsonValue
    created_ms: int
    updated_ms: int
    ended_ms: int | None


class StoredEnd(NamedTuple):
    """The status of a token, and whether it is its last."""

    status: str
    has_ended: bool


async def runs_to_recover(reader: Reader, *, after: str = "", limit: int = 10_000) -> list[LiveRun]:
    """List, by id, the runs that can't wait where they are: queued, running, or with a task that a worker had."""
    rows = await reader.fetch("runs_to_recover", after, limit)
    return [LiveRun(text(id), text(status)) for id, status in rows]


async def count_live_tokens(reader: Reader, run_id: str) -> int:
    """Count the tokens of a run that have not ended."""
    return number((await reader.fetch("count_live_tokens", run_id))[0][0])


async def live_children(reader: Reader, run_id: str, *, after: str = "", limit: int = 1_000) -> list[str]:
    """List, by id, the sub-workflows of a run that have not ended."""
    return [text(id) for (id,) in await reader.fetch("live_children", run_id, after, limit)]


async def workflow_timer(reader: Reader, run_id: str) -> int | None:
    """Say when the time of a run is over, if it has a time-out."""
    rows = await reader.fetch("timer_of_run", run_id, WORKFLOW_TIMER)
    return number(rows[0][0]) if rows else None


async def live_runs(reader: Reader, *, after: str = "", limit: int = 10_000) -> list[LiveRun]:
    """List, by id, the runs that have not ended."""
    return [LiveRun(text(id), text(status)) for id, status in await reader.fetch("live_runs", after, limit)]


async def active_run_counts(reader: Reader) -> dict[str, int]:
    """Count, by project, the runs that `max_concurrent_runs` counts (RES-6)."""
    return {text(project_id): number(count) for project_id, count in await reader.fetch("active_run_counts")}


async def ended_children(reader: Reader) -> list[EndedChild]:
    """List the sub-workflows that have ended without their callers having been told."""
    return [
        EndedChild(text(id), text(run_id), text(token_id), text(status), from_json(output), failure_from(error))
        for id, run_id, token_id, status, output, error in await reader.fetch("ended_children")
    ]


async def called_with_key(reader: Reader, project_id: str, key: str, after_ms: int) -> CalledChild | None:
    """Give the sub-workflow of a key: one that completed after a time, or one that has not ended (RET-4)."""
    rows = await reader.fetch("called_with_key", key, project_id, after_ms)
    found = [CalledChild(text(id), completed_ms is not None, from_json(output)) for id, completed_ms, output in rows]
    return next(iter(found), None)


async def timers_due(reader: Reader, until_ms: int, *, limit: int = 10_000) -> list[DueTimer]:
    """List the timers that are due until a time, soonest first."""
    rows = await reader.fetch("timers_due", until_ms, limit)
    return [DueTimer(text(run_id), text(key), number(due_ms)) for run_id, key, due_ms in rows]


async def events_of_run(
    reader: Reader, run_id: str, *, after: int = 0, limit: int = EVENTS_PER_PAGE
) -> list[RecordEvent]:
    """List a run's events behind a sequence number, in order."""
    # Numbers have no gaps, so that the last one wanted is known.
    return unpacked_events(await reader.fetch("events_of_run", run_id, after, after + limit), after, after + limit)


async def next_event(reader: Reader, run_id: str, after: int) -> int | None:
    """Give the number of the first event behind another that a row begins with; None if there is none."""
    rows = await reader.fetch("next_event_of_run", run_id, after)
    return number(rows[0][0]) if rows else None


async def each_event(
    reader: Reader, run_id: str, *, after: int = 0, limit: int | None = None
) -> AsyncIterator[RecordEvent]:
    """Give a run's events behind a sequence number one by one, reading a page at a time."""
    left, after = limit, max(after, (await next_event(reader, run_id, 0) or 1) - 1)
    while left is None or left > 0:
        page = await events_of_run(reader, run_id, after=after, limit=min(left or EVENTS_PER_PAGE, EVENTS_PER_PAGE))
        if not page:
            return
        for event in page:
            yield event
        after = page[-1].sequence
        left = None if left is None else left - len(page)


async def tokens_of_run(
    reader: Reader, run_id: str, *, after: int = 0, limit: int = EVENTS_PER_PAGE
) -> list[StoredToken]:
    """List a run's tokens in the order in which they were made, behind one that was `born` so."""
    rows = await reader.fetch_named("tokens_of_run", run_id, after, limit)
    return [_token(row) for row in rows]


async def stored_ends(reader: Reader, run_id: str, token_ids: Collection[str]) -> dict[str, StoredEnd]:
    """Load the statuses of tokens by their ids, and whether they have ended; those without a row are left out."""
    rows = await reader.fetch("ends_of_tokens", run_id, encode_json(list(token_ids)))
    return {text(id): StoredEnd(text(status), ended_ms is not None) for id, status, ended_ms in rows}


async def inputs_of_tokens(reader: Reader, run_id: str, token_ids: Collection[str]) -> dict[str, JsonValue]:
    """Load what tokens were given, by their ids; those without a row or without an input are left out."""
    rows = await reader.fetch("inputs_of_tokens", run_id, encode_json(list(token_ids)))
    return {text(id): from_json(token_input) for id, token_input in rows}


class InboxFilter(NamedTuple):
    """Which open questions; what is None does not matter."""

    person: str | None = None
    """Only those whose turn it is this person's, or that of one of `roles` where nobody is named."""
    roles: Sequence[str] = ()
    assignee: str | None = None
    role: str | None = None
    claimed: bool | None = None
    workflow_def_id: str | None = None


async def open_inbox(
    reader: Reader,
    project_id: str,
    *,
    limit: int = LIMIT,
    cursor: str | None = None,
    which: InboxFilter | None = None,
) -> Page[InboxItem]:
    """List what a project's runs ask people, oldest first, page by page."""
    check_limit(limit)
    (after,) = read_cursor(cursor, "inbox", "")
    which = which or InboxFilter()
    rows = await reader.fetch_named(
        "open_inbox_items",
        project_id,
        after,
        limit + 1,
        None if which.person is None else to_json(which.person),
        "".join(f"{role} " for role in which.roles),
        which.assignee,
        which.role,
        None if which.claimed is None else int(which.claimed),
        which.workflow_def_id,
    )
    page, more = cut([_item(row) for row in rows], limit)
    return Page(page, write_cursor("inbox", page[-1].id) if more else None)


async def inbox_of_run(reader: Reader, run_id: str) -> list[InboxItem]:
    """List all that a run has asked people, oldest first."""
    return [_item(row) for row in await reader.fetch_named("inbox_items_of_run", run_id)]


async def load_inbox_item(reader: Reader, item_id: str) -> InboxItem:
    """Load one question; raises NotFound."""
    rows = await reader.fetch_named("inbox_item", item_id)
    if not rows:
        raise NotFound("inbox item", item_id)
    return _item(rows[0])


def _item(row: Mapping[str, Value]) -> InboxItem:
    return InboxItem(
        id=text(row["id"]),
        project_id=text(row["project_id"]),
        run_id=text(row["run_id"]),
        token_id=text_or_none(row["token_id"]),
        kind=text(row["kind"]),
        prompt=text(row["prompt"]),
        schema=from_json(row["schema"]),
        input=from_json(row["input"]),
        due_ms=number_or_none(row["due_ms"]),
        status=text(row["status"]),
        answer=from_json(row["answer"]),
        answered_by=text_or_none(row["answered_by"]),
        created_ms=number(row["created_ms"]),
        closed_ms=number_or_none(row["closed_ms"]),
        assignee=text_or_none(row["assignee"]),
        role=text_or_none(row["role"]),
        claimed_by=text_or_none(row["claimed_by"]),
        people=from_json(row["people"]) or [],
        evidence=from_json(row["evidence"]) or [],
        rules=from_json(row["rules"]) or {},
        progress=from_json(row["progress"]) or {},
    )


def _token(row: Mapping[str, Value]) -> StoredToken:
    return StoredToken(
        id=text(row["id"]),
        node_id=text(row["node_id"]),
        status=text(row["status"]),
        path_id=text(row["path_id"]),
        parent_token_id=text_or_none(row["parent_token_id"]),
        group_id=text_or_none(row["group_id"]),
        branch_index=number(row["branch_index"]),
        branch_total=number(row["branch_total"]),
        fan_out_transition_id=text_or_none(row["fan_out_transition_id"]),
        born=number(row["born"]),
        input=from_json(row["input"]),
        last_error=from_json(row["last_error"]),
        state_data=from_json(row["state_data"]),
        created_ms=number(row["created_ms"]),
        updated_ms=number(row["updated_ms"]),
        ended_ms=number_or_none(row["ended_ms"]),
    )
