"""Create, list, rename and archive the projects of a workspace.

A project has its own workflows, runs, schedules, secrets and settings, which no other project sees.
Choose one with --project NAME, WONDER_PROJECT, or `project` in wonder.toml; without any it is the project default of
the workspace. `wonder project` shows and changes the settings of the chosen one.

  wonder projects create orders --description 'everything about orders'
  wonder run order.yaml --project orders
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app.application import Application
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_archived_option, add_command, add_json_option, add_page_options
from wonder.operations.projects import (
    CreateProject,
    ListProjects,
    OneProject,
    ProjectRecord,
    RenameProject,
    archive_project,
    create_new_project,
    list_workspace_projects,
    rename_project,
    restore_project,
    show_project,
)

_DOES = {"show": show_project, "archive": archive_project, "restore": restore_project}
_DONE = {"create": "created", "rename": "renamed", "archive": "archived", "restore": "restored"}


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    metavar = "create | list | show | rename | archive | restore"
    commands = parser.add_subparsers(dest="command", required=True, metavar=metavar)
    create = add_command(commands, "create", "create a project")
    create.add_argument("--description", metavar="TEXT", help="say what the project is for")
    listing = add_command(commands, "list", "list the projects of the workspace")
    add_page_options(listing)
    add_archived_option(listing)
    show = add_command(commands, "show", "show a project")
    rename = add_command(commands, "rename", "give a project another name")
    archive = add_command(commands, "archive", "archive a project in which nothing runs")
    restore = add_command(commands, "restore", "restore an archived project")
    for command in (create, show, rename, archive, restore):
        which = "the name of the new project" if command is create else "the name or id of the project"
        command.add_argument("name", metavar="NAME", help=which)
    rename.add_argument("to", metavar="NEW-NAME", help="its new name")
    for command in (create, listing, show, rename, archive, restore):
        add_json_option(command)
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    async with open_app(url, create=given.command == "create", **tenant) as app:
        if given.command == "list":
            await _list(app, given)
            return 0
        record = await _do(app, given)
    if given.json:
        print_output(record)
    elif given.command == "show":
        _show(record)
    else:
        print(f"{color('good', '✓')} project {color('bold', visible(record.name))} {_DONE[given.command]}")
    return 0


async def _do(app: Application, given: Namespace) -> ProjectRecord:
    if given.command == "create":
        return await create_new_project(app, CreateProject(name=given.name, description=given.description))
    if given.command == "rename":
        return await rename_project(app, RenameProject(name=given.name, to=given.to))
    return await _DOES[given.command](app, OneProject(name=given.name))


async def _list(app: Application, given: Namespace) -> None:
    asked = ListProjects(archived=given.archived, limit=given.limit, cursor=given.cursor)
    page = await list_workspace_projects(app, asked)
    if given.json:
        print_output(page)
    elif not page.projects:
        print("no archived projects")
    else:
        print_table(
            ["NAME", "ID", "CREATED", "DESCRIPTION"],
            [
                [one.name + (" (chosen)" if one.chosen else ""), one.id, one.created_at[:10], one.description or ""]
                for one in page.projects
            ],
        )
        if page.cursor:
            print(f"more: wonder projects list --cursor {page.cursor}")


def _show(record: ProjectRecord) -> None:
    print(f"{color('bold', visible(record.name))}, {record.id}, created {record.created_at[:10]}")
    if record.description:
        print("\n".join(map(visible, record.description.splitlines())))
    print(f"settings: wonder project show --project {visible(record.name)}")
