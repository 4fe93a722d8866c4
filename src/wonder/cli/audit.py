"""List and export the audit log: who has changed what, when, and how it ended.

  wonder audit list --who ci --since 7d
  wonder audit list --operation settings
  wonder audit export --since 30d > audit.jsonl

Everything that somebody has changed, or tried to change, with an API key, with a sign-in or with these commands has a
record. Records can't be changed, and are deleted only when they are older than retention.audit_days of their project.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from typing import Any

from wonder.app.application import Application
from wonder.cli.moments import moment
from wonder.cli.opening import open_app
from wonder.cli.output import print_output, print_table
from wonder.cli.own_output import say
from wonder.cli.settings import add_database_option, database_setting
from wonder.cli.subcommands import add_command, add_json_option, add_page_options
from wonder.language.values import encode_json
from wonder.operations.audit import AuditPage, AuditRecord, ListAudit, list_audit
from wonder.operations.outputs import as_json

_PAGE = 200


def configure(parser: ArgumentParser) -> None:
    """Take list or export."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | export")
    listing = add_command(commands, "list", "list records, newest first")
    add_page_options(listing)
    add_json_option(listing)
    export = add_command(commands, "export", "print all records, oldest first, one JSON object on each line")
    for command in (listing, export):
        command.add_argument(
            "--who", metavar="NAME", help="only this key, person or user, by name or the id of the key"
        )
        command.add_argument(
            "--operation", metavar="NAME", help="only this operation, as in runs.start, or all of one noun: settings"
        )
        command.add_argument("--since", metavar="TIME", type=moment, help="only from this time on: 2h, 7d, 2026-11-18")
        command.add_argument("--until", metavar="TIME", type=moment, help="only before this time")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False) as app:
        which = {"who": given.who, "operation": given.operation, "since_ms": given.since, "until_ms": given.until}
        if given.command == "export":
            async for record in _all(app, which):
                say(encode_json(as_json(record)))
            return 0
        page = await list_audit(app, ListAudit(**which, limit=given.limit, cursor=given.cursor))
        _print(given, page)
    return 0


async def _all(app: Application, which: dict[str, Any]) -> AsyncIterator[AuditRecord]:
    cursor: str | None = None
    while True:
        page = await list_audit(app, ListAudit(**which, oldest_first=True, limit=_PAGE, cursor=cursor))
        for record in page.records:
            yield record
        if (cursor := page.cursor) is None:
            return


def _print(given: Namespace, page: AuditPage) -> None:
    if given.json:
        print_output(page)
    elif not page.records:
        print("no records")
    else:
        print_table(
            ["TIME", "WHO", "OPERATION", "OUTCOME", "WHAT"],
            [[one.at[:19], _who(one), one.operation, one.outcome, _what(one)] for one in page.records],
        )
        if page.cursor:
            print(f"more: wonder audit list --cursor {page.cursor}")


def _who(record: AuditRecord) -> str:
    return f"{record.who} ({record.key_id or record.who_kind})"


def _what(record: AuditRecord) -> str:
    if record.settings:
        changed = f"{encode_json(record.settings.before)} → {encode_json(record.settings.after)}"
        return f"{record.input['key']}: {changed}"
    shown = encode_json(record.input) if record.input else ""
    return f"{' '.join(record.ids[:1])} {shown}".strip()[:120]
