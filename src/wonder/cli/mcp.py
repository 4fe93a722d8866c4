"""List the MCP servers of the project, show their tools, and approve the servers that can be used.

`tools` connects to a server as a run does, with the secrets that its definition names: it starts its command on this
machine, or sends requests to its URL. A command is started only after you have approved it, with `allow`, with
--allow-mcp, or at a prompt. `allow --long-running` approves it for long-running processes too: `wonder serve --no-http`
and programs that have the database open.

  wonder mcp allow files
  wonder mcp tools files
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace

from wonder.app.application import Application
from wonder.cli import mcp_approvals
from wonder.cli.approving import add_allow_mcp_option, approve_commands, unapproved
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_json, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stored import ARCHIVING, add_archiving_commands, print_archived
from wonder.cli.subcommands import add_archived_option, add_command, add_json_option, add_page_options
from wonder.language.schemas import describe
from wonder.operations.archiving import OneNamed
from wonder.operations.mcp_servers import (
    ListServers,
    OneServer,
    ServerRecord,
    ServerTools,
    ServerUnreachable,
    archive_server,
    ascii_json,
    list_servers,
    list_tools,
    restore_server,
)

_SUMMARY = 70


def configure(parser: ArgumentParser) -> None:
    """Take the command."""
    metavar = "list | tools | approvals | allow | forget | archive | restore"
    commands = parser.add_subparsers(dest="command", required=True, metavar=metavar)
    listing = add_command(commands, "list", "list the MCP servers of the project, without starting them")
    add_page_options(listing)
    add_archived_option(listing)
    tools = add_command(commands, "tools", "connect to a server and show its tools")
    tools.add_argument("server", metavar="SERVER", help="the name or id of the server")
    add_allow_mcp_option(tools)
    approvals = add_command(
        commands,
        "approvals",
        "list all approvals, with the person and the time",
        "An approval is for one command with its environment, in one working directory.",
    )
    allow = add_command(commands, "allow", "approve a server as it is stored now, without starting it")
    forget = add_command(commands, "forget", "revoke all approvals of a server")
    mcp_approvals.configure(allow, forget)
    for command in (listing, tools, approvals, allow, forget):
        add_json_option(command)
        add_project_options(command)
    add_archiving_commands(commands, "server", "SERVER")


def run(given: Namespace) -> int:
    """Run one of the commands."""
    if given.command == "tools":
        approve_commands(given, asyncio.run(unapproved(given, {}, [given.server], given.allow_mcp)))
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        if given.command in ("approvals", "allow", "forget"):
            return await mcp_approvals.run(app, given)
        if given.command in ARCHIVING:
            does = archive_server if given.command == "archive" else restore_server
            print_archived(await does(app, OneNamed(name=given.name)), "MCP server", given)
            return 0
        if given.command == "list":
            await _list(app, given)
            return 0
        try:
            found = await list_tools(app, OneServer(server=given.server))
        except ServerUnreachable as error:
            print(f"wonder: {visible(str(error))}", file=sys.stderr)
            if given.json:
                print_json({"error": str(error), "code": error.code})
            return 1
        _show(found, given)
        return 0


async def _list(app: Application, given: Namespace) -> None:
    page = await list_servers(app, ListServers(archived=given.archived, limit=given.limit, cursor=given.cursor))
    if given.json:
        print_output(page)
    elif not page.servers:
        none = "no MCP servers yet; define them in a file, under mcp_servers"
        print("no archived MCP servers" if given.archived else none)
    else:
        print_table(
            ["NAME", "TRANSPORT", "COMMAND OR URL", "ALLOWED", "APPROVED HERE"],
            [
                [one.name, one.transport, _way(one), one.allowed, "yes" if one.approved_here else "no"]
                for one in page.servers
            ],
        )
        if page.cursor:
            print(f"more: wonder mcp list{' --archived' if given.archived else ''} --cursor {page.cursor}")


def _show(found: ServerTools, given: Namespace) -> None:
    if given.json:
        print_output(found)
        return
    if not found.tools:
        print(f"{given.server} has no tools")
    for tool in found.tools:
        first = (tool.description.splitlines() or [""])[0]
        print(f"{color('bold', visible(tool.name))}  {visible(first[:_SUMMARY])}")
        required = tool.input_schema.get("required") or []
        for name, held in (tool.input_schema.get("properties") or {}).items():
            kind = held.get("type", "any") if isinstance(held, dict) else "any"
            print(f"  {visible(str(name))}: {visible(str(kind))}{'' if name in required else ' (optional)'}")
        if isinstance(tool.output_schema, dict | bool):
            gives = describe(tool.output_schema)
        else:
            gives = "any value: it has no output schema"
        print(f"  {color('dim', 'returns')} {visible(gives)}")


def _way(server: ServerRecord) -> str:
    return ascii_json([*server.command]) if isinstance(server.command, list) else str(server.url)
