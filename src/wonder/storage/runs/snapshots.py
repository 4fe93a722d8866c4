"""Snapshots: a whole run as one row, from which it can be rebuilt (RES-6, EVT-2)."""

from msgspec import convert

from wonder.engine.restore import Snapshot
from wonder.storage.runs.cells import from_json, to_json
from wonder.storage.store import Reader, Row


def snapshot_row(snapshot: Snapshot, at_ms: int) -> Row:
    """Give the row of a snapshot: context and tokens for people to query, and the rest of what rebuilds the run."""
    run = snapshot.run
    context = {"input": run.input, "state": run.state, "output": run.output}
    rest = {
        "status": run.status,
        "paused": run.paused,
        "gate_item_id": run.gate_item_id,
        "timeout_left_ms": run.timeout_left_ms,
        "failure": run.failure,
        "timers": run.timers,
        "loops": run.loops,
        "tokens_made": run.tokens_made,
        "groups": snapshot.groups,
        "branches": snapshot.branches,
    }
    return run.run_id, run.sequence, at_ms, to_json(context), to_json(snapshot.tokens), to_json(rest)


async def load_snapshot(reader: Reader, run_id: str, until_sequence: int | None = None) -> Snapshot | None:
    """Load a run's last snapshot, or its last at or before an event; None if there is none."""
    rows = await reader.fetch("newest_snapshot", run_id, until_sequence)
    return _snapshot(run_id, rows[0]) if rows else None


async def load_oldest_snapshot(reader: Reader, run_id: str) -> Snapshot | None:
    """Load a run's oldest kept snapshot; None if there is none."""
    rows = await reader.fetch("oldest_snapshot", run_id)
    return _snapshot(run_id, rows[0]) if rows else None


def _snapshot(run_id: str, row: Row) -> Snapshot:
    sequence, _, context, tokens, rest_cell = row
    rest = from_json(rest_cell)
    groups, branches = rest.pop("groups"), rest.pop("branches")
    run = {"run_id": run_id, "sequence": sequence, **from_json(context), **rest}
    return convert({"run": run, "tokens": from_json(tokens), "groups": groups, "branches": branches}, Snapshot)
