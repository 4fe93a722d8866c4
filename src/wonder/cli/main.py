"""The `wonder` program: finds the command, and imports only what that command needs."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

from wonder.errors import WonderError
from wonder.garbage import seldom_collected

# Start-up matters, so a command's module is imported when it is used, and help is printed from this table alone.
COMMANDS = {
    "run": "run a workflow: a definition file, which is checked and stored first, or a stored workflow",
    "validate": "check definition files and report all errors",
    "deploy": "check definition files and store them as new versions",
    "schema": "print the JSON Schema of definition files, for use in editors",
    "workflows": "list, show, compare, enable, pin, rename and archive stored workflows",
    "tasks": "list, show and archive stored tasks",
    "prompts": "list, show and archive stored prompts",
    "models": "list, show and archive the models of the project",
    "artifact-types": "list, show and archive stored artifact types",
    "vectors": "list, show, fill and archive the vector indexes of the project",
    "runs": "list and show runs, their events and contexts; cancel, pause, resume, retry or fork them",
    "inbox": "list the questions that runs ask people",
    "answer": "answer a question from the inbox",
    "events": "send an event to the runs that wait for it",
    "schedules": "create, list, pause and delete schedules, which start workflows at planned times",
    "serve": "run the engine for all runs, schedules and triggers until it is stopped",
    "actions": "list and show the available kinds of action, with an example of each, and the stored actions",
    "secrets": "store, list and delete secrets (API keys, passwords), and rotate their encryption key",
    "keys": "create, list and revoke API keys, with which programs and people use a server",
    "audit": "list and export who has changed what, when, and how it ended",
    "libraries": "create and list libraries of shared definitions, and show what they contain",
    "projects": "create, list, rename, archive and restore the projects of a workspace",
    "workspaces": "create, list, rename, archive and restore workspaces",
    "project": "show and change the settings of the project: budget, limits, defaults",
    "workspace": "show and change the settings that apply to all projects of the workspace",
    "mcp": "list and approve MCP servers, and show their tools",
    "logs": "show what actions, their programs and Wonder itself have logged",
    "costs": "show what calls of models have cost, by model, profile, node or day",
    "metrics": "show the metrics that workflows have emitted, with plots",
    "artifacts": "list and show the artifacts that runs have stored, and get their content",
    "query": "run a read-only SQL query over runs, events and contexts",
    "db": "migrate, check, repair, shrink or copy the database",
    "backup": "make a verified backup of the database and of artifacts, while runs continue",
    "restore": "restore a backup into a new database, or verify a backup",
    "doctor": "show the settings, and check the database and the tools that workflows use",
}

# They work on files and processes of this machine, with or without a server.
_LOCAL = frozenset({"backup", "db", "doctor", "query", "restore", "serve"})
_SERVER = "WONDER_SERVER"

_EPILOG = """\
exit status:
  0  success
  1  the run failed or was cancelled, or a check found a problem
  2  the definition or the command line has an error; nothing was done
  3  the run has not ended: it waits for a person or an outside event

Runs continue only while a process runs the engine. `wonder run` runs it until its own run has ended;
`wonder serve --no-http` runs it for all runs, schedules and triggers until it is stopped.
Data is stored in .wonder/ in the working directory, unless --db, WONDER_DATABASE_URL or `database_url` in wonder.toml
names another database (sqlite:///path/to/file.db or postgresql://user@host/name).
Commands use the project `default` of the workspace `default`, unless --project and --workspace, WONDER_PROJECT and
WONDER_WORKSPACE, or `project` and `workspace` in wonder.toml name others.
`wonder --server URL COMMAND`, WONDER_SERVER, or `server` in wonder.toml sends commands to a server (`wonder serve`).
Its API key is in WONDER_API_KEY, or in the file that WONDER_API_KEY_FILE names.
`wonder COMMAND --help` describes a command."""


def main(arguments: Sequence[str] | None = None, *, is_program: bool = False) -> int:
    """Run the command line and return its exit status; as a program of its own it also sets what is logged."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] == "--server":
        return _on_server(words[1:], is_program)
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0 if words else 2
    if words[0] == "--version":
        from importlib.metadata import version  # takes as long to import as all the rest
        from importlib.util import find_spec

        engine = find_spec("wonder.engine.decide")
        is_compiled = engine is not None and not str(engine.origin).endswith(".py")
        print(f"wonder {version('wonder-workflows')}" + (" (compiled)" if is_compiled else ""))
        return 0
    if words[0] not in COMMANDS:
        return _refuse(BadUsage(_no_command(words[0])), "--json" in words)
    return _run(words[0], words[1:], is_program)


def _on_server(words: Sequence[str], is_program: bool) -> int:
    """Run a command on a server, which is named before the command."""
    if not words or not words[0].lower().startswith(("http://", "https://")):
        return _refuse(BadUsage("--server needs the address of a server, such as https://wonder.example.com"), False)
    before = os.environ.get(_SERVER)
    os.environ[_SERVER] = words[0]
    try:
        return main(words[1:], is_program=is_program)
    finally:
        os.environ.pop(_SERVER) if before is None else os.environ.update({_SERVER: before})


def entry() -> None:
    """Run as the program `wonder`, and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode, or a file name that is not UTF-8: characters are shown as escapes.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # closed by the calling process
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        with seldom_collected():
            status = main(is_program=True)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # Caught around the whole program: it may come while a command is still being imported.
        print("interrupted", file=sys.stderr)
        status = 130
    except Terminated:
        print("stopped by SIGTERM", file=sys.stderr)
        status = 143
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 0
    except OSError as error:
        # An OSError without a file name comes from a stream: the output could not be written.
        reason = error if error.filename else f"the output can't be written: {error.strerror or error}"
        print(f"wonder: {reason}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
    sys.exit(status)


class Terminated(BaseException):
    """SIGTERM has ended a command, as KeyboardInterrupt says it of SIGINT."""


class BadUsage(WonderError):
    """The command line is invalid."""

    code = "BAD_USAGE"


class _Parser(ArgumentParser):
    """Raises usage errors instead of printing them, so that they can be reported as text or as JSON."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise BadUsage(f"{message}; see `{self.prog} --help`")


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name.ljust(width)}  {text}" for name, text in COMMANDS.items())
    return f"usage: wonder COMMAND [...]\n\nA durable workflow engine.\n\ncommands:\n{rows}\n\n{_EPILOG}"


def _no_command(word: str) -> str:
    from difflib import get_close_matches  # imported only after a typing error

    near = get_close_matches(word, COMMANDS, n=1, cutoff=0.7)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no command {word!r}; {meant}`wonder --help` lists them"


def _run(name: str, words: Sequence[str], is_program: bool) -> int:
    command = import_module(f"wonder.cli.{name.replace('-', '_')}")
    parser = _Parser(
        prog=f"wonder {name}",
        description=command.__doc__.strip() if command.__doc__ else COMMANDS[name],
        formatter_class=RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    _show_logs(is_program)
    try:
        given = parser.parse_args(words)
    except SystemExit as stop:  # argparse has printed the help
        return int(stop.code or 0)
    except BadUsage as error:
        return _refuse(error, "--json" in words)
    try:
        if name in _LOCAL:
            _check_local(name, given)
        return int(command.run(given))
    except WonderError as error:
        return _refuse(error, getattr(given, "json", False))
    except BrokenPipeError:
        # The reader has closed the pipe (`wonder … | head`): not an error.
        sys.stderr.close()
        return 0


def _check_local(name: str, given: Namespace) -> None:
    """Refuse to take a server for a database; with --db there is no doubt."""
    from wonder.cli.settings import server_setting  # few commands need it

    if not getattr(given, "db", None) and (server := server_setting()):
        raise BadUsage(
            f"`wonder {name}` works on a database of this machine, and {server.origin} names the server "
            f"{server.value}; run it on the machine of the server, or name a database with --db"
        )


def _show_logs(is_program: bool) -> None:
    """Escape control characters in log messages, which may contain text from outside; say which are kept."""
    import logging  # loaded by most commands, and not for help

    from wonder.cli.output import visible_lines

    class Shown(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return visible_lines(super().format(record), margin="")

    if logging.lastResort:
        logging.lastResort.setFormatter(Shown())
    if is_program:
        # What functions log from INFO on is kept with their runs (`wonder logs`); stderr shows warnings and errors.
        # Libraries that log each request of ours would repeat what events say.
        logging.getLogger().setLevel(logging.INFO)
        for library in ("httpx2", "httpcore2", "mcp", "asyncio"):
            logging.getLogger(library).setLevel(logging.WARNING)


# The command that lists what was not found, by the kind that the error names.
_LISTS = {
    "workflow": "workflows list",
    "archived workflow": "workflows list --archived",
    "run": "runs list",
    "schedule": "schedules list",
    "inbox item": "inbox",
    "task": "tasks list",
    "action": "actions list",
    "prompt": "prompts list",
    "artifact type": "artifact-types list",
    "model profile": "models list",
    "vector index": "vectors list",
    "workspace": "workspaces list",
    "archived workspace": "workspaces list --archived",
    "project": "projects list",
    "library": "libraries list",
    "archived project": "projects list --archived",
    "API key": "keys list",
}


def _refuse(error: WonderError, as_json: bool) -> int:
    from wonder.cli.output import print_json, visible_lines  # heavy, and most commands are not refused

    print(f"wonder: {visible_lines(str(error))}", file=sys.stderr)
    if error.code == "NOT_FOUND" and (where := _LISTS.get(getattr(error, "kind", ""))):
        print(f"see `wonder {where}`", file=sys.stderr)
    if as_json:
        # The same form as in the REST API (API-1); a program always gets a JSON document.
        print_json({"error": str(error), "code": error.code})
    return 2
