"""Migrate or check the database.

`migrate` brings it to the newest form, which deploying does by itself as well. `check` looks for damage, for rows that
don't belong together, and, run by run, for anything that no run of Wonder does; exit status 1 if it finds any.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import aclosing

from wonder.checker.checking import Count, check_runs
from wonder.cli.output import color, count, print_json
from wonder.cli.settings import add_database_option, database_setting
from wonder.storage.check import FINDINGS_MAX, Finding, check_database
from wonder.storage.migrate import migrate
from wonder.storage.opening import open_store
from wonder.storage.store import Store

_TELL_SECONDS = 1.0


def configure(parser: ArgumentParser) -> None:
    """Take migrate or check."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="migrate | check")
    for name, text in (("migrate", "bring the database to the newest form"), ("check", "look for damage")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run({"migrate": _migrate, "check": _check}[given.command](given))


async def _migrate(given: Namespace) -> int:
    store = await open_store(database_setting(given.db).value, migrations="leave")
    try:
        missing = await migrate(store)
    finally:
        await store.close()
    if given.json:
        print_json({"database": store.address, "applied": [migration.name for migration in missing]})
    elif missing:
        print(f"{color('good', '✓')} {store.address}: {count(len(missing), 'migration')} applied")
    else:
        print(f"{color('good', '✓')} {store.address}: up to date")
    return 0


async def _check(given: Namespace) -> int:
    store = await open_store(database_setting(given.db).value, create=False, migrations="leave")
    try:
        findings = await check_database(store)
        checked = Count()
        # Runs are looked at only where the tables that they are in are all there, and in their newest form.
        if not any(finding.severity == "error" or finding.code == "MIGRATION_PENDING" for finding in findings):
            findings += await _check_runs(store, checked)
    finally:
        await store.close()
    sound = not any(finding.severity == "error" for finding in findings)
    if given.json:
        shown = [{"severity": one.severity, "type": one.code, "message": one.message} for one in findings]
        print_json(
            {
                "database": store.address,
                "sound": sound,
                "runs": checked.runs,
                "events": checked.events,
                "findings": shown,
            }
        )
    else:
        for finding in findings:
            print(f"{color(finding.severity, finding.severity)} {finding.code}: {finding.message}")
        looked_at = f"{count(checked.runs, 'run')} and {count(checked.events, 'event')} checked"
        if checked.moving:
            looked_at += f", {count(checked.moving, 'run')} passed over that moved on all the time"
        sign = color("good", "✓") if sound else color("error", "✗")
        print(f"{sign} {store.address}: {'sound, ' if sound else ''}{looked_at}")
    return 0 if sound else 1


async def _check_runs(store: Store, checked: Count) -> list[Finding]:
    """Look at every run, telling how far that is to a person who waits for it."""
    findings: list[Finding] = []
    told = asyncio.create_task(_tell_progress(store, checked))
    try:
        async with aclosing(check_runs(store, checked)) as violations:
            async for violation in violations:
                run = f"run {violation.run_id}: " if violation.run_id else ""
                code = f"BROKEN_{violation.rule.upper().replace('-', '_')}"
                findings.append(Finding("error", code, f"{run}{violation.message}; report it, with the run's events"))
                if len(findings) >= FINDINGS_MAX:
                    break
    finally:
        told.cancel()
    return findings


async def _tell_progress(store: Store, checked: Count) -> None:
    if not sys.stderr.isatty():
        return
    total = int(str((await store.fetch("checker_count_runs"))[0][0]))
    begun = time.monotonic()
    try:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            seconds = time.monotonic() - begun
            print(f"\r{checked.runs:,} of {total:,} runs checked, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
