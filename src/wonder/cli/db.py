"""Migrate, check, repair, shrink or copy the database, trust it, or create a read-only role for queries.

`wonder backup` and `wonder restore` make and restore backups.

  wonder db check
  wonder db copy sqlite:///.wonder/wonder.db postgresql://wonder@db.example.com/wonder
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace

from wonder.cli.db_reader import configure_reader, run_grant_reader
from wonder.cli.db_shrink import DETAILS as SHRINK_DETAILS
from wonder.cli.db_shrink import configure_shrink, run_shrink
from wonder.cli.output import color, count, print_output, visible, visible_lines
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import add_database_option, database_setting, found_database
from wonder.cli.subcommands import add_command, add_json_option
from wonder.operations.databases import (
    CopyTo,
    Loss,
    Progress,
    Repair,
    check_with_progress,
    copy_with_progress,
    migrate_database,
    repair,
    trust,
)
from wonder.operations.declaring import NoInput, local_place

_RUNS_SHOWN = 20


_DETAILS = {
    "migrate": "`wonder deploy`, `wonder run` and `wonder serve` do this as well when they open the database.",
    "check": (
        "Looks for damaged files, for rows that do not belong together and, run by run, for states that Wonder never\n"
        "produces. Exit status: 0 if nothing was found, 1 if there is an error."
    ),
    "repair": (
        "The journal is a file next to an SQLite database that has the newest results. If results are missing in it,\n"
        "the engine does not start. With --accept-loss it starts without them, and executes again the steps whose\n"
        "results are lost. Exit status: 0 if nothing is missing or the loss was accepted, 1 if not."
    ),
    "shrink": SHRINK_DETAILS,
    "copy": (
        "All rows are copied in one transaction: as a whole or not at all. The target must be empty, and no process\n"
        "may run the engine of either. The copy is then checked as `wonder db check` does. The content of artifacts\n"
        "stays where it is: name that place with --objects when you use the copy. Vectors are computed again.\n\n"
        "  wonder db copy sqlite:///.wonder/wonder.db postgresql://wonder@db.example.com/wonder"
    ),
    "trust": (
        "A database that you did not create, such as one that came with a repository, is not used until you trust it,\n"
        "because its settings and approvals could let programs run as you."
    ),
    "grant-reader": (
        "The role can read the tables and views of `wonder query --tables`, and nothing else. Its URL, with a new\n"
        "password, is printed once: set it as WONDER_READER_URL, or as reader_url in wonder.toml."
    ),
}


def configure(parser: ArgumentParser) -> None:
    """Take migrate, check, repair, shrink, copy, trust or grant-reader."""
    metavar = "migrate | check | repair | shrink | copy | trust | grant-reader"
    commands = parser.add_subparsers(dest="command", required=True, metavar=metavar)
    for name, text in (
        ("migrate", "update the tables of the database to this version of Wonder"),
        ("check", "check the database for damage and inconsistent data"),
        ("repair", "show the results that a damaged journal has lost, and optionally continue without them"),
        ("shrink", "remove runs and archive logs that are older than the settings say"),
        ("copy", "copy an SQLite database to an empty PostgreSQL database"),
        ("trust", "declare that the SQLite database in the working directory is yours"),
        ("grant-reader", "create the PostgreSQL role that `wonder query` uses"),
    ):
        command = add_command(commands, name, text, _DETAILS[name])
        add_json_option(command)
        if name == "copy":
            command.add_argument("source", metavar="SOURCE", help="the URL of the SQLite database")
            command.add_argument("target", metavar="TARGET", help="the URL of the PostgreSQL database")
        else:
            add_database_option(command)
        if name == "repair":
            command.add_argument("--accept-loss", action="store_true", help="continue without the lost results")
        if name == "shrink":
            configure_shrink(command)
        if name == "grant-reader":
            configure_reader(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_COMMANDS[given.command](given))


async def _migrate(given: Namespace) -> int:
    migrated = await migrate_database(local_place(database_setting(given.db).value), NoInput())
    if given.json:
        print_output(migrated)
    elif migrated.applied:
        print(f"{color('good', '✓')} {migrated.database}: {count(len(migrated.applied), 'migration')} applied")
    else:
        print(f"{color('good', '✓')} {migrated.database}: up to date")
    return 0


async def _check(given: Namespace) -> int:
    is_watched = sys.stderr.isatty()
    try:
        found = await check_with_progress(
            local_place(database_setting(given.db).value), _progress() if is_watched else None
        )
    finally:
        if is_watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if given.json:
        print_output(found)
    else:
        for one in found.findings:
            print(f"{color(one.severity, one.severity)} {one.type}: {visible_lines(one.message)}")
        looked_at = f"{count(found.runs, 'run')} and {count(found.events, 'event')} checked"
        if found.moving:
            looked_at += f", {count(found.moving, 'run')} skipped because they kept changing"
        sign = color("good", "✓") if found.sound else color("error", "✗")
        print(f"{sign} {found.database}: {'no errors, ' if found.sound else ''}{looked_at}")
    return 0 if found.sound else 1


def _progress() -> Progress:
    begun = time.monotonic()

    def show(runs: int, total: int) -> None:
        seconds = time.monotonic() - begun
        print(f"\r{runs:,} of {total:,} runs checked, {seconds:.0f} s", end="", file=sys.stderr, flush=True)

    return show


async def _repair(given: Namespace) -> int:
    repaired = await repair(local_place(database_setting(given.db).value), Repair(accept_loss=given.accept_loss))
    if given.json:
        print_output(repaired)
    elif repaired.loss is None:
        print(f"{color('good', '✓')} {repaired.database}: nothing is missing")
    else:
        _print_loss(repaired.database, repaired.loss, accepted=repaired.accepted)
    return 0 if repaired.loss is None or repaired.accepted else 1


async def _copy(given: Namespace) -> int:
    copied = await copy_with_progress(local_place(given.source), CopyTo(target=given.target))
    if given.json:
        print_output(copied)
    else:
        for one in copied.check.findings:
            print(f"{color(one.severity, one.severity)} {one.type}: {visible_lines(one.message)}")
        rows, tables = sum(copied.tables.values()), len(copied.tables)
        mark = color("good", "✓") if copied.check.sound else color("error", "✗")
        said = f"{count(rows, 'row')} of {count(tables, 'table')} copied, {count(copied.check.runs, 'run')} checked"
        print(f"{mark} {copied.check.database}: {said}")
    return 0 if copied.check.sound else 1


async def _trust(given: Namespace) -> int:
    trusted = await trust(local_place(found_database(given.db).value), NoInput())
    if given.json:
        print_output(trusted)
    else:
        print(f"{color('good', '✓')} {visible(trusted.database)}: trusted; its settings and approvals are now used")
    return 0


def _print_loss(address: str, loss: Loss, *, accepted: bool) -> None:
    for reason in loss.reasons:
        print(f"{color('error', 'lost')}: {visible(reason)}")
    if loss.left:
        first, last = shown_time(loss.times_ms[0]), shown_time(loss.times_ms[-1])
        print(f"{count(len(loss.times_ms), 'result')} from {first} to {last} are still in the journal, for:")
        _print_runs(list(loss.left))
    print(f"{count(len(loss.live), 'run')} had not ended; their steps whose results are lost are executed again")
    _print_runs(loss.live)
    if accepted:
        print(f"{color('good', '✓')} {address}: the next engine starts without the lost results")
    else:
        print(f"{color('error', '✗')} {address}: restore a backup, or accept the loss: wonder db repair --accept-loss")


def _print_runs(run_ids: list[str]) -> None:
    for run_id in run_ids[:_RUNS_SHOWN]:
        print(f"    {run_id}")
    if len(run_ids) > _RUNS_SHOWN:
        print(f"    and {len(run_ids) - _RUNS_SHOWN:,} more; --json shows all")


_COMMANDS = {
    "migrate": _migrate,
    "check": _check,
    "repair": _repair,
    "shrink": run_shrink,
    "copy": _copy,
    "trust": _trust,
    "grant-reader": run_grant_reader,
}
