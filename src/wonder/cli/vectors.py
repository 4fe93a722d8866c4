"""List, show and fill the vector indexes of the project.

`vector_search` finds the artifacts that an index contains. A process that runs the engine adds new artifacts to each
index, unless the index has `auto_index: false`; `index` adds them to such an index.

  wonder vectors index notes
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app.callers import local_caller
from wonder.cli.opening import open_wonder
from wonder.cli.output import color, print_output, visible
from wonder.cli.settings import (
    add_objects_option,
    add_project_options,
    database_setting,
    objects_setting,
    tenant_setting,
)
from wonder.cli.stored import StoredCommands
from wonder.cli.subcommands import add_command, add_json_option
from wonder.operations.stored import VECTORS
from wonder.operations.vector_indexes import FillIndex, fill_index

_STORED = StoredCommands(VECTORS)


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | show | index | archive | restore")
    _STORED.add_to(commands)
    fill = add_command(
        commands,
        "index",
        "embed the artifacts that an index does not contain yet",
        "Only new and changed artifacts are embedded. If another process runs the engine, that process does it in the\n"
        "background.",
    )
    fill.add_argument("name", metavar="NAME", help="the name or id of the index")
    add_objects_option(fill)
    add_json_option(fill)
    add_project_options(fill)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_fill(given)) if given.command == "index" else _STORED.run(given)


async def _fill(given: Namespace) -> int:
    url, objects = database_setting(given.db).value, objects_setting(given.objects)
    tenant, caller = tenant_setting(given), local_caller()
    async with open_wonder(url, runs="none", objects=objects, caller=caller, **tenant) as wonder:
        filled = await fill_index(wonder, FillIndex(name=given.name))
    if given.json:
        print_output(filled)
    elif filled.done:
        print(f"{color('good', '✓')} {visible(filled.name)}: all artifacts of its types are embedded")
    else:
        print(f"{color('good', '✓')} {visible(filled.name)}: the process that runs the engine has begun to fill it")
    return 0
