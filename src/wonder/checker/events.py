"""Events: the types that a run may have, each with its fields (EVT-1).

A list of the checker's own, so that an engine which records something else is noticed; a test compares the two lists.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from wonder.checker.stored import StoredRun
from wonder.checker.violations import Violation


class Declared(NamedTuple):
    """The fields of one type of event."""

    required: frozenset[str]
    optional: frozenset[str]


# By type: the names of its fields; those with a question mark may be missing.
_FIELDS: Final[dict[str, str]] = {
    "workflow_queued": "",
    "workflow_started": "input state",
    "context_snapshot": "snapshot",
    "workflow_waiting": "",
    "workflow_paused": "reason left_ms",
    "workflow_resumed": "",
    "workflow_timed_out": "timeout_ms",
    "workflow_extended": "extend_ms",
    "workflow_completed": "output",
    "workflow_failed": "error",
    "workflow_cancelled": "reason",
    "trigger_fired": "trigger workflow_id runs skipped? error?",
    "trigger_skipped": "trigger workflow_id runs skipped? error?",
    "trigger_failed": "trigger workflow_id runs skipped? error?",
    "token_spawned": "parent group? branch? of? held? last_error?",
    "token_dispatched": "losses? lost_with? found_nothing?",
    "token_suspended": "wait found_nothing?",
    "token_resumed": "by again? run_id?",
    "token_completed": "late_at?",
    "token_failed": "error?",
    "token_timed_out": "error?",
    "token_cancelled": "",
    "tokens_ended": "status count",
    "node_started": "",
    "node_completed": "attempts? steps? output? output_cut?",
    "node_failed": "error attempts? steps? output? output_cut?",
    "transitions_evaluated": "tiers loops?",
    "fan_out_started": "total branches group? branch?",
    "fan_in_waiting": "join group branch arrived",
    "fan_in_completed": "group join arrived total abandoned?",
    "fan_in_failed": "group join error",
    "context_updated": "changes group? branch? replaced?",
    "timer_set": "key due_ms",
    "timer_fired": "key",
    "human_input_requested": "item_id prompt",
    "human_input_claimed": "item_id by",
    "human_input_released": "item_id by",
    "human_input_delegated": "item_id by to",
    "human_input_reminded": "item_id reminders",
    "human_input_counted": "item_id by answer",
    "human_input_answered": "item_id by decision? decided_by?",
    "human_input_withdrawn": "item_id",
    "late_result_ignored": "fact item_id?",
    "artifact_written": "step artifact_id content_type size_bytes",
    "llm_call_completed": "profile model duration_ms input_tokens output_tokens cost_usd error?",
    "budget_alert": "scope id name month threshold_cents",
}


# Types that no row is written for by which they are found across runs: each node or each run has them.
_ROUTINE: Final = """
    workflow_queued workflow_started workflow_waiting workflow_completed context_snapshot token_spawned
    token_dispatched token_suspended token_resumed token_completed token_cancelled node_started node_completed
    transitions_evaluated fan_out_started fan_in_waiting fan_in_completed context_updated timer_set timer_fired
"""
NOT_INDEXED: Final = frozenset(_ROUTINE.split())


def _declared(fields: str) -> Declared:
    names = fields.split()
    return Declared(
        frozenset(name for name in names if not name.endswith("?")),
        frozenset(name.removesuffix("?") for name in names if name.endswith("?")),
    )


DECLARED: Final[dict[str, Declared]] = {type: _declared(fields) for type, fields in _FIELDS.items()}


def check_declared(run: StoredRun) -> Iterator[Violation]:
    """Look for events of unknown types, and for fields that are missing or unknown."""
    for event in run.events:
        declared = DECLARED.get(event.type)
        if declared is None:
            message = f"event {event.sequence} has the type {event.type!r}, which is not known"
            yield Violation("declared", run.id, message)
            continue
        names = event.metadata.keys()
        for what, found in (
            ("lacks", declared.required - names),
            ("has the unknown", names - declared.required - declared.optional),
        ):
            if found:
                message = f"event {event.sequence} ({event.type}) {what} {', '.join(sorted(found))}"
                yield Violation("declared", run.id, message)


def check_index(run: StoredRun) -> Iterator[Violation]:
    """Compare the rows by which events are found across runs with the events."""
    found = {
        int(row["sequence"]): (row["project_id"], row["type"], row["at_ms"], row["node_id"], row["token_id"])
        for row in run.indexed_events
    }
    for event in run.events:
        row = found.pop(event.sequence, None)
        if event.type in NOT_INDEXED:
            if row is not None:
                yield Violation(
                    "index", run.id, f"event {event.sequence} ({event.type}) is indexed, and no such type is"
                )
        elif row != (run.row["project_id"], event.type, event.at_ms, event.node_id, event.token_id):
            yield Violation("index", run.id, f"event {event.sequence} ({event.type}) is indexed as {row}")
    for number in found:
        yield Violation("index", run.id, f"event {number} is indexed, and is not there")
