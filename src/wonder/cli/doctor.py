"""Show the settings with their origins, and check the database and the tools that workflows use.

MCP servers of the project that workflows in the phase form use are started or reached, and asked for their tools again:
a tool that has changed since a workflow was checked with it is named, with the workflows that this breaks. Deploying
those again, once they are mended, checks them with the tool as it is now. Schedules and runs that wait because no
process runs the engine are told of.
Exit status 0 if all is well, 1 if a workflow is broken, a tool can't be asked for, or the database is damaged.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from typing import Any

from wonder.app import open_app
from wonder.app.drift import ToolReport, report_tools
from wonder.cli.engine_note import HOW, awaited
from wonder.cli.output import color, count, print_json, print_table, visible
from wonder.cli.settings import Setting, add_database_option, add_objects_option, database_setting, objects_origin
from wonder.storage.check import Finding, check_database
from wonder.storage.errors import DatabaseUnreachable
from wonder.storage.runs.leases import is_held


def configure(parser: ArgumentParser) -> None:
    """Take the database."""
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Look at everything, also behind something that is wrong."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    database = database_setting(given.db)
    try:
        return await _look(given, database)
    except DatabaseUnreachable as error:
        if not given.json:
            print_table(*_settings_table(_settings(error.database, database, given)))
            print()
        raise


async def _look(given: Namespace, database: Setting) -> int:
    async with open_app(database.value, create=False) as app:
        settings = _settings(app.store.address, database, given)
        findings = await check_database(app.store)
        tools = await report_tools(app)
        is_run = await is_held(app.store)
        waiting = [] if is_run else await awaited(app.store, app.home.project_id)
    _show(settings, findings, tools, is_run, waiting, as_json=given.json)
    is_well = not any(finding.severity == "error" for finding in findings)
    return 0 if is_well and not any(tool.breaks or tool.state == "unknown" for tool in tools) else 1


def _settings(address: str, database: Setting, given: Namespace) -> dict[str, Setting]:
    """Give the settings; the address is without the password that a setting may have."""
    return {"database_url": Setting(address, database.origin), "objects_url": objects_origin(given.objects)}


def _settings_table(settings: dict[str, Setting]) -> tuple[list[str], list[list[str]]]:
    return ["SETTING", "VALUE", "ORIGIN"], [[name, one.value, one.origin] for name, one in settings.items()]


def _show(
    settings: dict[str, Setting],
    findings: list[Finding],
    tools: list[ToolReport],
    is_run: bool,
    waiting: list[str],
    *,
    as_json: bool,
) -> None:
    if as_json:
        print_json(
            {
                "settings": [
                    {"name": name, "value": one.value, "origin": one.origin} for name, one in settings.items()
                ],
                "database": [{"severity": one.severity, "type": one.code, "message": one.message} for one in findings],
                "tools": [_as_json(tool) for tool in tools],
                "engine_is_run": is_run,
            }
        )
        return
    print_table(*_settings_table(settings))
    print()
    for finding in findings:
        print(f"{color(finding.severity, finding.severity)} {finding.code}: {visible(finding.message)}")
    if not findings:
        print(f"{color('good', '✓')} the database is whole")
    for tool in tools:
        _print_tool(tool)
    same = sum(tool.state == "same" for tool in tools)
    if same:
        print(f"{color('good', '✓')} {count(same, 'tool')} as workflows expect {'it' if same == 1 else 'them'}")
    if is_run:
        print(f"{color('good', '✓')} a process runs the engine")
    elif waiting:
        print(f"{color('warning', '!')} no process runs the engine now: {' and '.join(waiting)} when one does ({HOW})")


def _print_tool(tool: ToolReport) -> None:
    if tool.state == "same":
        return
    what = f"the tool {tool.name.tool_name!r} of the MCP server {tool.name.connection_id!r}"
    if tool.state == "unknown":
        print(f"{color('error', '✗')} {visible(f'{what} can not be asked for: {tool.reason}')}")
        print(f"    used by {visible(', '.join(tool.used_by))}")
        return
    if not tool.breaks:
        print(
            f"{color('warning', '!')} {visible(what)} has changed; {visible(', '.join(tool.used_by))} can go on with it"
        )
        return
    print(f"{color('error', '✗')} {visible(what)} has changed, and breaks")
    for broken in tool.breaks:
        print(f"    {color('bold', visible(f'{broken.workflow}@{broken.version}'))}")
        for error in broken.errors:
            print(f"      {visible(str(error))}")


def _as_json(tool: ToolReport) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "server": tool.name.connection_id,
        "tool": tool.name.tool_name,
        "state": tool.state,
        "used_by": list(tool.used_by),
        "breaks": [
            {"workflow": one.workflow, "version": one.version, "errors": [error.to_json() for error in one.errors]}
            for one in tool.breaks
        ],
    }
    return {**shown, "reason": tool.reason} if tool.reason else shown
