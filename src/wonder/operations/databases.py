"""The database itself: migrated, checked, repaired, and read by a role of its own."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from wonder.app.ids import new_ulid
from wonder.app.own_databases import trust_database
from wonder.app.repairing import Loss as Loss
from wonder.app.repairing import accept_loss, find_loss
from wonder.checker.checking import Count, check_runs
from wonder.operations.auditing import recording_at
from wonder.operations.declaring import Input, NoInput, Place, database_operation
from wonder.operations.outputs import Output
from wonder.storage.check import FINDINGS_MAX, Finding, check_database
from wonder.storage.clock import utc_now
from wonder.storage.migrate import migrate
from wonder.storage.opening import open_store
from wonder.storage.postgresql import reader_role
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default

_TELL_SECONDS = 1.0

Progress = Callable[[int, int], None]
"""Is told how many runs were checked, and of how many."""


class Migrated(Output, frozen=True):
    """The migrations that were applied."""

    database: str
    applied: list[str]


@database_operation("database.migrate", role="admin", changes=True)
async def migrate_database(place: Place, given: NoInput) -> Migrated:
    """Bring the database to the newest form."""
    store = await open_store(place.url, migrations="leave")
    try:
        applied = await migrate(store)
        # A new one is this user's own by the id of its workspace.
        await ensure_default(store, clock=utc_now, new_id=new_ulid)
    finally:
        await store.close()
    return Migrated(database=store.address, applied=[migration.name for migration in applied])


class FindingRecord(Output, frozen=True):
    """Something that is wrong (`error`), or that a person should know of (`warning`)."""

    severity: str
    type: str
    message: str


class DatabaseCheck(Output, frozen=True):
    """What was found, and how much was looked at."""

    database: str
    sound: bool
    runs: int
    events: int
    moving: int
    """Runs that were passed over because they moved on all the time."""
    findings: list[FindingRecord]


@database_operation("database.check", role="admin")
async def check(place: Place, given: NoInput) -> DatabaseCheck:
    """Look for damage, for rows that don't belong together, and for anything that no run of Wonder does."""
    return await check_with_progress(place)


async def check_with_progress(place: Place, on_progress: Progress | None = None) -> DatabaseCheck:
    """Check a database, and report about every second how far that is."""
    store = await open_store(place.url, create=False, migrations="leave")
    try:
        findings, checked = await check_database(store), Count()
        # Runs are looked at only where the tables that they are in are all there, and in their newest form.
        if not any(finding.severity == "error" or finding.code == "MIGRATION_PENDING" for finding in findings):
            findings += await _check_runs(store, checked, on_progress)
    finally:
        await store.close()
    return DatabaseCheck(
        database=store.address,
        sound=not any(finding.severity == "error" for finding in findings),
        runs=checked.runs,
        events=checked.events,
        moving=checked.moving,
        findings=[finding_record(one) for one in findings],
    )


class Repair(Input, frozen=True):
    """Whether to go on without what is lost."""

    accept_loss: bool = False


class Repaired(Output, frozen=True):
    """What is lost of the journal, and whether the next engine begins without it."""

    database: str
    loss: Loss | None
    accepted: bool


@database_operation("database.repair", role="admin", changes=True)
async def repair(place: Place, given: Repair) -> Repaired:
    """Show which acknowledged results are missing in a damaged journal, and let the engine begin without them."""
    store = await open_store(place.url, create=False, migrations="require")
    try:
        loss = await accept_loss(store) if given.accept_loss else await find_loss(store)
    finally:
        await store.close()
    return Repaired(database=store.address, loss=loss, accepted=loss is not None and given.accept_loss)


class Trusted(Output, frozen=True):
    """The database that is trusted from now on."""

    database: str
    trusted: bool = True


@database_operation("database.trust", role="admin", changes=True)
async def trust(place: Place, given: NoInput) -> Trusted:
    """Say that an SQLite database is this user's own, so that commands in its folder use it."""
    return Trusted(database=str(trust_database(place.url)))


class GrantReader(Input, frozen=True):
    """The role that queries should run as."""

    role: str | None = None
    new_password: bool = False


class GrantedReader(Output, frozen=True):
    """A role that can read what queries may, and nothing else."""

    database: str
    role: str
    created: bool
    tables: list[str]
    url: str | None
    """With its password, if that is new."""


@database_operation("database.grant_reader", role="admin", changes=True)
async def grant_reader(place: Place, given: GrantReader) -> GrantedReader:
    """Make, on PostgreSQL, the role that queries should run as."""
    store = await open_store(place.url, create=False)
    try:
        reader = await reader_role.grant_reader(store, given.role, new_password=given.new_password)
    finally:
        await store.close()
    url = reader_role.url_of_role(place.url, reader.role, reader.password) if reader.password else None
    return GrantedReader(
        database=store.address, role=reader.role, created=reader.is_new, tables=list(reader.tables), url=url
    )


def finding_record(finding: Finding) -> FindingRecord:
    """Give something that was found."""
    return FindingRecord(severity=finding.severity, type=finding.code, message=finding.message)


async def _check_runs(store: Store, checked: Count, on_progress: Progress | None) -> list[Finding]:
    findings: list[Finding] = []
    told = asyncio.create_task(_tell(store, checked, on_progress)) if on_progress else None
    try:
        async with aclosing(check_runs(store, checked)) as violations:
            async for violation in violations:
                run = f"run {violation.run_id}: " if violation.run_id else ""
                code = f"BROKEN_{violation.rule.upper().replace('-', '_')}"
                findings.append(Finding("error", code, f"{run}{violation.message}; report it, with the run's events"))
                if len(findings) >= FINDINGS_MAX:
                    break
    finally:
        if told:
            told.cancel()
    return findings


async def _tell(store: Store, checked: Count, on_progress: Progress) -> None:
    total = int(str((await store.fetch("checker_count_runs"))[0][0]))
    while True:
        await asyncio.sleep(_TELL_SECONDS)
        on_progress(checked.runs, total)


class CopyTo(Input, frozen=True):
    """Where to copy a database to."""

    target: str
    """The URL of an empty PostgreSQL database."""


class CopiedDatabase(Output, frozen=True):
    """What was copied, and what the checker says of the copy."""

    tables: dict[str, int]
    """How many rows each table has."""
    check: DatabaseCheck


@database_operation("database.copy", role="admin", changes=True, notes_itself=True)
async def copy(place: Place, given: CopyTo) -> CopiedDatabase:
    """Copy an SQLite database to an empty PostgreSQL database, as a whole or not at all, and check the copy."""
    return await copy_with_progress(place, given)


async def copy_with_progress(
    place: Place, given: CopyTo, on_progress: Callable[[str, int], None] = lambda table, rows: None
) -> CopiedDatabase:
    """Copy a database, and report each table."""
    if place.caller is None:
        return await _copy(place, given, on_progress)
    async with recording_at(place.url, place.caller, copy, given) as call:
        copied = await _copy(place, given, on_progress)
        await call.success(copied)
    return copied


async def _copy(place: Place, given: CopyTo, on_progress: Callable[[str, int], None]) -> CopiedDatabase:
    from wonder.app.copying import copy_database  # brings the engine, which the other commands here do without

    tables = await copy_database(place.url, given.target, on_progress)
    return CopiedDatabase(tables=tables, check=await check_with_progress(Place(given.target)))
