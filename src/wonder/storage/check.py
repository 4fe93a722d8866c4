"""Looking a database over: is it whole, up to date, and does all that it mentions exist?"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from wonder.errors import WonderError
from wonder.storage.migrate import applied_migrations, pending_migrations
from wonder.storage.runs.leases import is_held
from wonder.storage.store import Dialect, Store

FINDINGS_MAX = 100
_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (`error`) or that a person should know of (`warning`)."""

    severity: Literal["error", "warning"]
    code: str
    message: str


@cache
def expected_tables(dialect: Dialect) -> tuple[str, ...]:
    """The tables that a database of this Wonder has."""
    schema = (files("wonder.storage") / dialect / "schema.sql").read_text("utf-8")
    return tuple(_TABLE.findall(schema))


async def check_database(store: Store) -> list[Finding]:
    """Look everything over and tell what is wrong; an empty list means that all is well. Changes nothing."""
    try:
        migrations = await _check_migrations(store)
        tables = await _check_tables(store)
        if tables:
            # The questions below are about rows of tables that are not all there.
            return migrations + tables
        journal = [] if migrations else await _check_journal(store)
        return migrations + await _check_integrity(store) + await _check_rows(store) + journal
    except WonderError as error:
        return [Finding("error", error.code, str(error))]


async def _check_migrations(store: Store) -> list[Finding]:
    if not await applied_migrations(store):
        return [Finding("error", "NEVER_MIGRATED", "the database has no tables of Wonder; run: wonder db migrate")]
    pending = await pending_migrations(store)
    return [
        Finding(
            "warning", "MIGRATION_PENDING", f"migration {one.number:04} {one.name!r} is missing; run: wonder db migrate"
        )
        for one in pending
    ]


async def _check_tables(store: Store) -> list[Finding]:
    return [
        Finding("error", "TABLE_MISSING", f"table {name} is missing; restore a backup")
        for name in expected_tables(store.dialect)
        if not await store.fetch("table_exists", name)
    ]


async def _check_integrity(store: Store) -> list[Finding]:
    rows = await store.fetch("integrity_faults")
    return [Finding("error", "DAMAGED", f"{fault!s}; restore a backup") for (fault,) in rows[:FINDINGS_MAX]]


async def _check_journal(store: Store) -> list[Finding]:
    # While an engine runs, the journal is its own, and changes.
    if store.journal is None or await is_held(store):
        return []
    reasons = await store.journal.journal_faults()
    repair = "see what is lost with: wonder db repair"
    return [Finding("error", "JOURNAL_DAMAGED", f"{reason}; {repair}") for reason in reasons]


async def _check_rows(store: Store) -> list[Finding]:
    findings = [Finding("warning", "NOT_DURABLE", str(fault)) for (fault,) in await store.fetch("durability_faults")]
    for kind, id in (await store.fetch("orphans"))[:FINDINGS_MAX]:
        findings.append(Finding("error", "ORPHAN", f"{kind!s} {id!s} points at something that is not there"))
    for (name,) in (await store.fetch("missing_context_tables"))[:FINDINGS_MAX]:
        missing = f"the generated context table {name!s} is registered but missing; restore a backup"
        findings.append(Finding("error", "CONTEXT_TABLE_MISSING", missing))
    return findings
