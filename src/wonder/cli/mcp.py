"""List the MCP servers of the project, and show the tools that one of them has.

`tools` is the one command that starts a server: it runs its command on this machine, or reaches it over HTTP, as a run
would, with the secrets that its definition names.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from random import random
from typing import TYPE_CHECKING, Any

from wonder.actions.equipment import Equipment
from wonder.actions.functions import FunctionRegistry
from wonder.actions.mcp_tool import McpToolKind
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources
from wonder.actions.secrets import StoredSecrets
from wonder.actions.threads import Threads
from wonder.app import App, open_app
from wonder.cli.output import color, print_json, print_table, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.definitions.records.resources import McpServer, StdioServer
from wonder.language.redaction import Redactor
from wonder.language.schemas import describe
from wonder.storage.named_resources import list_resources
from wonder.storage.secret_keys import key_source

if TYPE_CHECKING:
    from wonder.actions.mcp.schemas import Tool

_SUMMARY = 70


def configure(parser: ArgumentParser) -> None:
    """Take list or tools."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | tools")
    listing = commands.add_parser("list", help="list the servers of the project; none is started")
    listing.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    listing.add_argument("--cursor", help="go on behind an earlier page")
    tools = commands.add_parser("tools", help="start or reach a server, and show its tools")
    tools.add_argument("server", metavar="SERVER", help="its name or id")
    for command in (listing, tools):
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url = database_setting(given.db).value
    async with open_app(url, create=False) as app:
        redactor = Redactor()
        resources = Resources(app.store, _now_ms, StoredSecrets(app.store, lambda: key_source(url), redactor, _now_ms))
        if given.command == "list":
            await _list(app, resources, given)
            return 0
        try:
            tools = await _tools_of(given.server, app, resources)
        except ActionFailed as failure:
            return _failed(failure, redactor, given)
        _show(tools, redactor, given)
        return 0


async def _list(app: App, resources: Resources, given: Namespace) -> None:
    project_id = app.home.project_id
    page = await list_resources(app.store, McpServer, project_id, limit=given.limit, cursor=given.cursor)
    allowed = (await resources.tenancy(project_id)).workspace.allowed_mcp_servers
    rows = [(one, allowed is None or one.name in allowed or one.id in allowed) for one in page.items]
    if given.json:
        print_json({"servers": [_summary(*row) for row in rows], "cursor": page.cursor})
    elif not rows:
        print("no MCP servers yet; a definition file names them under mcp_servers")
    else:
        print_table(
            ["NAME", "TRANSPORT", "REACHED BY", "ALLOWED"],
            [
                [one.name, one.connection.transport, _way(one), "yes" if is_allowed else "no"]
                for one, is_allowed in rows
            ],
        )
        if page.cursor:
            print(f"more: wonder mcp list --cursor {page.cursor}")


async def _tools_of(server: str, app: App, resources: Resources) -> "list[Tool]":
    threads = Threads()
    kind = McpToolKind(Equipment(FunctionRegistry(), threads, resources, _now_ms, _sleep, random))
    try:
        connection = await kind.connection(app.home.project_id, server)
        return await (await kind.pool()).tools(connection)
    finally:
        await kind.close()
        threads.close()


def _show(tools: "list[Tool]", redactor: Redactor, given: Namespace) -> None:
    found: Any = redactor.value([_tool(tool) for tool in tools])
    if given.json:
        print_json({"server": given.server, "tools": found})
        return
    if not found:
        print(f"{given.server} has no tools")
    for tool in found:
        first = (tool["description"].splitlines() or [""])[0]
        print(f"{color('bold', visible(tool['name']))}  {visible(first[:_SUMMARY])}")
        schema = tool["input_schema"]
        required = schema.get("required") or []
        for name, held in (schema.get("properties") or {}).items():
            kind = held.get("type", "any") if isinstance(held, dict) else "any"
            print(f"  {visible(str(name))}: {visible(str(kind))}{'' if name in required else ' (optional)'}")
        gives = describe(tool["output_schema"]) if "output_schema" in tool else "anything: it has no output schema"
        print(f"  {color('dim', 'gives')} {visible(gives)}")


def _failed(failure: ActionFailed, redactor: Redactor, given: Namespace) -> int:
    message = redactor.text(failure.message)
    print(f"wonder: {visible(message)}", file=sys.stderr)
    if given.json:
        print_json({"error": message, "code": failure.code})
    return 1


def _tool(tool: "Tool") -> dict[str, Any]:
    shown = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return {**shown, "output_schema": tool.output_schema} if tool.output_schema else shown


def _summary(server: McpServer, is_allowed: bool) -> dict[str, Any]:
    connection = server.connection
    shown: dict[str, Any] = {"id": server.id, "name": server.name, "transport": connection.transport}
    # Names only: what stands in them may be a token that somebody wrote where a secret belongs.
    if isinstance(connection, StdioServer):
        shown |= {"command": connection.command, "env": sorted(connection.env)}
    else:
        shown |= {"url": connection.url, "headers": sorted(connection.headers)}
    return {**shown, "allowed": is_allowed}


def _way(server: McpServer) -> str:
    connection = server.connection
    return " ".join(connection.command) if isinstance(connection, StdioServer) else connection.url


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _sleep(milliseconds: float) -> None:
    await asyncio.sleep(milliseconds / 1_000)
