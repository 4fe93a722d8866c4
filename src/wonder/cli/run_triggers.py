"""What a run has triggered, and what has triggered it, for people and programs (PHS-6)."""

from dataclasses import dataclass
from typing import Any

from wonder.cli.output import print_table
from wonder.storage.runs.records import Origin
from wonder.storage.runs.triggering import StoredFiring, firings_of_run, runs_triggered_by, trigger_status
from wonder.storage.store import Reader

_SHOWN = 10


@dataclass
class Triggered:
    """The triggers of a run as they stand, and the runs that they started."""

    firings: list[StoredFiring]
    run_ids: list[str]


async def load_triggered(reader: Reader, run_id: str) -> Triggered:
    """Load what a run has triggered."""
    firings = await firings_of_run(reader, run_id)
    return Triggered(firings, [id async for id in runs_triggered_by(reader, run_id)] if firings else [])


def triggered_json(triggered: Triggered) -> dict[str, Any]:
    """Give it for a program."""
    return {
        "triggerStatus": trigger_status(triggered.firings),
        "triggers": [firing.as_json() for firing in triggered.firings],
        "triggeredExecutionIds": triggered.run_ids,
    }


def print_triggered(triggered: Triggered) -> None:
    """Print it for a person."""
    if not triggered.firings:
        return
    print()
    print_table(["TRIGGER", "STATUS", "RUNS", "REASON"], [_row(firing) for firing in triggered.firings])
    for run_id in triggered.run_ids[:_SHOWN]:
        print(f"  ↳ {run_id}")
    if len(triggered.run_ids) > _SHOWN:
        print(f"  … and {len(triggered.run_ids) - _SHOWN:,} more; --json shows all")


def origin_json(origin: Origin | None) -> dict[str, Any] | None:
    """Give what has triggered a run, for a program."""
    if origin is None:
        return None
    place = {"run_id": origin.triggered_by_run_id, "trigger": origin.ordinal, "item": origin.item_index}
    return {**place, "depth": origin.depth, "attempt": origin.attempt}


def _row(firing: StoredFiring) -> list[str]:
    reason = "" if firing.failure is None else f"{firing.failure.code}: {firing.failure.message}"
    return [firing.workflow_id, firing.status, str(firing.started), reason]
