"""Check a definition file, store it, and run it to its end.

The input is JSON, or @FILE with JSON in it. Python functions are found in the file's folder and the working directory;
MCP servers that the file names are started.
Exit status 0 completed, 1 failed or cancelled, 2 not accepted, 3 only a person or an outside event can move it on.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from wonder.app.api import Run, Wonder, open_wonder
from wonder.cli.files import read_definition_file
from wonder.cli.live_view import watch
from wonder.cli.output import print_faults, print_json
from wonder.cli.report import report_run
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.cli.validate import summary
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import Loaded
from wonder.errors import WonderError
from wonder.language.values import BadValue, JsonValue, parse_json
from wonder.storage.runs.headers import load_header

_ELSEWHERE = (
    "another process runs the engine of this database: this run goes on there if that is a server or was started from "
    "the same folders, else here as soon as that process has ended"
)


def configure(parser: ArgumentParser) -> None:
    """Take the file and its input."""
    parser.add_argument("file", metavar="FILE", help="a definition in YAML or JSON; - for standard input")
    parser.add_argument("--input", metavar="JSON", default="{}", help="JSON, or @FILE (default: {})")
    parser.add_argument("--key", metavar="KEY", help="an idempotency key: the same key and input start no second run")
    parser.add_argument("--json", action="store_true", help="print only run_id, status, output and error")
    add_database_option(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Run the file's workflow."""
    file = read_definition_file(given.file)
    if file.loaded is None:
        return _refuse(given, file.lines, file.name, DefinitionRefused(file.faults))
    try:
        run_input = read_input(given.input)
        folder = Path(given.file).resolve().parent if given.file != "-" else Path.cwd()
        return asyncio.run(_run(given, file.loaded, file.lines, file.name, run_input, folder))
    except WonderError as error:
        return _refuse(given, file.lines, file.name, error)


async def _run(
    given: Namespace, loaded: Loaded, lines: list[str], name: str, run_input: JsonValue, folder: Path
) -> int:
    # Only its own runs: the functions of others may be in folders that this command knows nothing of.
    url = database_setting(given.db).value
    objects = objects_setting(given.objects)
    async with open_wonder(url, import_roots=[folder, Path.cwd()], runs="own", objects=objects) as wonder:
        deployed, warnings = await wonder.deploy_loaded(loaded, start_servers=True)
        if deployed.main is None:
            raise NothingToRun(name)
        if not given.json:
            print_faults(warnings, lines)
        began_ms = time.time_ns() // 1_000_000
        started = await wonder.start(await wonder.workflow(deployed.main.name), run_input, idempotency_key=given.key)
        if wonder.engine is None and not given.json:
            print(_ELSEWHERE, file=sys.stderr)
        if given.key is not None and not given.json:
            await _tell_earlier(wonder, started, given.key, began_ms)
        header = await watch(wonder, started.id, quiet=given.json)
        return await report_run(wonder, started, header, as_json=given.json)


async def _tell_earlier(wonder: Wonder, started: Run, key: str, began_ms: int) -> None:
    """Say so where a key has led to a run of before, whose definition may have been another."""
    header = await load_header(wonder.app.store, started.id)
    if header.created_ms < began_ms:
        at, version = shown_time(header.created_ms), header.workflow_version
        print(f"this is the run that the key {key!r} started at {at}, with version {version}; nothing new was started")


def read_input(text: str) -> JsonValue:
    """Read JSON, or @FILE with JSON in it; raises BadValue."""
    if not text.startswith("@"):
        return parse_json(text)
    try:
        return parse_json(Path(text[1:]).read_bytes())
    except OSError as error:
        raise BadValue(f"the input file {text[1:]} can't be read: {error.strerror or error}") from None


def _refuse(given: Namespace, lines: list[str], name: str, error: WonderError) -> int:
    faults = list(error.faults) if isinstance(error, DefinitionRefused) else []
    if given.json:
        shown: dict[str, Any] = {"code": error.code, "message": str(error)}
        if faults:
            shown["errors"] = [fault.as_json() for fault in faults]
        print_json({"run_id": None, "status": None, "output": None, "error": shown})
    elif faults:
        print_faults(faults, lines)
        print(f"{summary(name, faults)}; nothing was stored")
    else:
        print(f"wonder: {error}", file=sys.stderr)
    return 2


class NothingToRun(WonderError):
    """A file has no workflow that could be run."""

    code = "NOTHING_TO_RUN"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no 'workflow' that could be run; it was stored")
