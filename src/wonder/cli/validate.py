"""Check definition files and report all errors, each with its position and a fix. Nothing is stored.

Names that a file does not define are looked up in the database, if there is one. A workflow in the phase form is
checked against the schemas of its tools. If they are not known yet, its MCP server is started and asked for them,
provided that you have approved the server (see --allow-mcp); otherwise a warning says which tool was not checked.
Calls of Python functions are checked with the source of their modules in the folder of the file and in the working
directory, which is not imported.
With --json, a single invalid file in the phase form gives {"error", "errors"} as that form defines them.

  wonder validate orders.yaml

Exit status: 0 if all files are valid (there may be warnings), 2 if not.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wonder.app.functions import known_functions
from wonder.cli.approving import add_allow_mcp_option
from wonder.cli.files import read_definition_file
from wonder.cli.output import color, count, print_faults, print_json, print_output, visible
from wonder.cli.settings import add_project_options, database_setting, goes_to_server, tenant_setting
from wonder.cli.subcommands import add_json_option
from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import Fault, has_errors
from wonder.definitions.loading import Loaded
from wonder.operations.definition_files import DefinitionFile
from wonder.operations.definitions import allowed_for, check_loaded, validation_of

if TYPE_CHECKING:
    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.app.application import Application


def configure(parser: ArgumentParser) -> None:
    """Take the files."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a definition file in YAML or JSON; - for standard input"
    )
    add_json_option(parser)
    add_allow_mcp_option(parser)
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Check all files, also behind one that is wrong."""
    files = [read_definition_file(name, own_functions=True) for name in given.files]
    if goes_to_server(given):
        from wonder.cli.on_server import validate_on_server  # only with a server

        asyncio.run(validate_on_server(given, files))
    else:
        _check(given, files)
    valid = not any(has_errors(file.faults) for file in files)
    if given.json and len(files) == 1 and files[0].is_phase_form and not valid:
        from wonder.app.phase_faults import REFUSED  # when needed, as below

        print_json({"error": REFUSED, "errors": errors_of(files[0])})
    elif given.json:
        print_output(validation_of(files))
    else:
        for file in files:
            print_faults(file.faults, file.lines)
            print(summary(file.name, file.faults))
    return 0 if valid else 2


def _check(given: Namespace, files: list[DefinitionFile]) -> None:
    loaded = [file.loaded for file in files if file.loaded]
    for file in files:
        if file.loaded:
            allow_mcp = allowed_for(file.loaded, loaded, given.allow_mcp)
            file.faults = asyncio.run(_faults(given, file.loaded, allow_mcp, file.functions))


def summary(name: str, faults: list[Fault]) -> str:
    """Say in one line how a file fared."""
    errors = sum(fault.severity == "error" for fault in faults)
    warnings = len(faults) - errors
    found = ", ".join(count(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number)
    if errors:
        return f"{color('error', '✗')} {visible(name)}: {found}"
    return f"{color('good', '✓')} {visible(name)}: valid" + (f", {found}" if found else "")


def errors_of(file: DefinitionFile) -> list[dict[str, Any]]:
    """Give the errors of a file that was refused, as --json has them: in the phase form as that defines them."""
    if not file.is_phase_form:
        return [fault.as_json() for fault in file.faults if fault.severity == "error"]
    from wonder.app.phase_faults import refusal  # when needed, as below

    errors: list[dict[str, Any]] = refusal(file.faults)["errors"]
    return errors


async def _faults(
    given: Namespace, loaded: Loaded, allow_mcp: list[str], functions: "FunctionRegistry | None"
) -> list[Fault]:
    """Compile and check a file; what it names but does not hold is looked up, and without any no database is opened."""
    if not loaded.references and not loaded.needs_compiling and not allow_mcp:
        known = await known_functions(functions, loaded, None)
        # A module that seems wrong may be one that runs write, which the project's settings tell.
        if not any(one.refusal for one in known.values()):
            return loaded.check(Catalog(functions=known))
    async with _open(given, needed=bool(loaded.references)) as app:
        return await check_loaded(app, loaded, allow_mcp, functions)


@asynccontextmanager
async def _open(given: Namespace, *, needed: bool) -> AsyncIterator["Application"]:
    """Open the database; where there is none and no name is to be looked up in it, one that nothing is left of."""
    # Imported when needed: most files hold all that they name, and a database driver takes time to load.
    from wonder.app.opening import DatabaseUnreachable, open_app

    setting, tenant = database_setting(given.db), tenant_setting(given)
    async with AsyncExitStack() as stack:
        try:
            app = await stack.enter_async_context(open_app(setting.value, create=False, **tenant))
        except DatabaseUnreachable:
            if needed and setting.origin != "default":
                raise
            folder = stack.enter_context(TemporaryDirectory(prefix="wonder-"))
            app = await stack.enter_async_context(open_app(f"sqlite:///{folder}/empty.db", fleeting=True))
        yield app
