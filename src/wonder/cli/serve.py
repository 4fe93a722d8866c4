"""Run the engine until it is stopped: continue all runs, and start those of schedules and triggers.

--no-http is required for now, because the HTTP server that this command will start is not built yet.
While another process runs the engine of the database, this one waits, and takes over when that one ends.
Actions of the kind `python` can call only functions of the modules that --module or wonder.toml names.

  wonder serve --no-http --module shop

It prints when runs start and end, with the errors of those that fail, and when it takes over the engine. What functions
print goes to standard error.
SIGTERM and SIGINT (Ctrl-C) stop it: it begins no more tasks, gives active ones --drain-seconds to end, and releases
the engine; the next process runs unfinished tasks again. A second signal ends it at once.

Exit status: 0 after a clean stop.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from wonder.app.application import Application
from wonder.app.news import RunNews, drain, tasks_under_way
from wonder.app.opening import open_wonder
from wonder.cli.main import Terminated
from wonder.cli.output import color, count, visible, visible_lines
from wonder.cli.own_output import functions_print_to_stderr, own_output
from wonder.cli.run_headers import shown_time
from wonder.cli.settings import (
    add_database_option,
    add_modules_option,
    add_objects_option,
    database_setting,
    modules_setting,
    objects_setting,
)
from wonder.cli.stopping import run_until_stopped
from wonder.clock import SYSTEM_CLOCK
from wonder.errors import WonderError

_DRAIN_SECONDS: Final = 10.0
_DRAIN_SECONDS_MAX: Final = 86_400.0
_PRINT_SECONDS: Final = 0.1
_STYLES: Final = {"started": "dim", "completed": "good", "failed": "error", "cancelled": "warning"}


def configure(parser: ArgumentParser) -> None:
    """Take what the engine needs."""
    parser.add_argument(
        "--no-http", action="store_true", help="run the engine without an HTTP server (required for now)"
    )
    parser.add_argument(
        "--drain-seconds",
        metavar="N",
        type=float,
        default=_DRAIN_SECONDS,
        help=f"give active tasks N seconds to end after a signal (default: {_DRAIN_SECONDS:g})",
    )
    parser.add_argument("--quiet", action="store_true", help="print no line for runs that start or complete")
    add_database_option(parser)
    add_objects_option(parser)
    add_modules_option(parser)


def run(given: Namespace) -> int:
    """Run the engine until a signal comes."""
    if not given.no_http:
        raise NoServer
    if not 0 <= given.drain_seconds <= _DRAIN_SECONDS_MAX:
        raise BadDrain(given.drain_seconds)
    try:
        with functions_print_to_stderr():
            return run_until_stopped(_serve(given), drain_seconds=given.drain_seconds)
    except (KeyboardInterrupt, Terminated):
        return 0


async def _serve(given: Namespace) -> int:
    url, objects, modules = (
        database_setting(given.db).value,
        objects_setting(given.objects),
        modules_setting(given.module),
    )
    lines = EngineLines(quiet=given.quiet)
    async with (
        lines,
        open_wonder(url, modules=modules, module_folders=[Path.cwd()], objects=objects, news=lines) as wonder,
    ):
        if wonder.engine is None:
            lines.say("warning", "waits", "another process runs the engine; this one takes over when that one ends")
        try:
            await asyncio.Event().wait()
        finally:
            await _drain(wonder, lines, given.drain_seconds)
    return 0


async def _drain(wonder: Application, lines: "EngineLines", seconds: float) -> None:
    if wonder.engine is None:
        lines.say("dim", "stops", "this process did not run the engine")
        return
    if under_way := tasks_under_way(wonder):
        lines.say("dim", "stops", f"{count(under_way, 'task')} under way; a second signal ends it at once")
        lines.write()
    left = await drain(wonder, seconds)
    again = f"; the next process runs {count(left, 'task')} again" if left else ""
    lines.say("dim", "stops", f"the engine is handed over{again}")


class EngineLines:
    """Prints what happens in an engine, some lines at once: a line for each run must not slow many of them down."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lines: list[str] = []
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "EngineLines":
        self._writing = asyncio.create_task(self._write_again())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writing:
            self._writing.cancel()
        self.write()

    def tell_run(self, news: RunNews) -> None:
        """Tell of a run."""
        if self._quiet and news.status in ("started", "completed"):
            return
        error = f"  {visible(news.failure.code)}: {visible_lines(news.failure.message)}" if news.failure else ""
        self.say(_STYLES[news.status], news.status, f"{visible(news.workflow)}@{news.version}  {news.run_id}{error}")

    def tell_beginning(self, *, took_over: bool, runs: int) -> None:
        """Tell that the engine begins here."""
        on = f"; {count(runs, 'run')} under way {'goes' if runs == 1 else 'go'} on" if runs else ""
        self.say("good", "took over" if took_over else "ready", f"the engine runs here{on}")

    def tell_stop(self) -> None:
        """Tell that another process has the engine now."""
        self.say("error", "lost", "another process runs the engine now; this one takes over when that one ends")

    def say(self, style: str, what: str, text: str) -> None:
        """Print a line soon."""
        at = shown_time(SYSTEM_CLOCK.now_ms())
        self._lines.append(f"{color('dim', at)}  {color(style, what.ljust(9))}  {text}")

    def write(self) -> None:
        """Print what there is to say."""
        if self._lines:
            text, self._lines = "\n".join(self._lines) + "\n", []
            own_output().write(text)
            own_output().flush()

    async def _write_again(self) -> None:
        while True:
            self.write()
            await asyncio.sleep(_PRINT_SECONDS)


class NoServer(WonderError):
    """The HTTP server was asked for, which is not built yet."""

    code = "NO_SERVER"

    def __init__(self) -> None:
        super().__init__("there is no HTTP server yet; run the engine without one: `wonder serve --no-http`")


class BadDrain(WonderError):
    """The time for tasks under way is none."""

    code = "BAD_USAGE"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"--drain-seconds is {seconds:g}; give a number from 0 to {_DRAIN_SECONDS_MAX:g}")
