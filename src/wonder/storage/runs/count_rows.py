"""Count rows: how many runs a workflow has in each status, as what a batch adds to it and takes from it.

They are written with the rows of the runs, so that they are never wrong. What the engine adds and what retention takes
are rows of their own, which are summed when they are read: neither waits for the other.
"""

from collections.abc import Iterator
from typing import Final

from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.records import NewRun, Recorded, shown_status
from wonder.storage.store import Entry

# Which rows are the engine's; those of retention are written by `uncount_run`.
_ENGINE: Final = 0


class CountRows:
    """What a batch changes of the counts."""

    def __init__(self) -> None:
        # By project, definition and status.
        self._changes: dict[tuple[str, str, str], int] = {}

    def add(self, run: NewRun) -> None:
        """Count a run that was accepted, as queued."""
        self._change((run.project_id, run.workflow_def_id, "queued"), 1)

    def move(self, record: Recorded, status: str, paused_reason: str | None) -> None:
        """Count a run under another status than before."""
        now = shown_status(status, paused_reason)
        if record.counted_as != now:
            self._change((record.project_id, record.definition_id, record.counted_as), -1)
            self._change((record.project_id, record.definition_id, now), 1)
            record.counted_as = now

    def move_unloaded(self, header: RunHeader, now: str) -> None:
        """Count a run that is not in memory under another status than before."""
        before = shown_status(header.status, header.paused_reason)
        self._change((header.project_id, header.workflow_def_id, before), -1)
        self._change((header.project_id, header.workflow_def_id, now), 1)

    def entries(self) -> Iterator[Entry]:
        """Give the statement with its rows."""
        # Sorted, because two processes that change the same rows in different order would deadlock.
        rows = [(*key, _ENGINE, change) for key, change in sorted(self._changes.items()) if change]
        if rows:
            yield "add_run_count", rows

    def _change(self, key: tuple[str, str, str], by: int) -> None:
        self._changes[key] = self._changes.get(key, 0) + by
