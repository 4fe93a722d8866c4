"""Stored runs: all rows of one run, as they are in the tables."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from wonder.checker.values import read
from wonder.storage.store import Reader, Value

_TRIES: Final = 5
_JSON: Final = frozenset(
    {
        "input",
        "output",
        "error",
        "last_error",
        "state_data",
        "segments",
        "fired",
        "replaced",
        "schema",
        "answer",
        "context",
        "progress",
    }
    | {"tokens", "rest"}
)

Fields = dict[str, Any]
# Names one branch: the id of its group, and its number; of the run itself None and 0.
Scope = tuple[str | None, int]


class Event(NamedTuple):
    """One event."""

    sequence: int
    step: int
    type: str
    at_ms: int
    node_id: str | None
    token_id: str | None
    path_id: str | None
    metadata: dict[str, Any]


@dataclass
class StoredRun:
    """One run with all its rows; JSON is decoded, the rest is as the columns have it."""

    id: str
    row: Fields
    events: list[Event] = field(default_factory=list)
    event_rows: list[tuple[int, int, int | None]] = field(default_factory=list)
    """The numbers of the first and last event in each row, and the tokens made until then where it says so."""
    indexed_events: list[Fields] = field(default_factory=list)
    """The rows by which events are found across runs."""
    tokens: list[Fields] = field(default_factory=list)
    groups: list[Fields] = field(default_factory=list)
    branches: list[Fields] = field(default_factory=list)
    loops: list[Fields] = field(default_factory=list)
    timers: dict[str, int] = field(default_factory=dict)
    inbox_items: list[Fields] = field(default_factory=list)
    event_waits: list[Fields] = field(default_factory=list)
    snapshots: list[Fields] = field(default_factory=list)
    children: list[Fields] = field(default_factory=list)
    firings: list[Fields] = field(default_factory=list)
    triggered: list[Fields] = field(default_factory=list)
    origin: Fields | None = None
    """By what it was triggered."""

    @property
    def has_ended(self) -> bool:
        """Whether the row says that the run is over."""
        return self.row["status"] in ENDED


ENDED: Final = frozenset({"completed", "failed", "cancelled"})


async def load_run(reader: Reader, run_id: str) -> StoredRun | None:
    """Load one run; None if it is gone, or has moved on again and again while it was read."""
    for _ in range(_TRIES):
        before = await reader.fetch("checker_position", run_id)
        if not before:
            return None
        run = await _load(reader, run_id)
        if await reader.fetch("checker_position", run_id) == before:
            return run
    return None


async def _load(reader: Reader, run_id: str) -> StoredRun:
    row = (await _rows(reader, "checker_run", run_id))[0]
    run = StoredRun(run_id, row)
    run.event_rows = [
        (int(str(first)), int(str(last)), None if made is None else int(str(made)))
        for first, last, made in await reader.fetch("checker_event_rows", run_id)
    ]
    run.events = [_event(cells) for cells in await reader.fetch("checker_events", run_id)]
    run.indexed_events = await _rows(reader, "checker_indexed_events", run_id)
    run.tokens = await _rows(reader, "checker_tokens", run_id)
    run.groups = await _rows(reader, "checker_groups", run_id)
    run.branches = await _rows(reader, "checker_branches", run_id)
    run.loops = await _rows(reader, "checker_loops", run_id)
    run.timers = {str(key): int(str(due_ms)) for key, due_ms in await reader.fetch("checker_timers", run_id)}
    run.inbox_items = await _rows(reader, "checker_inbox_items", run_id)
    run.event_waits = await _rows(reader, "checker_event_waits", run_id)
    run.snapshots = await _rows(reader, "checker_snapshots", run_id)
    run.children = await _rows(reader, "checker_children", run_id)
    run.firings = await _rows(reader, "checker_firings", run_id)
    if run.firings:
        run.triggered = await _rows(reader, "checker_triggered", run_id)
    run.origin = next(iter(await _rows(reader, "checker_origin", run_id)), None)
    return run


async def _rows(reader: Reader, query: str, run_id: str) -> list[Fields]:
    return [
        {name: read(cell) if name in _JSON else cell for name, cell in row.items()}
        for row in await reader.fetch_named(query, run_id)
    ]


def _event(cells: tuple[Value, ...]) -> Event:
    sequence, step, type, at_ms, node_id, token_id, path_id, metadata = cells
    return Event(
        int(str(sequence)),
        int(str(step)),
        str(type),
        int(str(at_ms)),
        None if node_id is None else str(node_id),
        None if token_id is None else str(token_id),
        None if path_id is None else str(path_id),
        read(metadata) or {},
    )
