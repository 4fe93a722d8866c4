"""Show the settings with their origins, and check the database and the tools that workflows use.

Reported are:
  - damage to the database
  - tools of MCP servers that have changed since a workflow in the phase form was checked against them, with the
    workflows that this breaks. For this, approved servers are started or connected to. Correct and deploy these
    workflows again
  - schedules and runs that wait because no process runs the engine
  - risks: files that other users can read or write, an SQLite database on a network file system, a PostgreSQL role
    with more rights than it needs

Exit status: 0 if there are only warnings or nothing, 1 if the database is damaged, a workflow is broken, or a server
does not answer.
"""

import asyncio
import shlex
from argparse import ArgumentParser, Namespace

import msgspec

from wonder.app.opening import DatabaseUnreachable, open_app
from wonder.cli.engine_note import HOW, awaited
from wonder.cli.output import color, count, print_json, print_table, visible
from wonder.cli.server_settings import server_origins
from wonder.cli.settings import (
    Setting,
    add_objects_option,
    add_project_options,
    database_setting,
    modules_origin,
    objects_origin,
    objects_setting,
    reader_url,
    tenant_origins,
    tenant_setting,
)
from wonder.cli.subcommands import add_json_option
from wonder.operations.declaring import NoInput
from wonder.operations.diagnosis import Diagnosis, ToolState, diagnose, without_password


def configure(parser: ArgumentParser) -> None:
    """Take the database."""
    add_json_option(parser)
    add_project_options(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Run all checks, and report all problems together."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    database = database_setting(given.db)
    try:
        async with open_app(
            database.value, create=False, objects=objects_setting(given.objects), **tenant_setting(given)
        ) as app:
            found = await diagnose(app, NoInput())
    except DatabaseUnreachable as error:
        if not given.json:
            print_table(*_settings_table(_settings(error.database, database, given)))
            print()
        raise
    settings = _settings(found.address, database, given)
    if given.json:
        print_json(_as_json(settings, found))
    else:
        _show(settings, found)
    return 0 if found.is_well else 1


def _settings(address: str, database: Setting, given: Namespace) -> dict[str, Setting]:
    """Give the settings; the address is without the password that a setting may have."""
    settings = {
        "database_url": Setting(address, database.origin),
        **tenant_origins(given),
        "objects_url": objects_origin(given.objects),
        "modules": modules_origin(),
        **server_origins(),
    }
    if reader := reader_url():
        settings["reader_url"] = Setting(without_password(reader.value), reader.origin)
    return settings


def _settings_table(settings: dict[str, Setting]) -> tuple[list[str], list[list[str]]]:
    return ["SETTING", "VALUE", "ORIGIN"], [[name, one.value, one.origin] for name, one in settings.items()]


def _as_json(settings: dict[str, Setting], found: Diagnosis) -> dict[str, object]:
    """Give the operation's output, and with it the settings, which only this door has."""
    shown = [{"name": name, "value": one.value, "origin": one.origin} for name, one in settings.items()]
    return {"settings": shown, **msgspec.to_builtins(found)}


def _show(settings: dict[str, Setting], found: Diagnosis) -> None:
    print_table(*_settings_table(settings))
    print()
    for finding in (*found.database, *found.exposure):
        print(f"{color(finding.severity, finding.severity)} {finding.type}: {visible(finding.message)}")
    if not found.database:
        print(f"{color('good', '✓')} the database has no errors")
    for tool in found.tools:
        _print_tool(tool)
    same = sum(tool.state == "same" for tool in found.tools)
    if same:
        print(f"{color('good', '✓')} {count(same, 'tool')} unchanged since the check of workflows")
    for run_id in found.quarantined_runs:
        print(f"{color('warning', '!')} run {run_id} is quarantined; see `wonder runs show {run_id}`")
    waiting = awaited(found.engine)
    if found.engine.is_running:
        print(f"{color('good', '✓')} a process runs the engine")
    elif waiting:
        then = " and ".join(waiting)
        print(f"{color('warning', '!')} no process runs the engine now; {then} only when one does ({HOW})")


def _print_tool(tool: ToolState) -> None:
    if tool.state == "same":
        return
    what = f"the tool {tool.tool!r} of the MCP server {tool.server!r}"
    if tool.state == "unknown":
        print(f"{color('error', '✗')} {visible(f'{what} could not be checked: {tool.reason}')}")
        print(f"    used by {visible(', '.join(tool.used_by))}")
        return
    if tool.state == "unchecked":
        print(f"{color('warning', '!')} {visible(f'{what} was not checked: {tool.reason}')}")
        allow = f"wonder mcp allow {shlex.quote(tool.server)}"
        print(f"    used by {visible(', '.join(tool.used_by))}; approve it with: {visible(allow)}")
        return
    if not tool.breaks:
        print(
            f"{color('warning', '!')} {visible(what)} has changed; still compatible: {visible(', '.join(tool.used_by))}"
        )
        return
    print(f"{color('error', '✗')} {visible(what)} has changed in a way that breaks these workflows")
    for broken in tool.breaks:
        print(f"    {color('bold', visible(f'{broken.workflow}@{broken.version}'))}")
        for message in broken.messages:
            print(f"      {visible(message)}")
