"""List what runs wait for people to answer."""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app import open_app
from wonder.cli.output import color, print_json
from wonder.cli.questions import answer_lines
from wonder.cli.settings import add_database_option, database_setting
from wonder.storage.runs.looking import InboxItem, open_inbox


def configure(parser: ArgumentParser) -> None:
    """Take a page."""
    parser.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    parser.add_argument("--cursor", help="go on behind an earlier page")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)


def run(given: Namespace) -> int:
    """List the open items."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False) as app:
        page = await open_inbox(app.store, app.home.project_id, limit=given.limit, cursor=given.cursor)
    if given.json:
        shown = [
            {"id": item.id, "run_id": item.run_id, "kind": item.kind, "prompt": item.prompt, "schema": item.schema}
            for item in page.items
        ]
        print_json({"items": shown, "cursor": page.cursor})
        return 0
    for item in page.items:
        _print(item)
    if not page.items:
        print("nothing waits for a person")
    if page.cursor:
        print(f"more: wonder inbox --cursor {page.cursor}")
    return 0


def _print(item: InboxItem) -> None:
    print(f"{color('bold', item.prompt)}  {color('dim', f'run {item.run_id}')}")
    for line in answer_lines(item):
        print(f"  {line}")
