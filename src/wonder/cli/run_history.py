"""The history of a run, for people: each node with its input, its output and every attempt."""

import textwrap
from argparse import ArgumentParser, Namespace
from typing import Any

from msgspec import UNSET

from wonder.app.application import Application
from wonder.cli.output import JsonList, color, visible, visible_lines
from wonder.cli.run_headers import shown_clock
from wonder.language.values import encode_json
from wonder.operations.outputs import as_json
from wonder.operations.run_history import AttemptError, AttemptRecord, ExecutionRecord, HistoryOfRun, show_history

_STYLES = {"completed": ("good", "✓"), "failed": ("error", "✗"), "timed_out": ("error", "✗"), "cancelled": ("dim", "✗")}
_VALUE_SHOWN = 300


def configure(command: ArgumentParser) -> None:
    """Take what narrows the history."""
    command.add_argument("--node", metavar="NODE", help="show only executions of this node")
    command.add_argument("--token", metavar="TOKEN", help="show only the execution with this token")
    command.add_argument("--failed", action="store_true", help="show only executions that failed, handled or not")
    command.add_argument("--full", action="store_true", help="show whole values, and tracebacks")


async def show(app: Application, given: Namespace) -> int:
    """Print the history of a run."""
    asked = HistoryOfRun(run_id=given.run_id, node=given.node, token_id=given.token, failed=given.failed)
    shown = JsonList() if given.json else None
    async for one in show_history(app, asked):
        if shown is not None:
            shown.add(as_json(one))
        else:
            print_execution(one, full=given.full)
    if shown is not None:
        shown.end()
    return 0


def print_execution(one: ExecutionRecord, *, full: bool) -> None:
    """Print one execution of a node; without `full`, values are shortened and tracebacks left out."""
    style, mark = _STYLES.get(one.status, ("warning", "…"))
    took = "under way" if one.took_ms is None else f"{one.took_ms / 1000:.3f} s"
    place = color("dim", f"{one.path_id} {one.token_id}")
    print(f"{color(style, mark)} {visible(one.node)}  {one.status}, {took}  {place}")
    for name, value in (("item", one.item), ("input", one.input), ("output", one.output)):
        if value is not UNSET:
            print(f"  {name:<7} {_shown(value, full)}")
    for query in one.found_nothing:
        print(f"  {color('warning', 'warning')} {visible(query)} found nothing, and a schema requires the value")
    if one.output_cut is not None:
        print(f"  output  {_cut(one.output_cut, full)}")
    for path, value in one.changes:
        print(f"  wrote   {visible(_path(path))} = {_shown(value, full)}")
    for attempt in one.attempts:
        if len(one.attempts) > 1 or attempt.outcome != "completed":
            _print_attempt(attempt, full)
    if one.error is not None and not any(attempt.error for attempt in one.attempts):
        _print_error("  ", one.error, full)


def _print_attempt(one: AttemptRecord, full: bool) -> None:
    at = "" if one.started_ms is None else f" {color('dim', shown_clock(one.started_ms))}"
    if one.outcome == "lost":
        print(f"  attempt {one.attempt}:{at} {color('warning', f'lost with its {one.lost_with}')}")
    elif one.error is None:
        print(f"  attempt {one.attempt}:{at} {one.outcome}")
    else:
        _print_error(f"  attempt {one.attempt}:{at} ", one.error, full)


def _print_error(place: str, error: AttemptError, full: bool) -> None:
    print(f"{place}{color('error', visible(error.code))}: {visible_lines(error.message)}")
    trace = error.details.get("traceback") if isinstance(error.details, dict) else None
    if isinstance(trace, list) and full:
        print(textwrap.indent("\n".join(visible(str(frame)) for frame in trace), "      "))
    elif isinstance(trace, list):
        print(color("dim", "      --full shows the traceback"))


def _shown(value: Any, full: bool) -> str:
    text = encode_json(value)
    return visible(text if full or len(text) <= _VALUE_SHOWN else text[:_VALUE_SHOWN] + "… (--full shows all)")


def _cut(told: dict[str, Any], full: bool) -> str:
    start = str(told["start"]) if full else str(told["start"])[:_VALUE_SHOWN]
    where = f"all of it is the {told['kept_as']}" if "kept_as" in told else f"the rest is lost: {told['lost']}"
    return visible(f"{start}… ({told['bytes']:,} bytes; {where})")


def _path(path: Any) -> str:
    return ".".join(map(str, path)) if isinstance(path, list) else str(path)
