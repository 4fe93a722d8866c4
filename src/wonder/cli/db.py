"""Migrate or check the database.

`migrate` brings it to the newest form, which deploying does by itself as well. `check` looks for damage and for rows
that don't belong together; exit status 1 if it finds any.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.cli.output import color, count, print_json
from wonder.cli.settings import add_database_option, database_setting
from wonder.storage.check import check_database
from wonder.storage.migrate import migrate
from wonder.storage.opening import open_store


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
    finally:
        await store.close()
    sound = not any(finding.severity == "error" for finding in findings)
    if given.json:
        shown = [{"severity": one.severity, "type": one.code, "message": one.message} for one in findings]
        print_json({"database": store.address, "sound": sound, "findings": shown})
    else:
        for finding in findings:
            print(f"{color(finding.severity, finding.severity)} {finding.code}: {finding.message}")
        print(f"{color('good', '✓')} {store.address}: sound" if sound else f"{color('error', '✗')} {store.address}")
    return 0 if sound else 1
