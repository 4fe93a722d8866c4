"""Check definition files and store them as new versions.

A file is stored only if it has no errors. Definitions that have not changed get no new version, so deploying twice is
harmless. A workflow in the phase form is checked against the schemas of its tools. If they are not known yet, its MCP
server is started and asked for them, provided that you have approved the server (see --allow-mcp); otherwise a warning
says which tool was not checked.
Calls of Python functions are checked with the source of their modules in the folder of the file and in the working
directory, which is not imported.

  wonder deploy orders.yaml

Exit status: 0 if all files were stored, 2 if one or more were rejected.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.cli.approving import add_allow_mcp_option
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.files import read_definition_file
from wonder.cli.opening import open_app
from wonder.cli.output import color, count, print_faults, print_output, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.subcommands import add_json_option
from wonder.cli.validate import summary
from wonder.operations.definition_files import DefinitionFile
from wonder.operations.definitions import DeployedFile, deploy_files


def configure(parser: ArgumentParser) -> None:
    """Take the files."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a definition file in YAML or JSON; - for standard input"
    )
    add_json_option(parser)
    parser.add_argument(
        "--public",
        action="store_true",
        help="store the libraries of the files as public ones; the files must not contain anything else",
    )
    add_allow_mcp_option(parser)
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Store all valid files, in the order given: a file can refer to definitions of the files before it."""
    files = [read_definition_file(name, own_functions=True) for name in given.files]
    return asyncio.run(_run(given, files))


async def _run(given: Namespace, files: list[DefinitionFile]) -> int:
    async with open_app(database_setting(given.db).value, **tenant_setting(given)) as app:
        if app.remote is not None:
            from wonder.cli.on_server import deploy_on_server  # only with a server

            deployment = await deploy_on_server(app, given, files)
        else:
            deployment = await deploy_files(app, files, given.allow_mcp, public=given.public)
        if given.json:
            print_output(deployment)
        else:
            for file, deployed in zip(files, deployment.files, strict=True):
                print_faults(file.faults, file.lines)
                _print_result(file, deployed)
            if any(deployed.schedules for deployed in deployment.files):
                await print_if_nobody_runs(app, "schedules start runs")
    return 0 if all(deployed.stored for deployed in deployment.files) else 2


def _print_result(file: DefinitionFile, deployed: DeployedFile) -> None:
    if not deployed.stored:
        print(f"{summary(file.name, file.faults)}; nothing was stored")
        return
    definitions, schedules = deployed.definitions or [], deployed.schedules or []
    workflows = [one for one in definitions if one.kind == "workflow"]
    others = [one for one in definitions if one.kind != "workflow"]
    for one in workflows:
        news = "new" if one.version == 1 else f"version {one.version}, new"
        state = color("good", news) if one.new else f"version {one.version}, unchanged"
        print(f"{color('good', '✓')} {visible(file.name)}: workflow {color('bold', one.name)} ({state})")
    fresh = sum(one.new for one in others)
    parts = f"{count(fresh, 'new version')}, {len(others) - fresh} unchanged"
    if workflows and others:
        print(f"  its parts: {parts}")
    elif not workflows and not schedules:
        print(f"{color('good', '✓')} {visible(file.name)}: " + (parts if others else "stored"))
    for schedule in schedules:
        state = color("good", "new or changed") if schedule.changed else "unchanged"
        print(f"{color('good', '✓')} {visible(file.name)}: schedule {color('bold', schedule.name)} ({state})")
