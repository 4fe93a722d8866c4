"""Families: callers and their sub-workflows say the same of each other (ACT-5, CTL-16)."""

from collections.abc import Iterator
from typing import Any

from wonder.checker.definitions import Definition
from wonder.checker.stored import ENDED, Event, StoredRun
from wonder.checker.violations import Violation
from wonder.storage.store import Reader


def check_children(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Compare what a run's tokens say of the sub-workflows that they called with those runs' own rows."""
    called: dict[str, Event] = {}
    for event in run.events:
        wait = event.metadata.get("wait") or {}
        if event.type == "token_suspended" and wait.get("kind") == "workflow_call":
            called[wait["child_run_id"]] = event
    children = {row["id"]: row for row in run.children}
    for id, row in children.items():
        call = called.get(id)
        if call is None:
            yield Violation("children", run.id, f"run {id} says that it is called by this one, which did not call it")
            continue
        told = (row["parent_token_id"], row["parent_node_id"], row["depth"])
        if told != (call.token_id, call.node_id, run.row["depth"] + 1):
            message = (
                f"run {id} says that token {told[0]} of {told[1]} called it, "
                f"and event {call.sequence} that token {call.token_id} of {call.node_id} did"
            )
            yield Violation("children", run.id, message)
    resumed = {event.token_id: event for event in run.events if event.type == "token_resumed"}
    for id, call in called.items():
        if (resuming := resumed.get(call.token_id)) is not None:
            yield from _check_outcome(run, definition, id, resuming, children.get(id))


def _check_outcome(
    run: StoredRun, definition: Definition, child_id: str, event: Event, child: dict[str, Any] | None
) -> Iterator[Violation]:
    if "run_id" in event.metadata and child is None:
        return  # Another one, with the same key, had completed: none was started.
    by, node = event.metadata["by"], definition.nodes.get(event.node_id or "")
    status = None if child is None else child["status"]
    possible: dict[str, tuple[str | None, ...]] = {
        # One that could not be started has no row, and has failed; a failure that is caught is told as an output.
        "child": ("completed", "failed", "cancelled", None) if node and node.catches else ("completed",),
        "CHILD_FAILED": ("failed", None),
        "CHILD_CANCELLED": ("cancelled",),
    }
    if status not in possible.get(by, (status,)):
        is_now = status or "not there"
        message = f"event {event.sequence} says that the sub-workflow {child_id} has ended ({by}), and it is {is_now}"
        yield Violation("children", run.id, message)


async def check_parent(reader: Reader, run: StoredRun) -> list[Violation]:
    """Look for a run whose caller is not there."""
    parent = run.row["parent_run_id"]
    if parent is None or await reader.fetch("checker_position", parent):
        return []
    return [Violation("children", run.id, f"it is called by run {parent}, which is not there")]


def check_family_at_rest(run: StoredRun) -> list[Violation]:
    """Once all is at rest, a call and its sub-workflow are both over, or neither."""
    found = []
    live = {row["id"]: row["status"] for row in run.tokens if row["ended_ms"] is None}
    for child in run.children:
        ended, waits = child["status"] in ENDED, child["parent_token_id"] in live
        if ended == waits:
            does = "waits" if waits else "does not wait"
            message = f"the sub-workflow {child['id']} is {child['status']}, and the token that called it {does}"
            found.append(Violation("overdue", run.id, message))
    return found
