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
    EndRun,
    EnterJoin,
    FireJoin,
    MoveToken,
    OpenFanOut,
    RecordEvent,
    ReleaseToken,
    RequestInput,
    RestartToken,
    SetLoop,
    SetRunStatus,
    SetTimer,
    SettleBranch,
    StartRun,
    StopAwaiting,
    SuspendToken,
    WithdrawInput,
    WriteBranchOutput,
    WriteContext,
)
from wonder.engine.restore import Snapshot
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import to_json_or_null
from wonder.storage.runs.event_rows import EventRows
from wonder.storage.runs.outside import OutsideEvent
from wonder.storage.runs.records import NewRun, Recorded
from wonder.storage.runs.run_rows import RunRows
from wonder.storage.runs.scope_rows import ScopeRows
from wonder.storage.runs.snapshots import snapshot_row
from wonder.storage.runs.token_rows import TokenRows
from wonder.storage.runs.wait_rows import TELLING, WaitRows
from wonder.storage.store import Entry, Fence, Row, Store

Take = Callable[[Any, Recorded, Any, int], None]


class Batch:
    """What is to be written with the next commit; once `entries` was asked, nothing more can be added."""

    def __init__(self) -> None:
        self._runs = RunRows()
        self._tokens = TokenRows()
        self._scopes = ScopeRows()
        self._waits = WaitRows()
        self._events = EventRows()
        self._snapshots: list[Row] = []
        self._answers: list[Row] = []
        self.is_empty = True

    def start(self, run: NewRun) -> None:
        """Add a run that was accepted; its first decisions may follow in the same batch."""
        self.is_empty = False
        self._runs.insert(run)

    def add(self, record: Recorded, decisions: Sequence[Decision], now_ms: int) -> None:
        """Add the decisions of one turn, which the run's state has taken in already.

        To be called before the run has another turn: rows of branches are read from its state, here and now.
        """
        self.is_empty = False
        takers = _TAKERS
        events: list[RecordEvent] = []
        parts = (self, self._runs, self._tokens, self._scopes, self._waits)
        for decision in decisions:
            if type(decision) is RecordEvent:
                events.append(decision)
                if decision.type in TELLING:
                    self._waits.hear(record, decision)
            else:
                take = takers.get(type(decision))
                if take is not None:
                    take[1](parts[take[0]], record, decision, now_ms)
        if events:
            self._events.add(record.id, events)
        if self._scopes.is_touched:
            self._scopes.settle(record)

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

    def entries(self) -> list[Entry]:
        """Give all statements with their rows, in the order in which they are to be run."""
        entries = [*self._runs.entries(), *self._tokens.entries(), *self._scopes.entries(), *self._waits.entries()]
        entries += self._events.entries()
        entries += self._runs.context_entries()
        if self._snapshots:
            entries.append(("put_snapshot", self._snapshots))
        if self._answers:
            entries.append(("answer_request", self._answers))
        return entries

    async def commit(self, store: Store, *, fence: Fence | None = None) -> None:
        """Write the batch; durable when this returns. Raises LeaseLost where the fence no longer stands."""
        entries = self.entries()
        # Each row is written once, whatever happened to it. Only lists of a context that are made anew delete rows
        # whose keys others then take.
        independent = not any(query.startswith("DELETE ") for query, _ in entries)
        await store.commit(entries, fence=fence, independent=independent)

    def _adopt(self, record: Recorded, decision: AdoptSnapshot, now_ms: int) -> None:
        snapshot = decision.snapshot
        self._runs.adopt(record, snapshot.run, now_ms)
        self._scopes.adopt(record, snapshot)
        for token in snapshot.tokens:
            self._tokens.adopt(record, token, now_ms)

    def _end_run(self, record: Recorded, decision: EndRun, now_ms: int) -> None:
        self._runs.end(record, decision, now_ms)
        self._scopes.end_run(record)

    def _enter_join(self, record: Recorded, decision: EnterJoin, now_ms: int) -> None:
        self._tokens.join(record, decision, now_ms)
        self._scopes.touch(decision.group_id, decision.branch_index)

    def _touch(self, record: Recorded, decision: WriteBranchOutput | SettleBranch | AbandonBranch, now_ms: int) -> None:
        self._scopes.touch(decision.group_id, decision.branch_index)


# Which part of a batch takes a decision (0 is the batch itself), and how. Functions, and not methods of the batch: one
# that held those would hold itself, and all its rows would stay in memory until the garbage collector comes.
_TAKERS: dict[type, tuple[int, Take]] = {
    StartRun: (1, RunRows.start),
    AdoptSnapshot: (0, Batch._adopt),
    SetRunStatus: (1, RunRows.set_status),
    EndRun: (0, Batch._end_run),
    WriteContext: (1, RunRows.write),
    CreateToken: (2, TokenRows.create),
    MoveToken: (2, TokenRows.move),
    ReleaseToken: (2, TokenRows.release),
    DispatchTask: (2, TokenRows.dispatch),
    SuspendToken: (2, TokenRows.suspend),
    RestartToken: (2, TokenRows.restart),
    EnterJoin: (0, Batch._enter_join),
    OpenFanOut: (3, ScopeRows.open),
    FireJoin: (3, ScopeRows.fire),
    CloseGroup: (3, ScopeRows.close),
    SetLoop: (3, ScopeRows.set_loop),
    WriteBranchOutput: (0, Batch._touch),
    SettleBranch: (0, Batch._touch),
    AbandonBranch: (0, Batch._touch),
    SetTimer: (4, WaitRows.set_timer),
    CancelTimer: (4, WaitRows.cancel_timer),
    RequestInput: (4, WaitRows.request_input),
    WithdrawInput: (4, WaitRows.withdraw_input),
    AwaitEvent: (4, WaitRows.await_event),
    StopAwaiting: (4, WaitRows.stop_awaiting),
}
