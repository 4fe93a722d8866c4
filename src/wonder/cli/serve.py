"""Serve the HTTP API, and run the engine: continue all runs, and start those of schedules and triggers.

While another process runs the engine of the database, this one answers requests, and takes over when that one ends.
Actions of the kind `python` can call only functions of the modules that --module or wonder.toml names.

  wonder serve --module shop
  wonder serve --no-http                      # the engine alone

Without API keys the server is for this machine alone: whoever is on it may do everything, and it listens on a loopback
address only.
It prints its address, when runs start and end, with the errors of those that fail, and when it takes over the engine.
What functions print goes to standard error.
SIGTERM and SIGINT (Ctrl-C) stop it: it takes no more requests, begins no more tasks, gives active ones --drain-seconds
to end, and releases the engine; the next process runs unfinished tasks again. A second signal ends it at once.

Exit status: 0 after a clean stop.
"""

import asyncio
import socket
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from types import ModuleType
from typing import Final

from wonder.app.application import Application
from wonder.app.news import RunNews, drain, tasks_under_way
from wonder.app.opening import open_wonder
from wonder.cli.main import Terminated
from wonder.cli.output import color, count, visible, visible_lines
from wonder.cli.own_output import functions_print_to_stderr, own_output
from wonder.cli.run_headers import shown_time
from wonder.cli.server_settings import Address, add_server_options, address_setting
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
    add_server_options(parser)
    parser.add_argument("--no-http", action="store_true", help="run the engine without an HTTP server")
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
    """Run the engine, and the server, until a signal comes."""
    if not 0 <= given.drain_seconds <= _DRAIN_SECONDS_MAX:
        raise BadDrain(given.drain_seconds)
    address = None if given.no_http else address_setting(given)
    try:
        with functions_print_to_stderr():
            return run_until_stopped(
                _serve(given, address), drain_seconds=given.drain_seconds, loop_factory=_loop(address)
            )
    except (KeyboardInterrupt, Terminated):
        return 0


async def _serve(given: Namespace, address: Address | None) -> int:
    url, objects, modules = (
        database_setting(given.db).value,
        objects_setting(given.objects),
        modules_setting(given.module),
    )
    lines = EngineLines(quiet=given.quiet)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lines)
        # Before the database is opened: an address that can't be used is no reason to take the engine from anybody.
        listening = _listening(stack, address) if address else None
        wonder = await stack.enter_async_context(
            open_wonder(url, modules=modules, module_folders=[Path.cwd()], objects=objects, news=lines)
        )
        stack.push_async_callback(_drain, wonder, lines, given.drain_seconds)
        if wonder.engine is None:
            lines.say("warning", "waits", "another process runs the engine; this one takes over when that one ends")
        if listening is not None and address is not None:
            await stack.enter_async_context(_http(wonder, listening, address, lines))
        await asyncio.Event().wait()
    return 0


def _listening(stack: AsyncExitStack, address: Address) -> socket.socket:
    listening: socket.socket = _server().bind(address.host, address.port)
    return stack.enter_context(closing(listening))


@asynccontextmanager
async def _http(
    wonder: Application, listening: socket.socket, address: Address, lines: "EngineLines"
) -> AsyncIterator[None]:
    # With `_server`, only where a server is asked for.
    from wonder.api.door import Door
    from wonder.api.limits import Limits

    limits = Limits(
        body_bytes=address.body_bytes,
        requests_at_once=address.requests_at_once,
        requests_per_second=address.requests_per_second,
    )

    serving = _server()
    async with serving.served(await Door.open(wonder, listening.getsockname()[0], limits=limits), listening):
        lines.say("good", "listens", serving.address_of(listening))
        yield


def _server() -> ModuleType:
    try:
        from wonder.api import serving  # takes a tenth of a second, and is an extra
    except ModuleNotFoundError as error:
        raise ServerMissing(error.name or "uvicorn") from None
    return serving


def _loop(address: Address | None) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Give what makes the loop: uvloop for a server, where it is there."""
    if address is None:
        return None
    try:
        import uvloop  # as above
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


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


class ServerMissing(WonderError):
    """The packages of the HTTP server are not installed."""

    code = "DRIVER_MISSING"

    def __init__(self, package: str) -> None:
        super().__init__(
            f"the HTTP server needs the package {package!r}; install the extra `server` "
            "(pip install 'wonder-workflows[server]'), or run the engine without one: `wonder serve --no-http`"
        )


class BadDrain(WonderError):
    """The time for tasks under way is none."""

    code = "BAD_USAGE"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"--drain-seconds is {seconds:g}; give a number from 0 to {_DRAIN_SECONDS_MAX:g}")
