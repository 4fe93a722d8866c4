"""Approvals of MCP servers on the command line: `--allow-mcp`, and the question on a terminal (RES-6)."""

import asyncio
import re
import shlex
import shutil
import sys
import termios
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wonder.actions.mcp.permission import ascii_json, folder_here, shown_command
from wonder.app.given_files import is_there
from wonder.cli.settings import database_setting, tenant_setting
from wonder.definitions.records.resources import HttpServer, StdioServer
from wonder.errors import WonderError

if TYPE_CHECKING:
    from wonder.app.application import Application

Servers = Mapping[str, StdioServer | HttpServer]

# A longer question would not be read to its end.
_READABLE: Final = 4_000
# A literal value with such a name is probably a key that should be a secret.
_SECRET_NAME: Final = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY$|^KEY$", re.IGNORECASE)
# Code and paths are shown whatever their name is: bash takes BASH_FUNC_token%% for a function.
_KEY_VALUE: Final = re.compile(r"[A-Za-z0-9_=+-][A-Za-z0-9_=+/.-]*")


class NotApproved(WonderError):
    """An MCP server's command would have to be started, but is not approved."""

    code = "MCP_SERVER_NOT_APPROVED"

    def __init__(self, server: str, connection: StdioServer, why: str) -> None:
        super().__init__(
            f"the MCP server {server!r} starts a command on this machine, which {why}: {shown_command(connection)}; "
            f"if you trust it, add --allow-mcp {shlex.quote(server)}"
        )
        self.server = server


def add_allow_mcp_option(parser: ArgumentParser) -> None:
    """Add the option that approves MCP servers by name."""
    parser.add_argument(
        "--allow-mcp",
        metavar="NAME",
        action="append",
        default=[],
        help="allow the command of the MCP server NAME to be started on this machine; can be repeated. "
        "The approval is stored, and is valid until the command changes",
    )


async def unapproved(given: Namespace, in_file: Servers, named: Collection[str], allowed: Collection[str]) -> Servers:
    """Open the database and call `unapproved_in`; without a database, nothing is approved yet."""
    # They take time to load, and most commands approve nothing.
    from wonder.app.mcp_approvals import NotFound
    from wonder.app.opening import DatabaseUnreachable
    from wonder.cli.opening import open_app

    try:
        async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
            return await unapproved_in(app, in_file, named, allowed)
    except DatabaseUnreachable:
        if missing := [name for name in allowed if name not in in_file]:
            raise NotFound("MCP server", missing[0]) from None
        return {
            name: connection
            for name, connection in in_file.items()
            if isinstance(connection, StdioServer) or name in allowed
        }


async def unapproved_in(
    app: "Application", in_file: Servers, named: Collection[str], allowed: Collection[str]
) -> Servers:
    """Return the servers that a file defines or names and that are not approved, and those of `--allow-mcp`.

    Raises NotFound for the name of a server that does not exist.
    """
    # As in `unapproved`.
    from wonder.app.mcp_approvals import servers_called, stored_servers, unapproved_commands

    used = {**await stored_servers(app, [name for name in named if name not in in_file]), **in_file}
    return {**await unapproved_commands(app, used), **await servers_called(app, allowed, in_file)}


def approve_commands(given: Namespace, servers: Servers) -> None:
    """Ask a person to approve servers, and store the approvals; raises NotApproved for the first that is declined.

    Called outside of the event loop, so that an interrupt ends the question.
    """
    if servers:
        confirm({name: one for name, one in servers.items() if isinstance(one, StdioServer)}, given.allow_mcp)
        asyncio.run(_remember(given, servers))


async def _remember(given: Namespace, servers: Servers) -> None:
    # As in `unapproved`.
    from wonder.app.mcp_approvals import approve
    from wonder.cli.opening import open_app
    from wonder.operations.auditing import recorded
    from wonder.operations.mcp_servers import AllowServer, allow_server

    async with open_app(database_setting(given.db).value, **tenant_setting(given)) as app:
        # Exactly what was shown: the server of this name may have changed meanwhile.
        for name, connection in servers.items():
            await recorded(app, allow_server, AllowServer(server=name), approve(app, {name: connection}))


def confirm(servers: Mapping[str, StdioServer], allowed: Collection[str]) -> None:
    """Ask about each server that `--allow-mcp` does not name; raises NotApproved for the first that is declined."""
    for name, connection in servers.items():
        if name in allowed:
            continue
        if not _is_interactive():
            raise NotApproved(name, connection, "is not approved")
        question = question_about(name, connection)
        if len(question) > _READABLE:
            raise NotApproved(name, connection, "is too long to be read on a terminal; read it in the file")
        # Input that was typed or pasted before the question does not answer it.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise NotApproved(name, connection, "was not approved")


def question_about(name: str, connection: StdioServer) -> str:
    """Build the question, with everything that determines what is started, in plain ASCII."""
    lines = [
        f"The MCP server {ascii_json(name)} is a program that would be started on this machine as you:",
        f"  command  {ascii_json(list(connection.command))}",
        f"  program  {_program(connection)}",
        f"  folder   {ascii_json(folder_here())}",
        *(f"  env      {variable}" for variable in _variables(connection)),
        "Allow it to be started, now and later, until one of these changes? [y/N] ",
    ]
    return "\n".join(lines)


def _program(connection: StdioServer) -> str:
    """Describe the file that the command would start."""
    word = connection.command[0]
    if "/" in word:
        found: str | None = str(Path(folder_here(), word))
    else:
        found = shutil.which(word, path=connection.env.get("PATH"))
    if found is None or not is_there(found):
        return "(not found)"
    # An entry of PATH may be relative to the folder.
    whole = Path(folder_here(), found)
    real = whole.resolve()
    return ascii_json(str(whole)) + (f", which is {ascii_json(str(real))}" if real != whole else "")


def _variables(connection: StdioServer) -> list[str]:
    """Show the variables, since they may change what a program does, but hide values that look like keys."""
    return [f"{ascii_json(name)[1:-1]}={_value(name, value)}" for name, value in connection.env.items()]


def _value(name: str, value: str) -> str:
    is_key = _SECRET_NAME.search(name) and _KEY_VALUE.fullmatch(value)
    return f"(not shown, {len(value):,} characters)" if is_key else ascii_json(value)


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
