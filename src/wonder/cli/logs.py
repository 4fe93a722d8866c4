"""Show what actions, the programs that they start and Wonder itself have logged, oldest first.

What happened in a run is shown by `wonder runs events`.

  wonder logs --run 01M7P9D2J8Q0T4X6Z7B1C3E5G9 --level warning
  wonder logs --since 2h --follow
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from wonder.app.application import Application
from wonder.cli.moments import moment
from wonder.cli.opening import open_app
from wonder.cli.output import JsonList, color, visible, visible_json, visible_lines
from wonder.cli.settings import (
    add_objects_option,
    add_project_options,
    database_setting,
    objects_setting,
    tenant_setting,
)
from wonder.cli.subcommands import add_json_option
from wonder.clock import SYSTEM_CLOCK
from wonder.operations.logs import LEVEL_NAMES, PAGE_MAX, ListLogs, LogMessage, WhichLogs, follow_logs, list_logs
from wonder.operations.outputs import as_json

_STYLES = {"error": "error", "warning": "warning", "debug": "dim"}
# A message is written a moment after it was logged.
_WRITTEN_MS = 1_000


def configure(parser: ArgumentParser) -> None:
    """Take which messages, and how many."""
    parser.add_argument("--run", metavar="RUN", help="show only messages of this run")
    parser.add_argument("--node", metavar="NODE", help="show only messages of this node")
    parser.add_argument(
        "--level", choices=LEVEL_NAMES, default="debug", help="show only messages of this level and above"
    )
    parser.add_argument(
        "--since",
        type=moment,
        metavar="TIME",
        help="show only messages since this time: 30m or 7d ago, or 2026-11-18T09:30",
    )
    parser.add_argument(
        "--until", type=moment, metavar="TIME", help="show only messages before this time, written like --since"
    )
    parser.add_argument(
        "--limit", type=int, default=200, metavar="N", help="show the last N messages (default 200); 0 shows all"
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="wait for new messages and show them, until interrupted; with --run, until the run has ended",
    )
    add_json_option(parser)
    add_objects_option(parser)
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Show messages."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url, objects = database_setting(given.db).value, objects_setting(given.objects)
    async with open_app(url, create=False, objects=objects, **tenant_setting(given)) as app:
        which: dict[str, Any] = {"run_id": given.run, "node": given.node, "level": given.level}
        which |= {"since_ms": given.since, "until_ms": given.until}
        if not given.follow:
            await _print_last(app, given, which)
            return 0
        seam = SYSTEM_CLOCK.now_ms() - _WRITTEN_MS
        if given.until is None or given.until > seam:
            await _print_last(app, given, which | {"until_ms": seam})
            since = max(seam, given.since or 0)
            async with aclosing(follow_logs(app, WhichLogs(**which | {"since_ms": since}))) as messages:  # type: ignore[type-var]
                async for message in messages:
                    _print(message, given.json)
        else:
            await _print_last(app, given, which)
    return 0


async def _print_last(app: Application, given: Namespace, which: dict[str, Any]) -> None:
    """Print the last messages, oldest first."""
    found: list[LogMessage] = []
    cursor: str | None = None
    while not given.limit or len(found) < given.limit:
        limit = min(PAGE_MAX, given.limit - len(found)) if given.limit else PAGE_MAX
        page = await list_logs(app, ListLogs(**which, limit=limit, cursor=cursor))
        found += page.logs
        cursor = page.cursor
        if cursor is None:
            break
    if given.json and not given.follow:
        document = JsonList()
        for message in reversed(found):
            document.add(as_json(message))
        document.end()
    else:
        for message in reversed(found):
            _print(message, given.json)
    if cursor and not given.json:
        print(f"these are the last {len(found):,}; --limit 0 shows all", file=sys.stderr)


def _print(message: LogMessage, as_line: bool) -> None:
    if as_line:
        print(visible_json(as_json(message)), flush=True)
        return
    at = datetime.fromtimestamp(message.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    where = " ".join(visible(part) for part in (message.run_id, message.node) if part)
    level = color(_STYLES[message.level], message.level) if message.level in _STYLES else message.level
    place = f" {color('dim', where)}" if where else ""
    print(f"{at} {level} {visible(message.service)}{place}: {visible_lines(message.message)}")
    if message.error_stack:
        print(f"    {visible_lines(message.error_stack)}", flush=True)
    sys.stdout.flush()
