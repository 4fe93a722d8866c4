"""What a person or a program is told when a run has ended, or waits for somebody."""

import asyncio
import sys
from collections.abc import Mapping

from wonder.app.api import Run, Wonder
from wonder.cli.live_view import watch
from wonder.cli.output import color, print_json
from wonder.cli.questions import event_lines, question_lines
from wonder.cli.triggered import follow_triggered
from wonder.language.values import encode_json
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.standing import awaited_events, open_questions

_STATUSES = {"completed": 0, "failed": 1, "cancelled": 1}
_KEPT = (
    "the run {} is kept, and goes on where it was while some process runs the engine: `wonder schedules run` here, "
    "or a program that has the database open"
)


async def follow_run(wonder: Wonder, started: Run, *, as_json: bool) -> int:
    """Watch a run until it has ended or waits for somebody, and give the exit status.

    Who interrupts it is told that the run is kept, and how it goes on.
    """
    try:
        header = await watch(wonder, started.id, quiet=as_json)
        return await _report_run(wonder, started, header, as_json=as_json)
    except asyncio.CancelledError:
        print(_KEPT.format(started.id), file=sys.stderr)
        raise


async def _report_run(wonder: Wonder, started: Run, header: RunHeader, *, as_json: bool) -> int:
    """Print how a run stands, and give the exit status for it (SPEC 13).

    What it has triggered is waited for as well: no other process might go on with it.
    """
    statuses = await follow_triggered(wonder, started.id) if header.status == "completed" else {}
    error = header.error.as_json() if header.error else None
    if as_json:
        print_json({"run_id": started.id, "status": header.status, "output": header.output, "error": error})
        return _STATUSES.get(header.status, 3)
    took = ((header.completed_ms or header.created_ms) - header.created_ms) / 1000
    if header.status == "completed":
        print(f"{color('good', '✓')} completed in {took:.2f} s  {color('dim', started.id)}")
        print(encode_json(header.output))
        await _report_triggered(wonder, started, statuses)
    elif error:
        where = f" at node {error['node']!r}" if error["node"] else ""
        print(f"{color('error', '✗')} {header.status} after {took:.2f} s{where}  {color('dim', started.id)}")
        print(f"  {error['code']}: {error['message']}")
        print(f"  {color('hint', f'wonder runs show {started.id}')} shows what happened")
    elif header.status == "cancelled":
        print(f"{color('error', '✗')} cancelled after {took:.2f} s  {color('dim', started.id)}")
    else:
        await _report_waiting(wonder, started, header)
    return _STATUSES.get(header.status, 3)


async def _report_triggered(wonder: Wonder, started: Run, statuses: Mapping[str, int]) -> None:
    for firing in (await wonder.triggers(started.id)).triggers:
        if firing.status == "failed" and firing.failure:
            print(f"  {color('error', '✗')} trigger of {firing.workflow_id!r}: {firing.failure.message}")
        elif firing.status == "skipped" and firing.failure:
            print(f"  {color('dim', '–')} trigger of {firing.workflow_id!r} skipped: {firing.failure.message}")
    if statuses:
        told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        total = sum(statuses.values())
        print(f"  {color('dim', '↳')} triggered {total} run{'' if total == 1 else 's'}: {told}")


async def _report_waiting(wonder: Wonder, started: Run, header: RunHeader) -> None:
    reason = f" ({header.paused_reason})" if header.paused_reason else ""
    print(f"{color('warning', '…')} {header.status}{reason}: only a person or an outside event can move it on")
    for item in await open_questions(wonder.app.store, started.id):
        for line in question_lines(item):
            print(f"  {line}")
    for line in event_lines(await awaited_events(wonder.app.store, started.id)):
        print(f"  {line}")
    print(f"  {color('hint', f'wonder runs show {started.id}')}")
