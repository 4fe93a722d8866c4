"""An event of a run, for people: what happened, and all that it tells, wrapped to the width of the terminal."""

import shutil
import textwrap
from typing import Final

from wonder.cli.output import color, visible
from wonder.cli.run_headers import shown_clock, shown_time
from wonder.language.values import encode_json
from wonder.operations.run_records import EventRecord

_INDENT: Final = " " * 8
_TOLD_SHOWN: Final = 4_000


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
