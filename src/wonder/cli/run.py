"""Check a definition file, store it, and run it to its end; or run a workflow that is stored.

The input is JSON, or @FILE with JSON in it. Python functions are found in the file's folder and the working directory;
MCP servers that the file names are started. Where there is no such file, the workflow of the project that has this name
is started as it is stored.
Exit status 0 completed, 1 failed or cancelled, 2 not accepted, 3 only a person or an outside event can move it on.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, cast

from wonder.app import open_app
from wonder.app.api import Run, Wonder
from wonder.app.opening import open_wonder
from wonder.cli.files import read_definition_file
from wonder.cli.output import print_faults, print_json
from wonder.cli.report import follow_run
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.cli.validate import summary
from wonder.coordinator.errors import InputRefused
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import Loaded
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError
from wonder.language.values import BadValue, JsonValue, parse_json
from wonder.storage.errors import DatabaseUnreachable
from wonder.storage.named_resources import find_resource
from wonder.storage.runs.headers import load_header

_ELSEWHERE = (
    "another process runs the engine of this database: this run goes on there if that is a server or was started from "
    "the same folders, else here as soon as that process has ended"
)
_ENDINGS = (".yaml", ".yml", ".json")


def configure(parser: ArgumentParser) -> None:
    """Take the file and its input."""
    what = "a definition in YAML or JSON; - for standard input; or the name of a workflow that is stored"
    parser.add_argument("file", metavar="FILE", help=what)
    parser.add_argument("--input", metavar="JSON", default="{}", help="JSON, or @FILE (default: {})")
    parser.add_argument("--key", metavar="KEY", help="an idempotency key: the same key and input start no second run")
    parser.add_argument("--json", action="store_true", help="print only run_id, status, output and error")
    add_database_option(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Run the file's workflow, or one that is stored."""
    if _may_be_name(given.file):
        try:
            return asyncio.run(_run_stored(given))
        except WonderError as error:
            return _refuse(given, [], given.file, error)
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
        return await _start(given, wonder, await wonder.workflow(deployed.main.name), run_input)


async def _run_stored(given: Namespace) -> int:
    url, run_input = database_setting(given.db).value, read_input(given.input)
    try:
        async with open_app(url, create=False) as app:
            workflow = await find_resource(app.store, Workflow, app.home.project_id, given.file)
    except DatabaseUnreachable:
        workflow = None
    if workflow is None:
        raise NothingCalled(given.file)
    objects = objects_setting(given.objects)
    async with open_wonder(url, import_roots=[Path.cwd()], runs="own", objects=objects) as wonder:
        return await _start(given, wonder, workflow, run_input)


async def _start(given: Namespace, wonder: Wonder, workflow: Workflow, run_input: JsonValue) -> int:
    began_ms = time.time_ns() // 1_000_000
    started = await wonder.start(workflow, run_input, idempotency_key=given.key)
    if wonder.engine is None and not given.json:
        print(_ELSEWHERE, file=sys.stderr)
    if given.key is not None and not given.json:
        await _tell_earlier(wonder, started, given.key, began_ms)
    return await follow_run(wonder, started, as_json=given.json)


def _may_be_name(word: str) -> bool:
    """Say whether a word that names no file could be a workflow's name: a path, or a file's ending, is a slip."""
    return word != "-" and "/" not in word and Path(word).suffix not in _ENDINGS and not Path(word).exists()


async def _tell_earlier(wonder: Wonder, started: Run, key: str, began_ms: int) -> None:
    """Say so where a key has led to a run of before, whose definition may have been another."""
    header = await load_header(wonder.app.store, started.id)
    if header.created_ms < began_ms:
        at, version = shown_time(header.created_ms), header.workflow_version
        print(f"this is the run that the key {key!r} started at {at}, with version {version}; nothing new was started")


def read_input(text: str) -> JsonValue:
    """Read JSON, or @FILE with JSON in it; raises BadValue."""
    what, given = "--input", cast("str | bytes", text)
    if text.startswith("@"):
        what = f"the input file {text[1:]}"
        try:
            given = Path(text[1:]).read_bytes()
        except OSError as error:
            raise BadValue(f"{what} can't be read: {error.strerror or error}") from None
    try:
        return parse_json(given)
    except BadValue as error:
        hint = "" if text.startswith("@") else '; write it as \'{"name": "value"}\', or @FILE'
        raise BadValue(f"{what}: {error}{hint}") from None


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
        if isinstance(error, InputRefused):
            print("no run was started; give the input with --input JSON, or --input @FILE", file=sys.stderr)
    return 2


class NothingCalled(WonderError):
    """A word is neither a file nor the name of a workflow that is stored."""

    code = "NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no file {name!r}, and no workflow of this name is stored; check the path, or look at "
            "`wonder workflows list`"
        )
        self.name = name


class NothingToRun(WonderError):
    """A file has no workflow that could be run."""

    code = "NOTHING_TO_RUN"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no 'workflow' that could be run; it was stored")
