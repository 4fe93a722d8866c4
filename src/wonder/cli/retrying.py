"""`wonder runs retry`: one run, or all failed ones that options choose, after a look at them."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from contextlib import AbstractAsyncContextManager
from typing import Literal

from wonder.app.application import Application
from wonder.cli.live_view import watch
from wonder.cli.opening import open_app
from wonder.cli.output import color, count, print_json, print_output, visible
from wonder.cli.own_output import say
from wonder.cli.report import follow_run
from wonder.cli.run_lists import add_filter_options, print_runs, which_runs, written_options
from wonder.cli.settings import tenant_setting
from wonder.errors import WonderError
from wonder.operations.outputs import as_json
from wonder.operations.retries import RetryRuns, RunsToRetry, retry_runs, runs_to_retry
from wonder.operations.run_lists import WhichRuns
from wonder.operations.run_orders import RetryRun, retry_run

DETAILS = """\
The results of the completed nodes are kept. The new run has its own id, and this command runs it to its end. With
--version it continues with another version of its workflow; this is rejected if the run is at a node that the version
does not have.

Without RUN, the options choose among the failed runs that were not retried yet. They are only listed, unless --yes is
given.

  wonder runs retry 01M7P9D2J8Q0T4X6Z7B1C3E5G9 --version latest
  wonder runs retry --status failed --error PROVIDER_DOWN --since 2h
  wonder runs retry --status failed --error PROVIDER_DOWN --since 2h --yes"""


class RetryUsage(WonderError):
    """The options of a retry don't say what to retry."""

    code = "BAD_USAGE"


def configure(parser: ArgumentParser) -> None:
    """Take a run, or what chooses runs."""
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="the id of a run; without it, the options choose runs")
    parser.add_argument(
        "--version",
        type=_version,
        metavar="VERSION",
        help="continue with this version of the workflow: a number, or latest",
    )
    add_filter_options(parser)
    parser.add_argument("--yes", action="store_true", help="retry the chosen runs (default: only list them)")


async def retry(opened: AbstractAsyncContextManager[Application], url: str, given: Namespace) -> int:
    """Retry what is asked for; `opened` opens the database with its engine, which a look does without."""
    options = written_options(given)
    if given.run_id is not None:
        if options:
            raise RetryUsage(f"give either the run {given.run_id} or options that choose runs ({options.strip()})")
        async with opened as wonder:
            started = await retry_run(wonder, RetryRun(run_id=given.run_id, version=given.version))
            return await follow_run(wonder, started.run_id, as_json=given.json)
    if not options:
        raise RetryUsage("no run was given; name one, or choose failed runs, as in: wonder runs retry --status failed")
    if given.yes:
        async with opened as wonder:
            return await _retry_all(wonder, given)
    async with open_app(url, create=False, **tenant_setting(given)) as app:
        found = await runs_to_retry(app, WhichRuns(**which_runs(given)))
    if given.json:
        print_output(found)
    else:
        _print_found(found, f"wonder runs retry{options}{_version_option(given)} --yes")
    return 0


def _print_found(found: RunsToRetry, command: str) -> None:
    if not found.total:
        say("no failed run that was not retried yet matches")
        return
    print_runs(found.first)
    if found.total > len(found.first):
        say(f"… and {found.total - len(found.first):,} more")
    say(f"{count(found.total, 'run')} would be retried; nothing was done. To do it: {command}")


async def _retry_all(wonder: Application, given: Namespace) -> int:
    done = await retry_runs(wonder, RetryRuns(**which_runs(given), version=given.version))
    statuses: Counter[str] = Counter()
    for one in done.retried:
        statuses[(await watch(wonder, one.retried_as, quiet=True)).run.status] += 1
    if given.json:
        shown = as_json(done)
        assert isinstance(shown, dict)
        print_json({**shown, "statuses": dict(statuses)})
    else:
        for refused in done.refused:
            say(f"{color('error', '✗')} {refused.run_id} was not retried: {visible(refused.reason)}")
        told = ", ".join(f"{number:,} {status}" for status, number in sorted(statuses.items()))
        say(f"{count(len(done.retried), 'run')} retried" + (f": {told}" if told else ""))
    if done.refused or statuses["failed"] or statuses["cancelled"]:
        return 1
    return 0 if statuses.keys() <= {"completed"} else 3


def _version(text: str) -> int | Literal["latest"]:
    if text == "latest":
        return "latest"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:10]) <= 10**9:
        raise ArgumentTypeError(f"{text!r} is not a version; write a whole number of at least 1, or latest")
    return int(text)


def _version_option(given: Namespace) -> str:
    return f" --version {given.version}" if given.version else ""
