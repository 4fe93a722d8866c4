"""List the questions that runs ask people, show one, claim it, or hand it to somebody else.

Without a command, the open questions are listed. `wonder answer` answers one; the list shows how. Who has claimed a
question is the only one who can answer it, until they release or delegate it. Whoever uses the database from a shell
counts as an admin, and says with --by who they are.

  wonder inbox --mine
  wonder inbox claim 01M7P9D2J8Q0T4X6Z7B1C3E5G9
  wonder inbox delegate 01M7P9D2J8Q0T4X6Z7B1C3E5G9 --to bob
"""

import asyncio
from argparse import SUPPRESS, ArgumentParser, Namespace

from wonder.app.callers import local_caller, local_user
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import color, print_output, visible, visible_lines
from wonder.cli.questions import answer_lines, detail_lines, standing_lines
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_command, add_json_option, add_page_options
from wonder.operations.inbox import (
    ClaimQuestion,
    DelegateQuestion,
    ListInbox,
    OneQuestion,
    claim_question,
    delegate_question,
    list_inbox,
    release_question,
    show_question,
)
from wonder.operations.question_records import Question, QuestionDetails

_DONE = {"claim": "claimed", "release": "released", "delegate": "delegated"}


def configure(parser: ArgumentParser) -> None:
    """Take a page, or one of the commands."""
    _add_list_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_list_options(add_command(commands, "list", "list the open questions"))
    for name, text in (
        ("show", "show a question, open or closed: its evidence, and who answered what when"),
        ("claim", "claim a question: nobody else can answer it"),
        ("release", "release a question that was claimed: others can answer it again"),
        ("delegate", "hand a question, or your place among its approvers, to another person"),
    ):
        command = add_command(commands, name, text)
        command.add_argument("item", metavar="ITEM", help="the id of the question, which `wonder inbox` shows")
        if name != "show":
            _add_by(command)
        add_json_option(command)
        add_project_options(command)
    commands.choices["delegate"].add_argument("--to", metavar="NAME", required=True, help="the person to answer it")
    for command in commands.choices.values():
        for action in command._actions:
            # What was said before the command counts, unless it is said again behind it.
            action.default = SUPPRESS


def _add_list_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mine",
        action="store_true",
        help="only questions that are yours: claimed by you, assigned to you, or waiting for your approval",
    )
    _add_by(parser)
    parser.add_argument("--assignee", metavar="NAME", help="only questions that are assigned to this person")
    parser.add_argument("--role", choices=["operator", "author", "admin"], help="only questions for this role")
    claimed = parser.add_mutually_exclusive_group()
    claimed.add_argument(
        "--claimed", action="store_true", default=None, help="only questions that somebody has claimed"
    )
    claimed.add_argument(
        "--unclaimed", action="store_false", dest="claimed", default=None, help="only questions that nobody has claimed"
    )
    parser.add_argument("--workflow", metavar="NAME", help="only questions of runs of this workflow")
    add_page_options(parser)
    add_json_option(parser)
    add_project_options(parser)


def _add_by(parser: ArgumentParser) -> None:
    parser.add_argument("--by", metavar="NAME", default=None, help="who you are (default: your user name)")


def run(given: Namespace) -> int:
    """List the open items, or do something with one."""
    match given.command:
        case None | "list":
            return asyncio.run(_list(given))
        case "show":
            return asyncio.run(_show(given))
        case _:
            return run_until_stopped(_change(given))


async def _list(given: Namespace) -> int:
    asked = ListInbox(
        mine=given.mine,
        by=_who(given),
        assignee=given.assignee,
        role=given.role,
        claimed=given.claimed,
        workflow=given.workflow,
        limit=given.limit,
        cursor=given.cursor,
    )
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        page = await list_inbox(app, asked)
    if given.json:
        print_output(page)
        return 0
    for item in page.items:
        _print(item)
    if not page.items:
        filters = (given.mine, given.assignee, given.role, given.workflow, given.claimed is not None)
        print("no such questions" if any(filters) else "no questions: no run waits for a person")
    if page.cursor:
        print(f"more: wonder inbox --cursor {page.cursor}")
    return 0


def _print(item: Question) -> None:
    print(f"{color('bold', visible_lines(item.prompt))}  {color('dim', f'run {item.run_id}')}")
    for line in (*standing_lines(item), *answer_lines(item)):
        print(f"  {line}")


async def _show(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        shown = await show_question(app, OneQuestion(item_id=given.item))
    if given.json:
        print_output(shown)
    else:
        print("\n".join(detail_lines(shown)))
    return 0


async def _change(given: Namespace) -> int:
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    async with open_wonder(url, runs="none", caller=local_caller(), **tenant) as wonder:
        changed: QuestionDetails
        if given.command == "delegate":
            changed = await delegate_question(wonder, DelegateQuestion(item_id=given.item, to=given.to, by=_who(given)))
        else:
            operation = claim_question if given.command == "claim" else release_question
            changed = await operation(wonder, ClaimQuestion(item_id=given.item, by=_who(given)))
    if given.json:
        print_output(changed)
        return 0
    to = f" to {visible(given.to)}" if given.command == "delegate" else ""
    print(f"{color('good', '✓')} {_DONE[given.command]}{to}")
    for line in standing_lines(changed):
        print(f"  {line}")
    return 0


def _who(given: Namespace) -> str:
    return given.by or local_user()
