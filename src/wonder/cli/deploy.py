"""Check definition files and store them.

Each file is stored as a whole or not at all. What has not changed since its newest version gets no new one, so
deploying twice is harmless. A workflow in the phase form is checked with the schemas of its tools: those of the
project's own MCP servers are asked for, and those that are new with the file only with --start-servers, because that
runs their commands. Exit status 0 if all were stored, 2 if any was refused.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from typing import Any

from wonder.app import App, open_app
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.files import DefinitionFile, read_definition_file
from wonder.cli.output import color, count, print_faults, print_json, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.cli.validate import add_start_servers_option, summary
from wonder.definitions.faults import DefinitionRefused
from wonder.storage.deploying import Deployed


def configure(parser: ArgumentParser) -> None:
    """Take the files."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition in YAML or JSON; - for standard input")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_start_servers_option(parser)
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Store all files that can be, in the order given: a later one may name what an earlier one holds."""
    files = [read_definition_file(name) for name in given.files]
    return asyncio.run(_run(given, files))


async def _run(given: Namespace, files: list[DefinitionFile]) -> int:
    async with open_app(database_setting(given.db).value) as app:
        results = [(file, await _deploy_one(app, file, given.start_servers)) for file in files]
        if given.json:
            print_json({"files": [_as_json(file, deployed) for file, deployed in results]})
        else:
            for file, deployed in results:
                print_faults(file.faults, file.lines)
                _print_result(file, deployed)
            if any(deployed and deployed.schedules for _, deployed in results):
                await print_if_nobody_runs(app.store, "schedules start runs")
    return 0 if all(deployed for _, deployed in results) else 2


async def _deploy_one(app: App, file: DefinitionFile, start_servers: bool) -> Deployed | None:
    if file.loaded is None:
        return None
    try:
        deployed, file.faults = await app.deploy(file.loaded, start_servers=start_servers)
    except DefinitionRefused as refusal:
        file.faults = list(refusal.faults)
        return None
    return deployed


def _print_result(file: DefinitionFile, deployed: Deployed | None) -> None:
    if deployed is None:
        print(f"{summary(file.name, file.faults)}; nothing of it was stored")
        return
    for stored in deployed.workflows:
        news = "new" if stored.version == 1 else f"version {stored.version}, new"
        state = color("good", news) if stored.is_new else f"version {stored.version}, unchanged"
        print(f"{color('good', '✓')} {visible(file.name)}: workflow {color('bold', stored.name)} ({state})")
    fresh = [stored for _, stored in deployed.others if stored.is_new]
    kept = len(deployed.others) - len(fresh)
    parts = f"{count(len(fresh), 'new version')}, {kept} unchanged"
    if deployed.workflows and deployed.others:
        print(f"  its parts: {parts}")
    elif not deployed.workflows and not deployed.schedules:
        print(f"{color('good', '✓')} {visible(file.name)}: " + (parts if deployed.others else "stored"))
    for name, is_changed in deployed.schedules:
        state = color("good", "new or changed") if is_changed else "unchanged"
        print(f"{color('good', '✓')} {visible(file.name)}: schedule {color('bold', name)} ({state})")


def _as_json(file: DefinitionFile, deployed: Deployed | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "file": file.name,
        "stored": deployed is not None,
        "errors": [fault.as_json() for fault in file.faults if fault.severity == "error"],
        "warnings": [fault.as_json() for fault in file.faults if fault.severity == "warning"],
    }
    if deployed:
        shown["definitions"] = [
            {"kind": kind, "name": stored.name, "id": stored.id, "version": stored.version, "new": stored.is_new}
            for kind, stored in [*deployed.others, *(("workflow", workflow) for workflow in deployed.workflows)]
        ]
        if deployed.schedules:
            shown["schedules"] = [{"name": name, "changed": is_changed} for name, is_changed in deployed.schedules]
    return shown
