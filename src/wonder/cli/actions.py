"""List and show the kinds of action that definitions can use, and the actions that the project has stored.

Installed packages can add kinds, with entry points in the group wonder.actions.

  wonder actions show http_request     the fields, output and errors of a kind, with an example
  wonder actions list --tag billing    stored actions with this tag
  wonder actions show charge@2         a stored action; with its version where a kind has the same name
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from textwrap import fill

from wonder.cli.opening import open_app
from wonder.cli.output import color, print_json, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stored import ARCHIVING, StoredCommands, add_filter_options, is_filtered
from wonder.cli.subcommands import add_command, add_json_option
from wonder.errors import WonderError
from wonder.language.values import encode_json
from wonder.operations.kinds import KindField, KindRecord, all_kinds, find_kind
from wonder.operations.outputs import as_json
from wonder.operations.stored import ACTIONS, StoredPage

_STORED = StoredCommands(ACTIONS)


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    parser.set_defaults(
        json=False, db=None, workspace=None, project=None, name=None, tag=None, archived=False, limit=50, cursor=None
    )
    commands = parser.add_subparsers(dest="command", metavar="list | show | archive | restore")
    listing = add_command(
        commands,
        "list",
        "list all kinds of action and the stored actions (the default)",
        "With a filter, only stored actions are listed.",
    )
    add_filter_options(listing, has_tags=True)
    show = add_command(commands, "show", "show a kind of action with an example, or a stored action")
    show.add_argument("name", metavar="KIND | NAME[@VERSION]", help="a kind, such as http_request, or a stored action")
    add_json_option(show)
    add_project_options(show)
    _STORED.add_archiving_to(commands)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    if given.command in ARCHIVING:
        return _STORED.run(given)
    return asyncio.run(_show(given) if given.command == "show" else _list(given))


async def _list(given: Namespace) -> int:
    kinds = [] if is_filtered(given) else all_kinds().kinds
    page = await _stored_actions(given, needed=not kinds)
    if given.json:
        listed = as_json(page)
        assert isinstance(listed, dict)
        print_json({"kinds": as_json(kinds), **listed})
        return 0
    if kinds:
        rows = [[one.kind, one.summary + (f" ({one.package})" if one.package else "")] for one in kinds]
        print_table(["KIND", "WHAT IT DOES"], rows)
        print(f"\n{color('hint', 'wonder actions show KIND')} shows what it takes and gives, and an example")
    if kinds and page.items:
        print(f"\n{color('bold', 'stored actions')}")
    if page.items or not kinds:
        _STORED.print_page(page, given)
    return 0


async def _stored_actions(given: Namespace, *, needed: bool) -> StoredPage:
    """Give the stored actions; none if they are not needed and there is no database yet."""
    try:
        async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
            return await _STORED.page(app, given)
    except WonderError as error:
        if needed or error.code != "DATABASE_UNREACHABLE":
            raise
        print(f"stored actions are not listed: {visible(str(error))}", file=sys.stderr)
        return StoredPage(items=[], cursor=None)


async def _show(given: Namespace) -> int:
    kind = next((one for one in all_kinds().kinds if one.kind == given.name), None)
    if kind:
        if given.json:
            print_output(kind)
        else:
            _print_kind(kind)
        return 0
    try:
        async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
            await _STORED.show(app, given)
    except WonderError as error:
        if error.code not in ("DATABASE_UNREACHABLE", "NOT_FOUND"):
            raise
        find_kind(given.name)  # raises, with the kinds that there are
    return 0


def _print_kind(guide: KindRecord) -> None:
    print(f"{color('bold', guide.kind)}: {guide.summary}")
    if guide.package:
        print(f"added by {guide.package}")
    if guide.fields:
        print()
        print_table(["FIELD", "TYPE", "DEFAULT", ""], [_row(field) for field in guide.fields])
    print(f"\n{color('bold', 'gives')} {guide.gives}")
    if guide.errors:
        print(fill(f"{color('bold', 'errors')} {', '.join(guide.errors)}", 100, subsequent_indent="  "))
    if guide.example:
        print(f"\n{color('bold', 'example')}\n\n{guide.example.rstrip()}")


def _row(field: KindField) -> list[str]:
    default = "required" if field.required else "" if field.default is None else encode_json(field.default)
    return [field.name, field.type, default, "may hold {{secrets.NAME}}" if field.may_hold_secrets else field.note]
