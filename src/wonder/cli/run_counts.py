"""`wonder runs count`: how many runs there are, by workflow and status."""

from argparse import ArgumentParser, Namespace
from typing import get_args

from wonder.app.application import Application
from wonder.cli.output import print_output, print_table, visible
from wonder.cli.own_output import say
from wonder.operations.run_counts import CountRuns, count_runs
from wonder.operations.run_records import ListedStatus


def configure(parser: ArgumentParser) -> None:
    """Take the name of a workflow."""
    parser.add_argument("--workflow", metavar="NAME", help="count only runs of this workflow, of any version")


async def show(app: Application, given: Namespace) -> int:
    """Print a row for each workflow, with a column for each status that a run has."""
    found = await count_runs(app, CountRuns(workflow=given.workflow))
    if given.json:
        print_output(found)
        return 0
    if not found.total:
        say("no runs yet; `wonder run FILE` starts one")
        return 0
    statuses = [status for status in get_args(ListedStatus) if status in found.statuses]
    rows = [
        [visible(one.workflow), *(f"{one.statuses.get(status, 0):,}" for status in statuses), f"{one.total:,}"]
        for one in found.workflows
    ]
    if len(rows) > 1:
        rows.append(["all", *(f"{found.statuses[status]:,}" for status in statuses), f"{found.total:,}"])
    print_table(["WORKFLOW", *(status.upper() for status in statuses), "TOTAL"], rows)
    return 0
