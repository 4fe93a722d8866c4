"""Run a workflow and wait for its result.

Given a file, the file is checked, stored, and its workflow is run. Python functions are imported from the folder of the
file and from the working directory. Given the name of a stored workflow, or of one in a library, that workflow is run;
it can call only the functions of the modules that --module or wonder.toml names.
A command of an MCP server is started only after you have approved it, with --allow-mcp or at a prompt.
What functions print goes to standard error.

  wonder run orders.yaml --input '{"order": 7}'
  wonder run orders --input @order.json --key order-7
  wonder run orders@2
  wonder run common/orders

Exit status: 0 completed, 1 failed or cancelled, 2 rejected, 3 waits for a person or an outside event. With --wait the
command stays until the run has ended, and goes on with it once the answer or the event has come.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, cast

from wonder.app.application import Application
from wonder.app.callers import local_caller
from wonder.app.given_files import FileTooLarge, is_there, read_given_file
from wonder.app.opening import DatabaseUnreachable
from wonder.app.results import Run
from wonder.cli.approving import Servers, add_allow_mcp_option, approve_commands, unapproved, unapproved_in
from wonder.cli.files import NothingToRun, read_definition_file
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import print_faults, print_json, visible_lines
from wonder.cli.own_output import functions_print_to_stderr, say
from wonder.cli.report import follow_run, print_kept
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import (
    add_modules_option,
    add_objects_option,
    add_project_options,
    database_setting,
    goes_to_server,
    modules_setting,
    objects_setting,
    tenant_setting,
)
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_wait_option
from wonder.cli.validate import errors_of, summary
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import Loaded
from wonder.definitions.records.workflows import Startable
from wonder.definitions.references import parse_reference, split_version
from wonder.errors import WonderError
from wonder.language.values import BadValue, JsonValue, parse_json
from wonder.operations.auditing import note_of_start
from wonder.operations.definition_files import DefinitionFile
from wonder.operations.definitions import deploy_loaded
from wonder.operations.following import Follow, run_progress
from wonder.operations.run_orders import Start, start_run

_ELSEWHERE = (
    "another process runs the engine of this database: this run goes on there if that is a server or was started from "
    "the same folders with the same modules, else here as soon as that process has ended"
)
_PINNED = (
    "{name} is pinned to version {pinned}, which all other starts run; this run has version {version}, the file's; "
    "`wonder workflows unpin {name}` lets others have the newest"
)
_ENDINGS = (".yaml", ".yml", ".json")


def configure(parser: ArgumentParser) -> None:
    """Take the file and its input."""
    what = "a definition file in YAML or JSON, - for standard input, or a stored workflow, [LIBRARY/]NAME[@VERSION]"
    parser.add_argument("file", metavar="FILE", help=what)
    parser.add_argument("--input", metavar="JSON", default="{}", help="the input as JSON, or @FILE (default: {})")
    parser.add_argument("--key", metavar="KEY", help="an idempotency key: a second start with it returns the first run")
    add_wait_option(parser)
    parser.add_argument("--json", action="store_true", help="print run_id, status, output and error as JSON")
    add_allow_mcp_option(parser)
    add_project_options(parser)
    add_objects_option(parser)
    add_modules_option(parser)


def run(given: Namespace) -> int:
    """Run the file's workflow, or one that is stored."""
    if _may_be_name(given.file):
        try:
            run_input = read_input(given.input)
            if goes_to_server(given):
                return _run_on_server(given, run_input, None)
            workflow, version, servers = asyncio.run(_find_stored(given))
            approve_commands(given, servers)
            with functions_print_to_stderr():
                return run_until_stopped(_run_stored(given, workflow, run_input, version))
        except WonderError as error:
            return _refuse(given, None, error)
    file = read_definition_file(given.file)
    if file.loaded is None:
        return _refuse(given, file, DefinitionRefused(file.faults))
    try:
        run_input = read_input(given.input)
        if goes_to_server(given):
            return _run_on_server(given, run_input, file)
        folder = Path(given.file).resolve().parent if given.file != "-" else Path.cwd()
        approve_commands(given, _servers(given, file.loaded))
        with functions_print_to_stderr():
            return run_until_stopped(_run(given, file.loaded, file.lines, file.name, run_input, folder))
    except WonderError as error:
        return _refuse(given, file, error)


def _run_on_server(given: Namespace, run_input: JsonValue, file: DefinitionFile | None) -> int:
    from wonder.cli.on_server import run_on_server  # only with a server

    return run_until_stopped(run_on_server(given, run_input, file))


async def _run(
    given: Namespace, loaded: Loaded, lines: list[str], name: str, run_input: JsonValue, folder: Path
) -> int:
    # Only its own runs: the functions of others may be in folders that this command knows nothing of.
    url = database_setting(given.db).value
    objects = objects_setting(given.objects)
    async with open_wonder(
        url,
        modules=modules_setting(given.module),
        module_folders=[Path.cwd()],
        import_roots=[folder, Path.cwd()],
        runs="own",
        objects=objects,
        caller=local_caller(),
        **tenant_setting(given),
    ) as wonder:
        deployed, warnings = await deploy_loaded(wonder, loaded, name, given.allow_mcp)
        if deployed.main is None:
            raise NothingToRun(name)
        if not given.json:
            print_faults(warnings, lines)
        workflow, version = deployed.bindings[deployed.main.name], deployed.main.version
        if workflow.pinned_version in (None, version):
            return await _start(given, wonder, workflow, run_input)
        # Whoever gives a file wants that to be run, and not what others were pinned to.
        if not given.json:
            print(_PINNED.format(name=workflow.name, version=version, pinned=workflow.pinned_version), file=sys.stderr)
        return await _start(given, wonder, workflow, run_input, version)


def _servers(given: Namespace, loaded: Loaded) -> Servers:
    """Give the MCP servers that have to be approved before the file may run; most files have none."""
    names_one = any(reference.kind == "mcp_server" for reference in loaded.references)
    if not (loaded.reading.bundle.mcp_servers or loaded.phases or names_one or given.allow_mcp):
        return {}
    # Imported here, because it takes long to load.
    from wonder.app.mcp_approvals import readable, servers_in, servers_named_in

    in_file, named, allowed = servers_in(loaded), servers_named_in(loaded), readable(loaded, given.allow_mcp)
    if not (in_file or named or allowed):
        return {}
    return asyncio.run(unapproved(given, in_file, named, allowed))


async def _find_stored(given: Namespace) -> tuple[Startable, int | None, Servers]:
    """Find a workflow that is stored, and the MCP servers that have to be approved before it may run."""
    try:
        async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
            name, version = split_version(given.file)
            workflow = await app.find_startable(name)
            if workflow is not None:
                from wonder.app.mcp_approvals import servers_named_by  # takes long to load, as above

                named = await servers_named_by(app, workflow, version)
                servers = await unapproved_in(app, {}, named, given.allow_mcp) if named or given.allow_mcp else {}
                return workflow, version, servers
    except DatabaseUnreachable:
        pass
    raise NothingCalled(given.file)


async def _run_stored(given: Namespace, workflow: Startable, run_input: JsonValue, version: int | None) -> int:
    url, objects = database_setting(given.db).value, objects_setting(given.objects)
    # The workflow may be anybody's: no modules but those that were named, unlike a file that a person has before them.
    modules = modules_setting(given.module)
    async with open_wonder(
        url,
        modules=modules,
        module_folders=[Path.cwd()],
        runs="own",
        objects=objects,
        caller=local_caller(),
        **tenant_setting(given),
    ) as wonder:
        return await _start(given, wonder, workflow, run_input, version)


async def _start(
    given: Namespace, wonder: Application, workflow: Startable, run_input: JsonValue, version: int | None = None
) -> int:
    began_ms = SYSTEM_CLOCK.now_ms()
    note = note_of_start(wonder, start_run, Start(workflow=workflow.name, idempotency_key=given.key))
    starting = asyncio.ensure_future(wonder.start_noted(workflow, run_input, given.key, version, note))
    try:
        started = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Who interrupts just now hears of the run too, which may be stored already.
        print_kept((await starting).id)
        raise
    if wonder.engine is None and not given.json:
        print(_ELSEWHERE, file=sys.stderr)
    if given.key is not None and not given.json:
        await _tell_earlier(wonder, started, given.key, began_ms)
    return await follow_run(wonder, started.id, as_json=given.json, to_the_end=given.wait)


def _may_be_name(word: str) -> bool:
    """Say whether a word that names no file could be a workflow's name: a path, or a file's ending, is a slip."""
    if word == "-" or Path(word).suffix in _ENDINGS or is_there(word):
        return False
    reference = parse_reference("workflow", word, ())
    return "/" not in word or (reference is not None and reference.library not in (None, ".", "..", "~"))


async def _tell_earlier(wonder: Application, started: Run, key: str, began_ms: int) -> None:
    """Say so where a key has led to a run of before, whose definition may have been another."""
    run = (await run_progress(wonder, Follow(run_id=started.id, nodes=False))).run
    if run.created_ms < began_ms:
        at, version = shown_time(run.created_ms), run.workflow_version
        say(f"this is the run that the key {key!r} started at {at}, with version {version}; nothing new was started")


def read_input(text: str) -> JsonValue:
    """Read JSON, or @FILE with JSON in it; raises BadValue."""
    what, given = "--input", cast("str | bytes", text)
    if text.startswith("@"):
        what = f"the input file {text[1:]}"
        try:
            given = read_given_file(text[1:])
        except OSError as error:
            raise BadValue(f"{what} can't be read: {error.strerror or error}") from None
        except FileTooLarge as error:
            raise BadValue(f"the input file {error}; let a node read the content with read_file") from None
    try:
        return parse_json(given)
    except BadValue as error:
        hint = "" if text.startswith("@") else '; write it as \'{"name": "value"}\', or @FILE'
        raise BadValue(f"{what}: {error}{hint}") from None


def _refuse(given: Namespace, file: DefinitionFile | None, error: WonderError) -> int:
    faults = list(error.faults) if isinstance(error, DefinitionRefused) else []
    if given.json:
        shown: dict[str, Any] = {"code": error.code, "message": str(error)}
        if file and faults:
            file.faults = faults
            shown["errors"] = errors_of(file)
        print_json({"run_id": None, "status": None, "output": None, "error": shown})
    elif file and faults:
        print_faults(faults, file.lines)
        say(f"{summary(file.name, faults)}; nothing was stored")
    else:
        print(f"wonder: {visible_lines(str(error))}", file=sys.stderr)
        if error.code == "INPUT_REFUSED":
            print("no run was started; give the input with --input JSON, or --input @FILE", file=sys.stderr)
    return 2


class NothingCalled(WonderError):
    """A word is neither a file nor the name of a workflow that is stored."""

    code = "NOT_FOUND"

    def __init__(self, name: str) -> None:
        library = name.partition("/")[0] if "/" in name else None
        listed = f"`wonder libraries show {library}`" if library else "`wonder workflows list`"
        super().__init__(
            f"there is no file {name!r}, and no workflow of this name is stored; check the path, or look at {listed}"
        )
        self.name = name
