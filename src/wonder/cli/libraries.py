"""Create, list, archive and restore libraries, and show what they contain.

A library contains definitions that several projects share. Definition files store definitions in a library of the
workspace under `libraries`, and refer to them as LIBRARY/NAME. All workspaces of the database see a public library.

  wonder libraries create common --description 'what all teams use'
  wonder libraries show common
  wonder libraries archive common
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app.application import Application
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_archived_option, add_command, add_json_option, add_page_options
from wonder.operations.libraries import (
    CreateLibrary,
    ListLibraries,
    OneLibrary,
    archive_own_library,
    archive_public_library,
    create_own_library,
    create_public_library,
    list_seen_libraries,
    restore_own_library,
    restore_public_library,
    show_library,
)

_DOES = {
    "archive": (archive_own_library, archive_public_library),
    "restore": (restore_own_library, restore_public_library),
}


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="create | list | show | archive | restore")
    create = add_command(commands, "create", "create a library")
    create.add_argument("--description", metavar="TEXT", help="say what the library is for")
    create.add_argument("--public", action="store_true", help="let all workspaces of the database see it")
    listing = add_command(commands, "list", "list the libraries of the workspace, and the public ones")
    add_page_options(listing)
    add_archived_option(listing)
    show = add_command(commands, "show", "show a library and what it contains")
    archive = add_command(commands, "archive", "archive a library that nothing outside of it needs")
    restore = add_command(commands, "restore", "restore an archived library with all that it contains")
    for command in (archive, restore):
        command.add_argument("--public", action="store_true", help="name a public library, not one of the workspace")
    for command in (create, show, archive, restore):
        command.add_argument("name", metavar="NAME", help="the name of the library")
    for command in (create, listing, show, archive, restore):
        add_json_option(command)
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    async with open_app(url, create=given.command == "create", **tenant) as app:
        if given.command in _DOES:
            await _archive(app, given)
        else:
            await {"create": _create, "list": _list, "show": _show}[given.command](app, given)
    return 0


async def _archive(app: Application, given: Namespace) -> None:
    done = await _DOES[given.command][given.public](app, OneLibrary(name=given.name))
    if given.json:
        print_output(done)
    else:
        public = "public library" if done.public else "library"
        print(f"{color('good', '✓')} {public} {color('bold', visible(done.name))} {given.command}d")


async def _create(app: Application, given: Namespace) -> None:
    make = create_public_library if given.public else create_own_library
    made = await make(app, CreateLibrary(name=given.name, description=given.description))
    if given.json:
        print_output(made)
    else:
        public = "public library" if made.public else "library"
        print(f"{color('good', '✓')} {public} {color('bold', visible(made.name))} created")


async def _list(app: Application, given: Namespace) -> None:
    page = await list_seen_libraries(
        app, ListLibraries(archived=given.archived, limit=given.limit, cursor=given.cursor)
    )
    if given.json:
        print_output(page)
    elif not page.libraries:
        none = "no libraries yet; `wonder libraries create NAME` makes one"
        print("no archived libraries" if given.archived else none)
    else:
        print_table(
            ["NAME", "SEEN BY", "DESCRIPTION"],
            [[one.name, "all" if one.public else "the workspace", one.description or ""] for one in page.libraries],
        )
        if page.cursor:
            print(f"more: wonder libraries list{' --archived' if given.archived else ''} --cursor {page.cursor}")


async def _show(app: Application, given: Namespace) -> None:
    shown = await show_library(app, OneLibrary(name=given.name))
    if given.json:
        print_output(shown)
        return
    library = shown.library
    print(f"{color('bold', visible(library.name))}, {library.id}" + (", public" if library.public else ""))
    if library.description:
        print("\n".join(map(visible, library.description.splitlines())))
    print()
    rows = [[one.kind, one.name, str(one.version), one.description] for one in shown.definitions]
    print_table(["KIND", "NAME", "VERSION", "DESCRIPTION"], rows) if rows else print("it holds nothing yet")
