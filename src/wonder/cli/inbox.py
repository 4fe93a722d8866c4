"""List the questions that runs ask people.

`wonder answer` answers one; the list shows how.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, visible_lines
from wonder.cli.questions import answer_lines
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_json_option, add_page_options
from wonder.operations.inbox import ListInbox, list_inbox
from wonder.operations.run_records import Question


def configure(parser: ArgumentParser) -> None:
    """Take a page."""
    add_page_options(parser)
    add_json_option(parser)
    add_project_options(parser)


def run(given: Namespace) -> int:
    """List the open items."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        page = await list_inbox(app, ListInbox(limit=given.limit, cursor=given.cursor))
    if given.json:
        print_output(page)
        return 0
    for item in page.items:
        _print(item)
    if not page.items:
        print("no questions: no run waits for a person")
    if page.cursor:
        print(f"more: wonder inbox --cursor {page.cursor}")
    return 0


def _print(item: Question) -> None:
    print(f"{color('bold', visible_lines(item.prompt))}  {color('dim', f'run {item.run_id}')}")
    for line in answer_lines(item):
        print(f"  {line}")
