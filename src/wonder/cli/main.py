"""The `wonder` command: finds the command that is meant, and imports only what that one needs."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

from wonder.errors import WonderError
from wonder.garbage import seldom_collected

# Start-up matters, so a command's module is imported when it is used, and help is printed from this table alone.
COMMANDS = {
    "run": "check a definition file, store it, and run it to its end; or run a workflow that is stored",
    "validate": "check definition files and say everything that is wrong with them",
    "deploy": "check definition files and store them, with versions",
    "schema": "print the JSON Schema of definition files, for editors",
    "workflows": "list and show what is stored, with versions and their differences",
    "runs": "list and show runs, their events and contexts; cancel, pause, resume, retry or fork them",
    "inbox": "list what runs wait for people to answer",
    "answer": "answer what a run asks a person",
    "events": "send an event to what waits for it",
    "schedules": "start workflows at planned times: create, list, pause and delete schedules, and run them",
    "actions": "list and show the kinds of action, with an example of each",
    "secrets": "store, list, delete and seal anew what actions may use but nobody may see",
    "project": "show and change the project's settings: budget, limits, defaults",
    "workspace": "show and change the workspace's settings: what all its projects may do and spend",
    "mcp": "list the MCP servers of the project, and show the tools of one",
    "metrics": "show what emit_metric has counted, with plots",
    "artifacts": "list and show what runs have stored, and get its content",
    "query": "run a SQL query that reads, over runs, events and contexts",
    "db": "migrate or check the database",
    "doctor": "show the settings, and check the database and the tools that workflows use",
}

_EPILOG = """\
exit status: 0 done, 1 failed, 2 not accepted (a mistake in a definition or in the command line), 3 not ended: only a
person or an outside event can move the run on

A run, and what a schedule or a trigger starts, goes on while some process runs the engine: `wonder run` until its own
run has ended, `wonder schedules run` for all there are, until interrupted.
Data is in .wonder/ of the working directory unless --db, WONDER_DATABASE_URL or `database_url` in wonder.toml says
otherwise (sqlite:///path/to/file.db or postgresql://user@host/name).
`wonder COMMAND --help` says more about a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
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
    return _run(words[0], words[1:])


def entry() -> None:
    """Be the program `wonder`."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode, or a file's name that is none: shown as escapes rather than not at all.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # closed by who called us
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        with seldom_collected():
            status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 0
    except OSError as error:
        # An error without a file's name is of a stream: the answer could not be written.
        reason = error if error.filename else f"the output can't be written: {error.strerror or error}"
        print(f"wonder: {reason}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
    sys.exit(status)


class BadUsage(WonderError):
    """The words of a command line can't be understood."""

    code = "BAD_USAGE"


class _Parser(ArgumentParser):
    """Raises what argparse would print, so that it can be answered in the form that was asked for."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise BadUsage(f"{message}; `{self.prog} --help` says more")


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name.ljust(width)}  {text}" for name, text in COMMANDS.items())
    return f"usage: wonder COMMAND [...]\n\nA durable workflow engine.\n\ncommands:\n{rows}\n\n{_EPILOG}"


def _no_command(word: str) -> str:
    from difflib import get_close_matches  # only who has mistyped waits for it

    near = get_close_matches(word, COMMANDS, n=1, cutoff=0.7)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no command {word!r}; {meant}`wonder --help` lists them"


def _run(name: str, words: Sequence[str]) -> int:
    command = import_module(f"wonder.cli.{name}")
    parser = _Parser(
        prog=f"wonder {name}",
        description=command.__doc__.strip() if command.__doc__ else COMMANDS[name],
        formatter_class=RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    try:
        given = parser.parse_args(words)
    except SystemExit as stop:  # argparse has printed the help
        return int(stop.code or 0)
    except BadUsage as error:
        return _refuse(error, "--json" in words)
    try:
        return int(command.run(given))
    except WonderError as error:
        return _refuse(error, getattr(given, "json", False))
    except BrokenPipeError:
        # Who reads us has stopped reading (`wonder … | head`): that is no fault of the command.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


# Where to look for what a command has not found, by what it is called in errors.
_LISTS = {"workflow": "workflows list", "run": "runs list", "schedule": "schedules list", "inbox item": "inbox"}


def _refuse(error: WonderError, as_json: bool) -> int:
    print(f"wonder: {error}", file=sys.stderr)
    if error.code == "NOT_FOUND" and (where := _LISTS.get(getattr(error, "kind", ""))):
        print(f"see `wonder {where}`", file=sys.stderr)
    if as_json:
        from wonder.cli.output import print_json  # heavy, and most commands are not refused

        # The form that the REST API answers with too (SPEC 14), so that a program never meets an empty answer.
        print_json({"error": str(error), "code": error.code})
    return 2
