"""`wonder runs events`: all that happened in a run, or the events of all runs that options choose, for people."""

import shutil
import sys
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Final

from wonder.app.application import Application
from wonder.cli.moments import moment
from wonder.cli.output import JsonList, color, visible
from wonder.cli.run_headers import shown_clock, shown_time
from wonder.errors import WonderError
from wonder.language.values import encode_json
from wonder.operations.outputs import as_json
from wonder.operations.run_events import EventsOfRun, WhichEvents, find_project_events, list_events
from wonder.operations.run_records import EventRecord

DETAILS: Final = """\
Without RUN, the events of all runs of the project are shown, newest first, 100 of them unless --limit is given.
docs/reference/events.md describes the types of events.

  wonder runs events 01M7P9D2J8Q0T4X6Z7B1C3E5G9 --node charge
  wonder runs events --type node_failed --type workflow_failed --since 2h"""
_INDENT: Final = " " * 8
_TOLD_SHOWN: Final = 4_000
_FOUND_SHOWN: Final = 100


class EventsUsage(WonderError):
    """The options don't go together."""

    code = "BAD_USAGE"


def configure(parser: ArgumentParser) -> None:
    """Take a run, or nothing for all runs, and what chooses events."""
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="the id of a run; without it, events of all runs")
    parser.add_argument(
        "--type", metavar="TYPE", action="append", help="show only events of this type; may be given several times"
    )
    parser.add_argument("--node", metavar="NODE", help="show only events of this node")
    parser.add_argument("--token", metavar="TOKEN", help="show only events of this token, one execution of a node")
    parser.add_argument(
        "--since", type=moment, metavar="TIME", help="show only events since this time: 30m or 7d ago, or a date"
    )
    parser.add_argument(
        "--until", type=moment, metavar="TIME", help="show only events before this time, written like --since"
    )
    parser.add_argument("--after", metavar="EVENT", type=int, help="show only events of RUN after this number")
    parser.add_argument(
        "--limit", metavar="N", type=_limit, help="show at most this many events (default: all of RUN, or 100)"
    )


async def show(app: Application, given: Namespace) -> int:
    """Print the events."""
    asked = {
        "types": given.type,
        "node": given.node,
        "token_id": given.token,
        "since_ms": given.since,
        "until_ms": given.until,
    }
    shown = JsonList() if given.json else None
    if given.run_id is None:
        if given.after is not None:
            raise EventsUsage("--after is the number of an event of a run; name the run, or use --since")
        await _show_found(app, WhichEvents(**asked, limit=given.limit or _FOUND_SHOWN), shown, given.limit is None)
    else:
        of_run = EventsOfRun(run_id=given.run_id, after=given.after or 0, **asked, limit=given.limit)
        async for event in list_events(app, of_run):
            if shown is not None:
                shown.add(as_json(event))
            else:
                print_event(event)
    if shown is not None:
        shown.end()
    return 0


async def _show_found(app: Application, asked: WhichEvents, shown: JsonList | None, says_more: bool) -> None:
    number, run_id = 0, None
    async for event in find_project_events(app, asked):
        number += 1
        if shown is not None:
            shown.add(as_json(event))
            continue
        if event.run_id != run_id:
            run_id = event.run_id
            print(color("dim", f"run {visible(run_id)}"))
        print_event(event)
    if number == asked.limit and says_more:
        note = f"these are the newest {number}; --limit N shows more, --until TIME older ones"
        print(color("dim", note), file=sys.stderr if shown is not None else sys.stdout)
    elif not number and shown is None:
        print("no event matches")


def print_event(event: EventRecord) -> None:
    """Print one event."""
    at = f"{shown_time(event.recorded_ms)[:10]} {shown_clock(event.recorded_ms)}"
    place = f"{event.sequence_number:>6}  {at}  {event.event_type:<24} {event.node or '':<20}"
    print(f"{place} {visible(event.message)}".rstrip())
    if told := _told(event):
        width = max(shutil.get_terminal_size((100, 24)).columns, 40)
        lines = textwrap.wrap(visible(told), width - len(_INDENT), break_on_hyphens=False)
        print("\n".join(_INDENT + color("dim", line) for line in lines))


def _told(event: EventRecord) -> str:
    attempts, cost_usd, tokens = event.attempts or 0, event.cost_usd, event.llm_tokens
    spent = f"{cost_usd or 0.0:.6f} USD for {tokens or 0:,} tokens" if cost_usd or tokens else ""
    began = f"it began at {shown_clock(event.timestamp)}" if event.timestamp != event.recorded_ms else ""
    told = encode_json(event.metadata) if event.metadata else ""
    if len(told) > _TOLD_SHOWN:
        told = f"{told[:_TOLD_SHOWN]}… (--json shows all {len(told):,} characters)"
    return "  ".join(part for part in (began, f"{attempts} attempts" if attempts > 1 else "", spent, told) if part)


def _limit(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of events; write 1 or more")
    return int(text)
