"""How a run stands: how far its nodes are, and whether anything but a person or an outside event can move it on."""

from typing import NamedTuple

from wonder.language.values import encode_json
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.cells import from_json, number, text
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.reading import InboxItem, inbox_of_run
from wonder.storage.store import Reader

# The workflow's own time-out ends a run or asks a person, and a reminder reminds one: neither moves it on.
_NOT_MOVING = ("workflow", "remind:")
# How long a node waits for a person, an event, a sub-workflow or a function at most.
_LIMITS = ("deadline:", "event:", "task:", "action:", "function:")
_OUTSIDE = ("human_input", "wait_for_event", "budget", "function")


class NodeCount(NamedTuple):
    """How many tokens a node has in a status."""

    node_id: str
    status: str
    tokens: int


async def count_tokens(reader: Reader, run_id: str) -> list[NodeCount]:
    """Count a run's tokens by node and status."""
    rows = await reader.fetch("count_tokens_of_run", run_id)
    return [NodeCount(text(node_id), text(status), number(count)) for node_id, status, count in rows]


async def only_outside_moves(reader: Reader, header: RunHeader, *, before_limits: bool = False) -> bool:
    """Say whether only a person or an outside event can move a run on, its sub-workflows looked into (CMD-4).

    With `before_limits`, the deadlines and time-outs of what it waits for do not count as moving it on.
    """
    seen = {header.id: header.sequence}
    if not await _waits_for_outside(reader, header, seen, before_limits):
        return False
    # It was read bit by bit: that is how it stands only if nothing has moved meanwhile.
    for run_id, sequence in seen.items():
        if (await load_header(reader, run_id)).sequence != sequence:
            return False
    return True


async def _waits_for_outside(reader: Reader, header: RunHeader, seen: dict[str, int], before_limits: bool) -> bool:
    """Look at a run and the sub-workflows that it waits for, noting the last event of each."""
    if header.status == "paused":
        return True
    if header.status != "waiting":
        return False
    ids = encode_json([header.id])
    timers = [text(key) for _, key, _ in await reader.fetch("timers_of_runs", ids)]
    if any(not key.startswith(_NOT_MOVING) and not (before_limits and key.startswith(_LIMITS)) for key in timers):
        return False
    children: list[str] = []
    for row in await reader.fetch_named("live_tokens_of_runs", ids):
        wait = from_json(row["state_data"]) or {}
        kind = wait.get("kind")
        if kind == "workflow_call":
            children.append(wait["child_run_id"])
        elif text(row["status"]) == "suspended" and kind not in _OUTSIDE:
            return False
    for child_id in children:
        try:
            child = await load_header(reader, child_id)
        except NotFound:
            # It is about to start.
            return False
        seen[child_id] = child.sequence
        if not await _waits_for_outside(reader, child, seen, before_limits):
            return False
    return True


async def open_questions(reader: Reader, run_id: str) -> list[InboxItem]:
    """List what a run, and the sub-workflows that it waits for, ask people and nobody has answered."""
    found = [item for item in await inbox_of_run(reader, run_id) if item.status == "open"]
    for row in await reader.fetch_named("live_tokens_of_runs", encode_json([run_id])):
        wait = from_json(row["state_data"]) or {}
        if wait.get("kind") == "workflow_call":
            found += await open_questions(reader, wait["child_run_id"])
    return found


class AwaitedEvent(NamedTuple):
    """An event from outside that a run waits for; without a key, None."""

    run_id: str
    event: str
    key: str | None


async def awaited_events(reader: Reader, run_id: str) -> list[AwaitedEvent]:
    """List the events that a run, and the sub-workflows that it waits for, wait for."""
    found: list[AwaitedEvent] = []
    for row in await reader.fetch_named("live_tokens_of_runs", encode_json([run_id])):
        wait = from_json(row["state_data"]) or {}
        if wait.get("kind") == "wait_for_event":
            found.append(AwaitedEvent(run_id, wait["event"], wait.get("key")))
        elif wait.get("kind") == "workflow_call":
            found += await awaited_events(reader, wait["child_run_id"])
    return found
