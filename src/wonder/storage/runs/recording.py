"""Recording: the decisions of many runs between two commits become one batch of rows, each row written once."""

from collections.abc import Callable, Sequence
from typing import Any

from wonder.engine.decisions import (
    AbandonBranch,
    AdoptSnapshot,
    AwaitEvent,
    CancelTimer,
    CloseGroup,
    CreateToken,
    Decision,
    DispatchTask,
    EndBranch,
    EndLive,
    EndRun,
    EnterJoin,
    FireJoin,
    FireTriggers,
    MoveToken,
    MoveTrigger,
    OpenFanOut,
    RecordEvent,
    ReleaseToken,
    RequestInput,
    RestartToken,
    RetryRun,
    SendMetric,
    SetLoop,
    SetRunStatus,
    SetTimer,
    StartRun,
    StopAwaiting,
    SuspendToken,
    UpdateInput,
    WithdrawInput,
    WriteBranchOutput,
    WriteContext,
)
from wonder.engine.ending import WORKFLOW_TIMER
from wonder.engine.restore import Snapshot
from wonder.engine.state import CANCELLED, FAILED
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import to_json_or_null
from wonder.storage.runs.event_rows import EventRows
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.indexed_events import INDEXED, index_row
from wonder.storage.runs.listed_rows import ListedRows
from wonder.storage.runs.metric_rows import MetricRows
from wonder.storage.runs.outside import OutsideEvent
from wonder.storage.runs.records import NewRun, Recorded, shown_status
from wonder.storage.runs.run_rows import RunRows
from wonder.storage.runs.scope_rows import ScopeRows
from wonder.storage.runs.snapshots import snapshot_row
from wonder.storage.runs.token_rows import TokenRows
from wonder.storage.runs.trigger_rows import TriggerRows
from wonder.storage.runs.wait_rows import TELLING, WaitRows
from wonder.storage.store import Entry, Row, Value

Take = Callable[[Any, Recorded, Any, int], None]
# Events that more is written of than themselves: looked for once, as most are none of them.
_HEARD = TELLING | INDEXED


class Batch:
    """What is to be written with the next commit; once `entries` was asked, nothing more can be added."""

    def __init__(self) -> None:
        self._runs = RunRows()
        self._tokens = TokenRows()
        # Most batches have nothing to say there, and a lone run makes a batch for each node.
        self._scopes_if_any: ScopeRows | None = None
        self._waits_if_any: WaitRows | None = None
        self._metrics_if_any: MetricRows | None = None
        self._triggers_if_any: TriggerRows | None = None
        self._listed_if_any: ListedRows | None = None
        self._events = EventRows()
        self._indexed: list[Row] = []
        self._snapshots: list[Row] = []
        self._answers: list[Row] = []
        self._extensions: list[Entry] = []
        self._others: dict[str, list[Sequence[Value]]] = {}
        self._ends_all = False
        self.is_empty = True

    @property
    def _itself(self) -> "Batch":
        return self

    @property
    def _scopes(self) -> ScopeRows:
        if self._scopes_if_any is None:
            self._scopes_if_any = ScopeRows()
        return self._scopes_if_any

    @property
    def _waits(self) -> WaitRows:
        if self._waits_if_any is None:
            self._waits_if_any = WaitRows()
        return self._waits_if_any

    @property
    def _metrics(self) -> MetricRows:
        if self._metrics_if_any is None:
            self._metrics_if_any = MetricRows()
        return self._metrics_if_any

    @property
    def _triggers(self) -> TriggerRows:
        if self._triggers_if_any is None:
            self._triggers_if_any = TriggerRows()
        return self._triggers_if_any

    @property
    def _listed(self) -> ListedRows:
        if self._listed_if_any is None:
            self._listed_if_any = ListedRows()
        return self._listed_if_any

    def start(self, run: NewRun) -> None:
        """Add a run that was accepted; its first decisions may follow in the same batch."""
        self.is_empty = False
        self._runs.insert(run)
        if run.origin is not None:
            self._triggers.begin(run)

    def add(self, record: Recorded, decisions: Sequence[Decision], now_ms: int) -> None:
        """Add the decisions of one turn, which the run's state has taken in already.

        To be called before the run has another turn: rows of branches are read from its state, here and now.
        """
        self.is_empty = False
        takers = _TAKERS
        events: list[RecordEvent] = []
        for decision in decisions:
            if type(decision) is RecordEvent:
                events.append(decision)
                if decision.type in _HEARD:
                    self._hear(record, decision)
                if decision.cost_usd:
                    self._listed.spend(record, decision.cost_usd)
            else:
                take = takers.get(type(decision))
                if take is not None:
                    take[1](getattr(self, take[0]), record, decision, now_ms)
        if events:
            self._events.add(record, events)
        scopes = self._scopes_if_any
        if scopes is not None and scopes.is_touched:
            scopes.finish(record)

    def end_unloaded(
        self, header: RunHeader, events: Sequence[RecordEvent], end: EndRun, now_ms: int, *, keeps_input: bool
    ) -> None:
        """Add the end of a run that is not in memory, and of all that is live in it."""
        self.is_empty = False
        self._end_all(header.id, CANCELLED, now_ms, keeps_input=keeps_input)
        self._events.add_unloaded(header, events)
        self._index(header.project_id, header.id, events)
        self._runs.end(header.id, end, now_ms)
        self._runs.counts.move_unloaded(header, end.status)

    def pause_unloaded(self, header: RunHeader, event: RecordEvent, reason: str, left_ms: int | None) -> None:
        """Add that a run which is not in memory is paused; its workflow's timer goes with it."""
        self.is_empty = False
        self._events.add_unloaded(header, [event])
        self._index(header.project_id, header.id, [event])
        self._runs.pause(header.id, reason, left_ms)
        self._runs.counts.move_unloaded(header, shown_status("paused", reason))
        self._waits.drop_timer(header.id, WORKFLOW_TIMER)

    def snapshot(self, snapshot: Snapshot, now_ms: int) -> None:
        """Add a snapshot of a run."""
        self.is_empty = False
        self._snapshots.append(snapshot_row(snapshot, now_ms))

    def keep_answer(self, item_id: str, answer: JsonValue) -> None:
        """Add what a person answered; that the item is answered comes with the decisions."""
        self._waits.keep_answer(item_id, answer)

    def keep_event(self, event: OutsideEvent, *, used: bool) -> None:
        """Add an event from outside; one that woke somebody is kept only for its sender's id, if it has one."""
        if not used or event.sender_id is not None:
            self.is_empty = False
            self._waits.keep_event(event.row(used=used))

    def use_event(self, id: str, now_ms: int) -> None:
        """Add that a kept event was given to a token that came to wait for it."""
        self.is_empty = False
        self._waits.use_event(id, now_ms)

    def answer_request(self, id: str, now_ms: int, result: JsonValue = None, error: JsonValue = None) -> None:
        """Add the answer to a request of another process, which is carried out with this batch."""
        self.is_empty = False
        self._answers.append((id, to_json_or_null(result), to_json_or_null(error), now_ms))

    def note_retry_made(self, run_id: str) -> None:
        """Add that a triggered run was retried, as the run that is added as well, or that it can't be."""
        self.is_empty = False
        self._triggers.retried(run_id)

    def extend_budgets(self, extension: Entry) -> None:
        """Add what a person has given budgets beyond their limit; their answer comes with it."""
        self.is_empty = False
        self._extensions.append(extension)

    def write(self, entry: Entry) -> None:
        """Add rows that are of no run, such as what a schedule has done; no row may be written twice."""
        self.is_empty = False
        query, rows = entry
        self._others.setdefault(query, []).extend(rows)

    def entries(self) -> list[Entry]:
        """Give all statements with their rows, in the order in which they are to be run."""
        entries = [*self._runs.entries(), *self._tokens.entries()]
        if self._scopes_if_any is not None:
            entries += self._scopes_if_any.entries()
        if self._waits_if_any is not None:
            entries += self._waits_if_any.entries()
        entries += self._events.entries()
        if self._indexed:
            entries.append(("insert_indexed_events", self._indexed))
        entries += self._runs.context_entries()
        if self._snapshots:
            entries.append(("put_snapshot", self._snapshots))
        if self._answers:
            entries.append(("answer_request", self._answers))
        entries += self._extensions
        entries += self._others.items()
        if self._metrics_if_any is not None:
            entries += self._metrics_if_any.entries()
        if self._triggers_if_any is not None:
            entries += self._triggers_if_any.entries()
        if self._listed_if_any is not None:
            entries += self._listed_if_any.entries()
        return entries

    def is_independent(self, entries: Sequence[Entry]) -> bool:
        """Say whether no two of the batch's statements touch the same row."""
        # Each row is written once, whatever happened to it. Only lists of a context that are made anew delete rows
        # whose keys others then take, and the end of all tokens of a run may find rows that were just written.
        return not (self._ends_all or any(query.startswith("DELETE ") for query, _ in entries))

    @property
    def only_goes_on(self) -> bool:
        """Whether runs have gone on by some steps, and nobody outside waits for anything in it."""
        return not (
            self._runs.has_rows
            or self._scopes_if_any
            or self._waits_if_any
            or self._metrics_if_any
            or self._triggers_if_any
            or self._snapshots
            or self._answers
            or self._extensions
            or self._others
        )

    def _hear(self, record: Recorded, event: RecordEvent) -> None:
        if event.type in TELLING:
            self._waits.hear(record, event)
        if event.type in INDEXED:
            self._indexed.append(index_row(record.project_id, record.id, event))

    def _index(self, project_id: str, run_id: str, events: Sequence[RecordEvent]) -> None:
        self._indexed += [index_row(project_id, run_id, event) for event in events if event.type in INDEXED]

    def _adopt(self, record: Recorded, decision: AdoptSnapshot, now_ms: int) -> None:
        snapshot = decision.snapshot
        self._runs.adopt(record, snapshot.run, now_ms)
        self._scopes.adopt(record, snapshot)
        for token in snapshot.tokens:
            self._tokens.adopt(record, token, now_ms)

    def _end_live(self, record: Recorded, decision: EndLive, now_ms: int) -> None:
        self._end_all(record.id, decision.status, now_ms, keeps_input=record.run.limits.record_io != "none")
        record.groups.clear()

    def _end_all(self, run_id: str, status: str, now_ms: int, *, keeps_input: bool) -> None:
        self._ends_all = True
        self._tokens.end_all(run_id, status, now_ms, keeps_input=keeps_input)
        self._scopes.end_all(run_id)
        self._waits.end_all(run_id, now_ms)

    def _end_run(self, record: Recorded, decision: EndRun, now_ms: int) -> None:
        self._runs.end(record.id, decision, now_ms)
        self._runs.counts.move(record, decision.status, None)
        if decision.status == FAILED:
            self._listed.fail(record, decision)
        self._scopes.end_run(record)

    def _enter_join(self, record: Recorded, decision: EnterJoin, now_ms: int) -> None:
        self._tokens.join(record, decision, now_ms)
        self._scopes.touch(decision.group_id, decision.branch_index)

    def _touch(self, record: Recorded, decision: WriteBranchOutput | EndBranch | AbandonBranch, now_ms: int) -> None:
        self._scopes.touch(decision.group_id, decision.branch_index)


# Which part of a batch takes a decision, and how. Functions, and not methods of the batch: one that held those would
# hold itself, and all its rows would stay in memory until the garbage collector comes.
_TAKERS: dict[type, tuple[str, Take]] = {
    StartRun: ("_runs", RunRows.start),
    AdoptSnapshot: ("_itself", Batch._adopt),
    SetRunStatus: ("_runs", RunRows.set_status),
    EndLive: ("_itself", Batch._end_live),
    EndRun: ("_itself", Batch._end_run),
    WriteContext: ("_runs", RunRows.write),
    CreateToken: ("_tokens", TokenRows.create),
    MoveToken: ("_tokens", TokenRows.move),
    ReleaseToken: ("_tokens", TokenRows.release),
    DispatchTask: ("_tokens", TokenRows.dispatch),
    SuspendToken: ("_tokens", TokenRows.suspend),
    RestartToken: ("_tokens", TokenRows.restart),
    EnterJoin: ("_itself", Batch._enter_join),
    OpenFanOut: ("_scopes", ScopeRows.open),
    FireJoin: ("_scopes", ScopeRows.fire),
    CloseGroup: ("_scopes", ScopeRows.close),
    SetLoop: ("_scopes", ScopeRows.set_loop),
    WriteBranchOutput: ("_itself", Batch._touch),
    EndBranch: ("_itself", Batch._touch),
    AbandonBranch: ("_itself", Batch._touch),
    SetTimer: ("_waits", WaitRows.set_timer),
    CancelTimer: ("_waits", WaitRows.cancel_timer),
    RequestInput: ("_waits", WaitRows.request_input),
    UpdateInput: ("_waits", WaitRows.update_input),
    WithdrawInput: ("_waits", WaitRows.withdraw_input),
    AwaitEvent: ("_waits", WaitRows.await_event),
    StopAwaiting: ("_waits", WaitRows.stop_awaiting),
    SendMetric: ("_metrics", MetricRows.add),
    FireTriggers: ("_triggers", TriggerRows.fire),
    MoveTrigger: ("_triggers", TriggerRows.move),
    RetryRun: ("_triggers", TriggerRows.want_retry),
}
