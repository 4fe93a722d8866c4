"""How long projects keep what they have, and the removal of runs that ended before that, in small steps (EVT-5).

A run goes with its whole family: what called it and what it called, retries, forks, and what triggers started. The
family is listed first, then the list is declared whole, then the runs go, and last what belongs to them. A process may
be killed between any two transactions; the next one goes on by what is listed.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from wonder.context.removing import removals
from wonder.definitions.records.graph import WorkflowDef
from wonder.storage.context_tables import load_context_plan
from wonder.storage.definitions import load_definition
from wonder.storage.runs.cells import number, number_or_none, text
from wonder.storage.runs.leases import Lease, check_lease
from wonder.storage.store import Reader, Store, Transaction
from wonder.storage.ulids import ulid_of

DAY_MS: Final = 86_400_000
ROWS_AT_ONCE: Final = 500
"""So many rows one transaction deletes at most, or little more."""
RUNS_AT_ONCE: Final = 200
_CLEANED_AT_ONCE: Final = 10

TABLES_OF_RUNS: Final = (
    "event_turns",
    "indexed_events",
    "tokens",
    "run_branches",
    "run_groups",
    "run_loops",
    "snapshots",
    "timers",
    "inbox_items",
    "event_waits",
    "trigger_firings",
    "triggered_runs",
    "schedule_firings",
    "run_deaths",
    "reservations",
    "run_failures",
    "run_costs",
)
"""The tables whose rows belong to a run, beside its artifacts and its context."""


class ProjectRetention(NamedTuple):
    """The settings of one project, in days; None keeps for ever."""

    project_id: str
    events_days: int | None
    logs_days: int
    audit_days: int


class Member(NamedTuple):
    """A run of a family, and the definition that it followed."""

    run_id: str
    workflow_def_id: str
    workflow_version: int


class Family(NamedTuple):
    """All runs that are related to one; `is_over` says that all of them ended before a time and nothing needs them."""

    run_ids: set[str]
    members: list[Member]
    is_over: bool


async def retention_of_projects(reader: Reader) -> list[ProjectRetention]:
    """Load the settings of all projects, archived ones too."""
    rows = await reader.fetch("retention_of_projects")
    return [
        ProjectRetention(text(id), number_or_none(events), number(logs), number(audit))
        for id, events, logs, audit in rows
    ]


class OldRows(NamedTuple):
    """How much of a project is older than it keeps; runs whose family is needed are among them, and stay."""

    project_id: str
    project: str
    events_days: int | None
    logs_days: int
    audit_days: int
    runs: int
    log_records: int
    audit_records: int


async def old_rows(reader: Reader, now_ms: int) -> list[OldRows]:
    """Count what projects have that is older than they keep."""
    names = {text(id): text(name) for id, name in await reader.fetch("project_names")}
    found = []
    for one in await retention_of_projects(reader):
        runs = 0
        if one.events_days is not None:
            before_ms = now_ms - one.events_days * DAY_MS
            ((counted,),) = await reader.fetch("count_old_runs", one.project_id, ulid_of(before_ms), before_ms)
            runs = number(counted)
        logs_before = ulid_of(now_ms - one.logs_days * DAY_MS)
        ((records,),) = await reader.fetch("count_old_log_records", one.project_id, logs_before)
        audit_before = ulid_of(now_ms - one.audit_days * DAY_MS)
        ((audited,),) = await reader.fetch("count_old_audit_records", one.project_id, audit_before)
        counts = (runs, number(records), number(audited))
        found.append(
            OldRows(one.project_id, names[one.project_id], one.events_days, one.logs_days, one.audit_days, *counts)
        )
    return sorted(found, key=lambda one: one.project)


async def family_of(reader: Reader, run_id: str, before_ms: int) -> Family:
    """Find the family of a run; broken off at the first one that is live, ended later, or is still needed."""
    ahead, seen, members = [run_id], {run_id}, list[Member]()
    project_id: str | None = None
    while ahead:
        id = ahead.pop()
        rows = await reader.fetch("run_to_remove", id)
        if not rows:
            continue  # it was removed before its relatives were made
        owner, definition, version, completed_ms, is_needed = rows[0]
        project_id = project_id or text(owner)
        ended_ms = number_or_none(completed_ms)
        if is_needed or ended_ms is None or ended_ms >= before_ms or text(owner) != project_id:
            return Family(seen, members, is_over=False)
        members.append(Member(id, text(definition), number(version)))
        for (relative,) in await reader.fetch("relatives_of_run", id):
            if text(relative) not in seen:
                seen.add(text(relative))
                ahead.append(text(relative))
    return Family(seen, members, is_over=not await _is_named(reader, members))


async def _is_named(reader: Reader, members: Iterable[Member]) -> bool:
    """Say whether a live run, a kept event or a schedule knows the id of an artifact that would go."""
    if not await reader.fetch("has_what_may_name"):
        return False
    for member in members:
        last = ""
        while rows := await reader.fetch("artifact_ids_of_run", member.run_id, last, ROWS_AT_ONCE):
            for (artifact_id,) in rows:
                last = text(artifact_id)
                if await reader.fetch("names_id", last):
                    return True
    return False


async def remove_family(store: Store, lease: Lease, family: Family) -> bool:
    """List a family, declare it removed, and delete the first of its runs; False if a run has come to it meanwhile."""
    family_id = family.members[0].run_id
    *first, last = _parts(family.members)
    for some in first:
        async with store.transaction() as transaction:
            await check_lease(transaction, lease.fence)
            await _list(transaction, family_id, some)
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        await _list(transaction, family_id, last)
        if await transaction.fetch("new_relatives", family_id):
            await transaction.execute("forget_removal", family_id)
            return False
        await transaction.execute("begin_removal", family_id)
        await _delete_runs(transaction)
    return True


def _parts(members: list[Member]) -> list[list[Member]]:
    return [members[start : start + RUNS_AT_ONCE] for start in range(0, len(members), RUNS_AT_ONCE)]


async def _list(transaction: Transaction, family_id: str, members: Iterable[Member]) -> None:
    rows = [(one.run_id, family_id, one.workflow_def_id, one.workflow_version) for one in members]
    await transaction.execute_many("list_removed_run", rows)


async def _delete_runs(transaction: Transaction) -> int:
    """Delete the rows of some runs themselves, with what schedules say of them; say how many."""
    found = [(text(id),) for (id,) in await transaction.fetch("removed_runs_with_rows", RUNS_AT_ONCE)]
    await transaction.execute_many("mark_schedule_of_run", found)
    await transaction.execute_many("delete_schedule_firings_of_run", found)
    await transaction.execute_many("uncount_run", found)
    await transaction.execute_many("delete_run", found)
    return len(found)


async def forget_unready(store: Store, lease: Lease) -> None:
    """Forget families that another process had not listed to the end when it ended."""
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        await transaction.execute("forget_unready_removals")


class Cleaned(NamedTuple):
    """What one step has done: the artifacts that are gone, and whether anything was left to do."""

    artifact_ids: list[str]
    is_done: bool


async def clean_removed(store: Store, lease: Lease, now_ms: int) -> Cleaned:
    """Delete some of what belongs to removed runs."""
    rows = await store.unsettled.fetch("next_removed_runs", _CLEANED_AT_ONCE)
    if not rows:
        return Cleaned([], is_done=True)
    members = [Member(text(id), text(definition), number(version)) for id, definition, version in rows]
    # Before the transaction: reading definitions takes longer than deleting, and others wait for a transaction.
    contexts = await _context_removals(store.unsettled, members)
    artifact_ids: list[str] = []
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        if await _delete_runs(transaction):
            return Cleaned([], is_done=False)
        left = ROWS_AT_ONCE
        for member in members:
            left = await _clean_run(transaction, member, contexts[member[1:]], left, now_ms, artifact_ids)
            if left <= 0:
                break
            await transaction.execute("delete_removed_run", member.run_id)
    return Cleaned(artifact_ids, is_done=False)


async def _context_removals(reader: Reader, members: Iterable[Member]) -> dict[tuple[str, int], list[str]]:
    """Give the statements that delete contexts, by the definition and its version."""
    found = {}
    for version in {(member.workflow_def_id, member.workflow_version) for member in members}:
        definition = await load_definition(reader, WorkflowDef, *version)
        found[version] = removals(await load_context_plan(reader, definition))
    return found


async def _clean_run(
    transaction: Transaction, member: Member, contexts: list[str], left: int, now_ms: int, artifact_ids: list[str]
) -> int:
    """Delete up to so many rows of a run; give how many more may be deleted, which is 0 if the run may have more."""
    for table in TABLES_OF_RUNS:
        left -= await transaction.execute(f"delete_rows_of_run({table})", member.run_id, left)
        if left <= 0:
            return 0
    for statement in contexts:
        left -= len(await transaction.query(statement, member.run_id, left))
        if left <= 0:
            return 0
    gone = [text(id) for (id,) in await transaction.fetch("artifact_ids_of_run", member.run_id, "", left)]
    if gone:
        await transaction.execute("note_removed_contents", member.run_id, now_ms)
        left -= await transaction.execute("delete_rows_of_run(artifacts)", member.run_id, left)
        artifact_ids += gone
    return max(left, 0)
