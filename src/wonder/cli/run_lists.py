"""The list of runs, and the options that choose runs."""

import shlex
from argparse import ArgumentParser, Namespace
from math import isfinite
from time import monotonic
from typing import Any, get_args

from msgspec.structs import replace

from wonder.app.application import Application
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.moments import moment
from wonder.cli.output import print_output, print_table
from wonder.cli.own_output import say
from wonder.cli.run_headers import shown_status, shown_time, shown_took
from wonder.operations.run_lists import ListRuns, list_project_runs
from wonder.operations.run_records import ListedStatus, RunPage, RunSummary

_PAGE_MAX = 200
# A list that looks at many runs for each that fits ends after this time, and says how it goes on.
_SECONDS_MAX = 5.0
_FILTERS = (
    "status",
    "workflow",
    "workflow_version",
    "since",
    "until",
    "error",
    "error_code",
    "node",
    "tag",
    "parent",
    "cost_min",
    "where",
)


def add_filter_options(parser: ArgumentParser) -> None:
    """Let runs be chosen by what they are, when they began, why they failed, and what is in their contexts."""
    parser.add_argument("--status", choices=get_args(ListedStatus), help="choose runs with this status")
    parser.add_argument("--workflow", metavar="NAME", help="choose runs of this workflow, of any version")
    parser.add_argument(
        "--workflow-version", metavar="N", type=int, help="choose runs of this version of their workflow"
    )
    parser.add_argument(
        "--since",
        type=_time,
        metavar="TIME",
        help="choose runs started since this time: 30m or 7d ago, or 2026-11-18T09:30",
    )
    parser.add_argument(
        "--until", type=_time, metavar="TIME", help="choose runs started before this time, written like --since"
    )
    parser.add_argument(
        "--error", metavar="TEXT", help="choose runs that failed with this code, or with TEXT in the message"
    )
    parser.add_argument("--error-code", metavar="CODE", help="choose runs that failed with exactly this code")
    parser.add_argument("--node", metavar="NODE", help="choose runs that failed at this node, or are at it now")
    parser.add_argument("--tag", help="choose runs of workflows with this tag")
    parser.add_argument("--parent", metavar="RUN", help="choose the sub-workflows that this run has called")
    parser.add_argument("--cost-min", metavar="USD", type=_usd, help="choose runs that cost at least this many dollars")
    parser.add_argument(
        "--where", metavar="EXPRESSION", help='choose runs for which this expression is true: "state.total > 100"'
    )


def which_runs(given: Namespace) -> dict[str, Any]:
    """Give what the options choose, as fields of WhichRuns."""
    return {
        "status": given.status,
        "workflow": given.workflow,
        "workflow_version": given.workflow_version,
        "since_ms": None if given.since is None else moment(given.since),
        "until_ms": None if given.until is None else moment(given.until),
        "error": given.error,
        "error_code": given.error_code,
        "node": given.node,
        "tag": given.tag,
        "parent_run_id": given.parent,
        "cost_min_usd": given.cost_min,
        "where": given.where,
    }


def written_options(given: Namespace) -> str:
    """Write the options that choose runs as they were given, for a command that a person can copy."""
    chosen = ((name, getattr(given, name)) for name in _FILTERS)
    words = [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in chosen if value is not None]
    return "".join(f" {word}" for word in words)


async def list_runs(app: Application, given: Namespace) -> int:
    """Print as many runs as are asked for, and say if there are more."""
    page = await _pages(app, ListRuns(**which_runs(given), cursor=given.cursor), given.limit)
    if given.json:
        print_output(page)
        return 0
    options = written_options(given)
    if page.runs:
        print_runs(page.runs)
    elif not page.cursor:
        say("no runs match" if options else "no runs yet; `wonder run FILE` starts one")
    if page.cursor:
        say(f"more: wonder runs list{options} --cursor {page.cursor}")
    await print_if_nobody_runs(app, "runs continue", [one.run_id for one in page.runs])
    return 0


async def _pages(app: Application, asked: ListRuns, limit: int) -> RunPage:
    """Give so many runs, page by page; fewer, with a cursor, where it takes long to find them."""
    runs: list[RunSummary] = []
    began = monotonic()
    while True:
        # A limit below 1 is refused there.
        page = await list_project_runs(app, replace(asked, limit=min(_PAGE_MAX, limit - len(runs))))
        runs += page.runs
        if page.cursor is None or len(runs) >= limit or monotonic() - began > _SECONDS_MAX:
            return RunPage(runs=runs, cursor=page.cursor)
        asked = replace(asked, cursor=page.cursor)


def print_runs(runs: list[RunSummary]) -> None:
    """Print a table of runs."""
    rows = []
    for one in runs:
        retried = " (retried)" if one.retried_as else ""
        name = f"{one.workflow}@{one.workflow_version}"
        rows.append([one.run_id, name, shown_status(one) + retried, shown_time(one.created_ms), shown_took(one)])
    print_table(["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK"], rows)


def _usd(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _time(text: str) -> str:
    """Check a time, and keep it as it was written: the command for the next page repeats it."""
    moment(text)
    return text
