"""`wonder mcp approvals`, `allow` and `forget`: which MCP servers can be used, and who approved them."""

import os
from argparse import ArgumentParser, Namespace

from wonder.app.application import Application
from wonder.app.given_files import expanded
from wonder.cli.output import color, count, print_output, print_table
from wonder.operations.declaring import NoInput
from wonder.operations.mcp_servers import (
    AllowServer,
    OneServer,
    allow_server,
    ascii_json,
    forget_server,
    list_approvals,
)


def configure(allowing: ArgumentParser, forgetting: ArgumentParser) -> None:
    """Take the servers."""
    allowing.add_argument("server", metavar="SERVER", help="the name or id of the server")
    allowing.add_argument(
        "--long-running",
        action="store_true",
        help="also add it to allowed_mcp_servers of the workspace, so that long-running processes can use it",
    )
    allowing.add_argument(
        "--folder",
        metavar="FOLDER",
        help="the working directory of the process that will start it (default: this one)",
    )
    forgetting.add_argument("server", metavar="SERVER", help="the name of the server")


async def run(app: Application, given: Namespace) -> int:
    """Run one of the commands."""
    match given.command:
        case "approvals":
            await _list(app, as_json=given.json)
        case "allow":
            await _allow(app, given)
        case "forget":
            return await _forget(app, given)
        case unknown:
            raise AssertionError(f"{unknown} is not a command of this module")
    return 0


async def _list(app: Application, *, as_json: bool) -> None:
    found = await list_approvals(app, NoInput())
    if as_json:
        print_output(found)
    elif not found.approvals:
        print("no MCP server is approved yet; `wonder mcp allow SERVER` approves one")
    else:
        rows = [[one.name, one.what, one.folder or "", one.approved_by, one.approved_at] for one in found.approvals]
        print_table(["NAME", "COMMAND OR ADDRESS", "FOLDER", "BY", "AT"], rows)


async def _allow(app: Application, given: Namespace) -> None:
    folder = _resolved(given.folder)
    asked = AllowServer(server=given.server, folder=folder, long_running=given.long_running)
    allowed = await allow_server(app, asked)
    if given.json:
        print_output(allowed)
        return
    where = f" in {ascii_json(folder)}" if allowed.is_command else ""
    print(f"{color('good', '✓')} {allowed.server} is approved: {allowed.what}{where}")
    if given.long_running:
        listed = ascii_json([*(allowed.allowed_mcp_servers or ())])
        print(f"{color('good', '✓')} allowed_mcp_servers of the workspace is {listed}")
    if allowed.list_is_new:
        print("  it was null (all servers) before: from now on `wonder run`, too, can use only the listed servers")


async def _forget(app: Application, given: Namespace) -> int:
    done = await forget_server(app, OneServer(server=given.server))
    is_known = bool(done.forgotten or done.taken_off_list)
    if given.json:
        print_output(done)
    elif is_known:
        off = "; it is no longer on allowed_mcp_servers of the workspace" if done.taken_off_list else ""
        print(f"{color('good', '✓')} {count(done.forgotten, 'approval')} revoked{off}")
    else:
        print(f"there is no approval of {given.server!r}; `wonder mcp approvals` lists them")
    return 0 if is_known else 2


def _resolved(folder: str | None) -> str:
    """Give a folder as the kernel names a working directory: without links."""
    return os.path.realpath(expanded(folder or "."))
