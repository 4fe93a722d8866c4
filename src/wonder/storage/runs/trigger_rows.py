"""Trigger rows: what triggers are to do and how far they are, and by what a run was triggered (PHS-6)."""

from collections.abc import Iterator

from wonder.engine.decisions import FireTriggers, MoveTrigger, RetryRun
from wonder.storage.runs.cells import to_json_or_null
from wonder.storage.runs.records import NewRun, Recorded
from wonder.storage.store import Entry, Row


class TriggerRows:
    """The firings that a batch makes or moves on, and the triggered runs that it begins."""

    def __init__(self) -> None:
        self._firings: list[Row] = []
        self._moved: dict[tuple[str, int], Row] = {}
        self._runs: list[Row] = []
        self._due: dict[str, int] = {}

    def fire(self, record: Recorded, decision: FireTriggers, now_ms: int) -> None:
        """Note what the triggers of a run that has completed are to do."""
        for firing in decision.firings:
            upto = 0 if firing.status == "pending" else firing.items
            place = (record.id, firing.ordinal, firing.trigger_id, firing.workflow_id)
            self._firings.append((*place, firing.status, firing.items, upto, 0, 0, to_json_or_null(firing.failure)))

    def move(self, record: Recorded, decision: MoveTrigger, now_ms: int) -> None:
        """Note how far a trigger is."""
        counts = (decision.upto, decision.started, decision.skipped, to_json_or_null(decision.failure))
        key = (record.id, decision.ordinal)
        self._moved[key] = (*key, decision.status, *counts)

    def begin(self, run: NewRun) -> None:
        """Note by what a run was triggered."""
        origin = run.origin
        assert origin is not None
        self._runs.append((run.id, *origin.row()))

    def want_retry(self, record: Recorded, decision: RetryRun, now_ms: int) -> None:
        """Note that a run, which has failed, is to be retried."""
        self._due[record.id] = 1

    def retried(self, run_id: str) -> None:
        """Note that a run has been retried, or can't be."""
        self._due[run_id] = 0

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        due: list[Row] = list(self._due.items())
        groups: list[tuple[str, list[Row]]] = [
            ("insert_trigger_firing", self._firings),
            ("move_trigger_firing", list(self._moved.values())),
            ("insert_triggered_run", self._runs),
            ("set_retry_due", due),
        ]
        for statement, rows in groups:
            if rows:
                yield statement, rows
