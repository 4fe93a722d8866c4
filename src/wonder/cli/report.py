"""What a person or a program is told when a run has ended, or waits for somebody."""

import asyncio
import sys
from typing import Final

from wonder.app.application import Application
from wonder.cli.live_view import watch
from wonder.cli.output import color, print_output, visible, visible_json, visible_lines
from wonder.cli.own_output import say
from wonder.cli.questions import event_lines, function_lines, question_lines
from wonder.operations.following import (
    Follow,
    RunProgress,
    TriggeredRuns,
    run_outcome,
    run_progress,
    wait_for_triggered,
)
from wonder.operations.runs import OneRun

# The exit status of `wonder run`, by the status of the run: 3 if it has not ended.
_STATUSES: Final[dict[str, int]] = {
    "completed": 0,
    "failed": 1,
    "cancelled": 1,
    "queued": 3,
    "running": 3,
    "waiting": 3,
    "paused": 3,
}
_KEPT = (
    "the run {} is kept, and goes on where it was while some process runs the engine: `wonder serve --no-http` here "
    "(with --module for functions that it calls), or a program that has the database open"
)


async def follow_run(wonder: Application, run_id: str, *, as_json: bool, to_the_end: bool = False) -> int:
    """Watch a run until it has ended or, without `to_the_end`, waits for somebody; give the exit status.

    A person who interrupts it is told that the run is kept, and how it goes on.
    """
    try:
        standing = await watch(wonder, run_id, quiet=as_json, to_the_end=to_the_end)
        return await _report_run(wonder, standing, for_program=as_json)
    except asyncio.CancelledError:
        print_kept(run_id)
        raise


def print_kept(run_id: str) -> None:
    """Tell a person who interrupts a command that the run is kept, and how it goes on."""
    print(_KEPT.format(run_id), file=sys.stderr)


async def _report_run(wonder: Application, standing: RunProgress, *, for_program: bool) -> int:
    """Print how a run stands, and give the exit status for it (CMD-4).

    What it has triggered is waited for as well: no other process might go on with it.
    """
    run, error = standing.run, standing.run.error
    triggered = await wait_for_triggered(wonder, OneRun(run_id=run.run_id))
    if for_program:
        outcome = await run_outcome(wonder, OneRun(run_id=run.run_id))
        print_output(outcome)
        return _STATUSES[outcome.status]
    took = ((run.completed_ms or run.created_ms) - run.created_ms) / 1000
    if run.status == "completed":
        say(f"{color('good', '✓')} completed in {took:.2f} s  {color('dim', run.run_id)}")
        say(visible_json(run.output))
        _report_triggered(triggered)
    elif error:
        where = f" at node {error.node!r}" if error.node else ""
        say(f"{color('error', '✗')} {run.status} after {took:.2f} s{where}  {color('dim', run.run_id)}")
        say(f"  {visible(error.code)}: {visible_lines(error.message)}")
        say(f"  {color('hint', f'wonder runs show {run.run_id}')} shows what happened")
    elif run.status == "cancelled":
        say(f"{color('error', '✗')} cancelled after {took:.2f} s  {color('dim', run.run_id)}")
    else:
        await _report_waiting(wonder, run.run_id)
    return _STATUSES[run.status]


def _report_triggered(triggered: TriggeredRuns) -> None:
    for trigger in triggered.triggers:
        if trigger.status == "failed" and trigger.reason:
            mark = color("error", "✗")
            say(f"  {mark} trigger of {trigger.workflow_id!r}: {visible(trigger.reason.message)}")
        elif trigger.status == "skipped" and trigger.reason:
            mark = color("dim", "–")
            say(f"  {mark} trigger of {trigger.workflow_id!r} skipped: {visible(trigger.reason.message)}")
    if triggered.statuses:
        told = ", ".join(f"{count} {status}" for status, count in sorted(triggered.statuses.items()))
        total = sum(triggered.statuses.values())
        say(f"  {color('dim', '↳')} triggered {total} run{'' if total == 1 else 's'}: {told}")


def _for_whom(standing: RunProgress) -> str:
    is_for_others = standing.questions or standing.events or not standing.functions
    return " for a person or an outside event" if is_for_others else " for a function"


async def _report_waiting(wonder: Application, run_id: str) -> None:
    standing = await run_progress(wonder, Follow(run_id=run_id, nodes=False))
    run = standing.run
    if run.status == "paused":
        reason = f" ({visible(run.paused_reason)})" if run.paused_reason else ""
        say(f"{color('warning', '…')} paused{reason}: only a person can move it on")
    else:
        say(f"{color('warning', '…')} {run.status}{_for_whom(standing)}")
    for item in standing.questions:
        for line in question_lines(item):
            say(f"  {line}")
    for line in [*function_lines(standing.functions), *event_lines(standing.events)]:
        say(f"  {line}")
    say(f"  {color('hint', f'wonder runs show {run_id}')}")
