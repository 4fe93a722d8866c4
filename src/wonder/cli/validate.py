"""Check definition files and say everything that is wrong with them, all at once.

Names that are not in a file are looked up in the database, if there is one; nothing is stored.
Exit status 0 if all files can be stored (warnings are allowed), 2 if not.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from typing import Any

from wonder.cli.files import DefinitionFile, read_definition_file
from wonder.cli.output import color, count, print_faults, print_json, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import Fault, has_errors
from wonder.definitions.loading import Loaded


def configure(parser: ArgumentParser) -> None:
    """Take the files."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a definition in YAML or JSON; - for standard input")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Check all files, also behind one that is wrong."""
    files = [read_definition_file(name) for name in given.files]
    for file in files:
        if file.loaded:
            file.faults = file.loaded.check(asyncio.run(_catalog(file.loaded, given.db)))
    valid = not any(has_errors(file.faults) for file in files)
    if given.json:
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


async def _catalog(loaded: Loaded, database: str | None) -> Catalog:
    """Look up what the file names but does not hold; without any such name no database is opened."""
    if not loaded.references:
        return Catalog()
    # Imported when needed: most files hold all that they name, and a database driver takes time to load.
    from wonder.app import open_app
    from wonder.storage.errors import DatabaseUnreachable

    setting = database_setting(database)
    try:
        async with open_app(setting.value, create=False) as app:
            return await app.catalog(loaded)
    except DatabaseUnreachable:
        if setting.origin == "default":
            return Catalog()  # nothing was ever stored here
        raise


def _as_json(file: DefinitionFile) -> dict[str, Any]:
    return {
        "file": file.name,
        "valid": not has_errors(file.faults),
        "errors": [fault.as_json() for fault in file.faults if fault.severity == "error"],
        "warnings": [fault.as_json() for fault in file.faults if fault.severity == "warning"],
    }
