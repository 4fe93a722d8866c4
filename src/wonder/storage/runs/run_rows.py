"""Run rows: the run's own row, written at most once per batch, and its context, from the first old to the last new."""

from collections.abc import Iterator
from typing import Final

from wonder.context.plan import Context, changed_paths
from wonder.context.rows import Writes
from wonder.context.writes import gather
from wonder.engine.decisions import EndRun, SetRunStatus, StartRun, WriteContext
from wonder.engine.restore import RunRow
from wonder.language.paths import Path
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import to_json
from wonder.storage.runs.count_rows import CountRows
from wonder.storage.runs.records import NewRun, Recorded
from wonder.storage.store import Entry, Value

# Places in the row of insert_run.
_STATUS: Final = 5
_INPUT: Final = 19
_OUTPUT: Final = 20
_ERROR: Final = 21
_STARTED: Final = 23
_COMPLETED: Final = 24

# Status, why it is paused, the item that it waits for, what is left of its time-out.
_Status = tuple[str, str | None, str | None, int | None]


class _Written:
    """The context of a run as a batch found it and as it leaves it, and the places where it has written.

    Kept here and not read from the run when the batch is committed: by then the run may be further on.
    """

    __slots__ = ("new", "old", "paths", "plan", "run_id")

    def __init__(self, record: Recorded, old: Context | None, new: Context) -> None:
        self.run_id, self.plan, self.old, self.new = record.id, record.plan, old, new
        self.paths: list[Path] = []

    def writes(self) -> Writes:
        """Give what brings the context tables up to date."""
        if self.old is None:
            return self.plan.insert(self.run_id, self.new)
        return self.plan.changes(self.run_id, self.old, self.new, changed_paths(self.paths))


class RunRows:
    """The runs that a batch makes or changes."""

    def __init__(self) -> None:
        self._new: dict[str, list[Value]] = {}
        # Of runs that have a row already: what update_run is to write.
        self._changed: dict[str, list[Value]] = {}
        self._contexts: dict[str, _Written] = {}
        self.counts = CountRows()

    def insert(self, run: NewRun) -> None:
        """Note a run that was accepted."""
        self._new[run.id] = run.row()
        self.counts.add(run)

    def start(self, record: Recorded, decision: StartRun, now_ms: int) -> None:
        """Note that a run starts, with the context that it begins with."""
        self._begin(record, decision.input, decision.state, {}, now_ms)

    def adopt(self, record: Recorded, run: RunRow, now_ms: int) -> None:
        """Note that a run begins as another one was."""
        self._begin(record, run.input, run.state, run.output, now_ms)
        self._set_status(record, (run.status, run.paused, run.gate_item_id, run.timeout_left_ms))

    def _begin(self, record: Recorded, run_input: JsonValue, state: JsonValue, output: JsonValue, now_ms: int) -> None:
        record.state, record.output = state, output
        self._contexts[record.id] = _Written(record, None, _context(run_input, state, output))
        row = self._new.get(record.id)
        if row is not None:
            row[_INPUT], row[_STARTED] = None, now_ms
        else:
            self._change(record)[5] = now_ms

    def set_status(self, record: Recorded, decision: SetRunStatus, now_ms: int) -> None:
        """Note a status that is not final."""
        status = (decision.status, decision.paused, decision.gate_item_id, decision.timeout_left_ms)
        self._set_status(record, status)

    def _set_status(self, record: Recorded, status: _Status) -> None:
        self.counts.move(record, status[0], status[1])
        row = self._new.get(record.id)
        if row is not None:
            row[_STATUS : _STATUS + 4] = status
        else:
            self._change(record)[1:5] = status

    def pause(self, run_id: str, reason: str, left_ms: int | None) -> None:
        """Note that a run which is not in memory is paused."""
        self._changed[run_id] = [run_id, "paused", reason, None, left_ms, None, None, None, None]

    def end(self, run_id: str, decision: EndRun, now_ms: int) -> None:
        """Note the final status."""
        # The output of a run that did not complete is None, which is no output; of one that did, null is a value.
        output = to_json(decision.output) if decision.status == "completed" else None
        error = None if decision.failure is None else to_json(decision.failure)
        row = self._new.get(run_id)
        if row is not None:
            row[_STATUS : _STATUS + 4] = (decision.status, None, None, None)
            row[_INPUT], row[_OUTPUT], row[_ERROR], row[_COMPLETED] = None, output, error, now_ms
        else:
            started = self._changed[run_id][5] if run_id in self._changed else None
            self._changed[run_id] = [run_id, decision.status, None, None, None, started, output, error, now_ms]

    def write(self, record: Recorded, decision: WriteContext, now_ms: int) -> None:
        """Note changes of the context."""
        written = self._contexts.get(record.id)
        if written is None:
            # With the input, which never changes: what has no column of its own is written anew together with its own.
            old = _context(record.run.input, record.state, record.output)
            written = self._contexts[record.id] = _Written(record, old, dict(old))
        written.new["state"] = record.state = decision.state
        written.new["output"] = record.output = decision.output
        written.paths += [change.path for change in decision.changes]

    @property
    def has_rows(self) -> bool:
        """Whether there are rows of runs themselves, and not only of their contexts."""
        return bool(self._new or self._changed)

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        if self._new:
            yield "insert_run", list(self._new.values())
        if self._changed:
            yield "update_run", list(self._changed.values())
        yield from self.counts.entries()

    def context_entries(self) -> Iterator[Entry]:
        """Give the statements that bring the context tables up to date."""
        writes = [written.writes() for written in self._contexts.values()]
        yield from writes[0] if len(writes) == 1 else gather(writes)

    def _change(self, record: Recorded) -> list[Value]:
        change = self._changed.get(record.id)
        if change is None:
            run = record.run
            self.counts.move(record, run.status, run.paused)
            status: list[Value] = [run.status, run.paused, run.gate_item_id, run.timeout_left_ms]
            change = self._changed[record.id] = [record.id, *status, None, None, None, None]
        return change


def _context(run_input: JsonValue, state: JsonValue, output: JsonValue) -> Context:
    return {"input": run_input, "state": state, "output": output}
