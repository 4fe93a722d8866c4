"""Create, list, rename and archive workspaces.

A workspace is a tenant: its projects, libraries, secrets and settings are seen from no other workspace. Each is made
with a project named default. Choose one with --workspace NAME, WONDER_WORKSPACE, or `workspace` in wonder.toml; without
any it is the workspace default. `wonder workspace` shows and changes the settings of the chosen one.

  wonder workspaces create acme
  wonder run orders.yaml --workspace acme
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.cli.opening import open_place
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.cli.subcommands import add_archived_option, add_command, add_json_option, add_page_options
from wonder.operations.declaring import Place
from wonder.operations.workspaces import (
    ListWorkspaces,
    OneWorkspace,
    RenameWorkspace,
    WorkspaceRecord,
    archive_workspace,
    create_new_workspace,
    list_all_workspaces,
    rename_workspace,
    restore_workspace,
    show_workspace,
)

_DOES = {
    "create": create_new_workspace,
    "show": show_workspace,
    "archive": archive_workspace,
    "restore": restore_workspace,
}
_DONE = {"create": "created", "rename": "renamed", "archive": "archived", "restore": "restored"}


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    metavar = "create | list | show | rename | archive | restore"
    commands = parser.add_subparsers(dest="command", required=True, metavar=metavar)
    create = add_command(commands, "create", "create a workspace, with a project named default")
    listing = add_command(commands, "list", "list the workspaces of the database")
    add_page_options(listing)
    add_archived_option(listing)
    show = add_command(commands, "show", "show a workspace")
    rename = add_command(commands, "rename", "give a workspace another name")
    archive = add_command(commands, "archive", "archive a workspace in which nothing runs")
    restore = add_command(commands, "restore", "restore an archived workspace")
    for command in (create, show, rename, archive, restore):
        which = "the name of the new workspace" if command is create else "the name or id of the workspace"
        command.add_argument("name", metavar="NAME", help=which)
    rename.add_argument("to", metavar="NEW-NAME", help="its new name")
    for command in (create, listing, show, rename, archive, restore):
        add_json_option(command)
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_place(database_setting(given.db).value) as place:
        return await _do(place, given)


async def _do(place: Place, given: Namespace) -> int:
    if given.command == "list":
        await _list(place, given)
        return 0
    if given.command == "rename":
        record = await rename_workspace(place, RenameWorkspace(name=given.name, to=given.to))
    else:
        record = await _DOES[given.command](place, OneWorkspace(name=given.name))
    if given.json:
        print_output(record)
    elif given.command == "show":
        _show(record)
    else:
        print(f"{color('good', '✓')} workspace {color('bold', visible(record.name))} {_DONE[given.command]}")
    return 0


async def _list(place: Place, given: Namespace) -> None:
    asked = ListWorkspaces(archived=given.archived, limit=given.limit, cursor=given.cursor)
    page = await list_all_workspaces(place, asked)
    if given.json:
        print_output(page)
    elif not page.workspaces:
        print("no archived workspaces")
    else:
        print_table(["NAME", "ID", "CREATED"], [[one.name, one.id, one.created_at[:10]] for one in page.workspaces])
        if page.cursor:
            print(f"more: wonder workspaces list --cursor {page.cursor}")


def _show(record: WorkspaceRecord) -> None:
    print(f"{color('bold', visible(record.name))}, {record.id}, created {record.created_at[:10]}")
    print(f"settings: wonder workspace show --workspace {visible(record.name)}")
    print(f"projects: wonder projects list --workspace {visible(record.name)}")
