"""Indexed events: events of the types that people look for across runs have a row each, by type and time (EVT-1).

The types that every node and every run has are left out: a row for each of them would cost each node more than all that
it is found by. `storage/runs/finding_events.py` finds these by the runs that were under way at the time.
"""

from typing import Final

from wonder.engine.decisions import RecordEvent
from wonder.engine.events import EVENTS
from wonder.storage.store import Row

ROUTINE: Final = frozenset(
    {
        "workflow_queued",
        "workflow_started",
        "workflow_waiting",
        "workflow_completed",
        "context_snapshot",
        "token_spawned",
        "token_dispatched",
        "token_suspended",
        "token_resumed",
        "token_completed",
        "token_cancelled",
        "node_started",
        "node_completed",
        "transitions_evaluated",
        "fan_out_started",
        "fan_in_waiting",
        "fan_in_completed",
        "context_updated",
        "timer_set",
        "timer_fired",
    }
)
INDEXED: Final = frozenset(EVENTS) - ROUTINE


def index_row(project_id: str, run_id: str, event: RecordEvent) -> Row:
    """Give the row by which an event is found."""
    return run_id, event.sequence, project_id, event.type, event.at_ms, event.node_id, event.token_id
