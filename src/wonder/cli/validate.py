"""Check definition files and say everything that is wrong with them, all at once.

Names that are not in a file are looked up in the database, if there is one; no definition is stored. A workflow in the
phase form is checked with the schemas of its tools: those of the project's own MCP servers are asked for, and those
that are new with the file only with --start-servers, because that runs their commands. With --json a single file in the
phase form that is refused gives {"error", "errors"} in that form's own shape.
Exit status 0 if all files can be stored (warnings are allowed), 2 if not.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wonder.cli.files import DefinitionFile, read_definition_file
from wonder.cli.output import color, count, print_faults, print_json, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import Fault, has_errors
from wonder.definitions.loading import Loaded

if TYPE_CHECKING:
    from wonder.app import App


def configure(parser: ArgumentParser) -> None:
    """Take the files."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition in YAML or JSON; - for standard input")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_start_servers_option(parser)
    add_database_option(parser)


def add_start_servers_option(parser: ArgumentParser) -> None:
    """Let a person allow that MCP servers are started which are new with a file."""
    parser.add_argument(
        "--start-servers",
        action="store_true",
        help="start MCP servers that are new with a file in the phase form, to ask them for their tools",
    )


def run(given: Namespace) -> int:
    """Check all files, also behind one that is wrong."""
    files = [read_definition_file(name) for name in given.files]
    for file in files:
        if file.loaded:
            file.faults = asyncio.run(_faults(file.loaded, given.db, start_servers=given.start_servers))
    valid = not any(has_errors(file.faults) for file in files)
    if given.json and len(files) == 1 and files[0].is_phase_form and not valid:
        print_json(_refusal(files[0]))
    elif given.json:
        print_json({"valid": valid, "files": [_as_json(file) for file in files]})
    else:
        for file in files:
            print_faults(file.faults, file.lines)
            print(summary(file.name, file.faults))
    return 0 if valid else 2


def summary(name: str, faults: list[Fault]) -> str:
    """Say in one line how a file fared."""
    errors = sum(fault.severity == "error" for fault in faults)
    warnings = len(faults) - errors
    found = ", ".join(count(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number)
    if errors:
        return f"{color('error', '✗')} {visible(name)}: {found}"
    return f"{color('good', '✓')} {visible(name)}: valid" + (f", {found}" if found else "")


async def _faults(loaded: Loaded, database: str | None, *, start_servers: bool) -> list[Fault]:
    """Compile and check a file; what it names but does not hold is looked up, and without any no database is opened."""
    if not loaded.references and not loaded.needs_compiling:
        return loaded.check(Catalog())
    async with _open(database, needed=bool(loaded.references)) as app:
        loaded = await app.compile(loaded, start_servers=start_servers)
        return loaded.check(await app.catalog(loaded))


@asynccontextmanager
async def _open(database: str | None, *, needed: bool) -> AsyncIterator["App"]:
    """Open the database; where there is none and no name is to be looked up in it, one that nothing is left of."""
    # Imported when needed: most files hold all that they name, and a database driver takes time to load.
    from wonder.app import open_app
    from wonder.storage.errors import DatabaseUnreachable

    setting = database_setting(database)
    async with AsyncExitStack() as stack:
        try:
            app = await stack.enter_async_context(open_app(setting.value, create=False))
        except DatabaseUnreachable:
            if needed and setting.origin != "default":
                raise
            folder = stack.enter_context(TemporaryDirectory(prefix="wonder-"))
            app = await stack.enter_async_context(open_app(f"sqlite:///{folder}/empty.db"))
        yield app


def _refusal(file: DefinitionFile) -> dict[str, Any]:
    from wonder.app.phase_faults import refusal  # when needed, as above

    return refusal(file.faults)


def _as_json(file: DefinitionFile) -> dict[str, Any]:
    return {
        "file": file.name,
        "valid": not has_errors(file.faults),
        "errors": [fault.as_json() for fault in file.faults if fault.severity == "error"],
        "warnings": [fault.as_json() for fault in file.faults if fault.severity == "warning"],
    }
