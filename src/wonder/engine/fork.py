"""Forks and retries: a new run that begins where another one was (CTL-19)."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from wonder.engine.advance import go_on
from wonder.engine.decisions import AdoptSnapshot, Decision, RecordEvent, SetTimer
from wonder.engine.ending import WORKFLOW_TIMER
from wonder.engine.events import CONTEXT_SNAPSHOT, WORKFLOW_STARTED
from wonder.engine.failure import misfit
from wonder.engine.replay import Folding
from wonder.engine.restore import BranchRow, GroupRow, RunRow, Snapshot, TokenRow, take_snapshot
from wonder.engine.state import DISPATCHED, EXECUTING, PENDING, SUSPENDED, RunState
from wonder.engine.turn import Turn
from wonder.errors import WonderError
from wonder.language.values import JsonValue

_ENDS = ("workflow_completed", "workflow_failed", "workflow_cancelled")


class ForkRefused(WonderError):
    """A run can't be forked or retried so."""

    code = "FORK_REFUSED"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def snapshot_at(events: Sequence[RecordEvent], after: int) -> Snapshot:
    """Give a run as it was after an event, or at the last moment before when it was at rest.

    Events are in order, from the first or from a snapshot on, and go beyond `after` if there are any.
    """
    rewind = Rewind(after, next((event for event in events if event.sequence > after), None))
    for event in events:
        if event.sequence <= rewind.after:
            rewind.take(event)
    return rewind.result()


class Rewind:
    """A run on its way back to an event: it is given all events up to `after`, in order, and holds none of them."""

    def __init__(self, after: int, following: RecordEvent | None) -> None:
        """Begin; `following` is the event behind `after`. Raises ForkRefused if there is none."""
        if following is None:
            raise ForkRefused(f"event {after} is the last one: the run can't be forked behind its end")
        self.after = following.step - 1 if following.step < following.sequence else after
        """The last event at or before the one asked for after which the run was at rest."""
        self._folding = Folding("")
        self._has_started = self._has_ended = False

    def take(self, event: RecordEvent) -> None:
        """Take the next event."""
        self._has_started = self._has_started or event.type in ("workflow_started", "context_snapshot")
        self._has_ended = self._has_ended or event.type in _ENDS
        self._folding.take(event)

    def result(self) -> Snapshot:
        """Give the run as it was then; raises ForkRefused if it had not started, or had ended."""
        if not self._has_started:
            raise ForkRefused(f"the run had not started at event {self.after}; start a new run instead")
        if self._has_ended:
            raise ForkRefused(f"the run had ended at event {self.after}; choose an earlier one")
        return self._folding.result()


def retry_point(events: Sequence[RecordEvent]) -> int:
    """Give the event after which a failed run has to begin again: the last one before the failure."""
    failed = next((event for event in reversed(events) if event.type == "workflow_failed"), None)
    if failed is None:
        raise ForkRefused("the run has not failed; only a failed run can be retried")
    return failed.step - 1


def fork(
    run: RunState,
    snapshot: Snapshot,
    *,
    now_ms: int,
    new_id: Callable[[], str],
    state: JsonValue = None,
    over_time: Callable[[], bool] | None = None,
    whole_timeout: bool = False,
) -> list[Decision]:
    """Begin a fresh run as another one was; `state` replaces its state, if given.

    What workers had is pending again, gates and sub-workflows begin anew, timers keep their due time; only the
    workflow's own time-out, if it has one, begins again where `whole_timeout` says so.
    """
    if state is not None:
        faults = run.workflow.state_check.whole_faults(state)
        if not isinstance(state, dict) or faults:
            why = misfit("CONTEXT_SCHEMA", "the changed state", faults).message if faults else "state is an object"
            raise ForkRefused(why)
    renamed, kept_due = _Renaming(snapshot, new_id).renamed(run, state, now_ms)
    if whole_timeout:
        renamed.run.timers.pop(WORKFLOW_TIMER, None)
        if run.timeout_ms is not None:
            renamed.run.timers[WORKFLOW_TIMER] = now_ms + run.timeout_ms
    turn = Turn(run, now_ms, new_id, over_time)
    turn.emit(AdoptSnapshot(renamed))
    turn.record(WORKFLOW_STARTED({"input": run.input, "state": run.state}))
    turn.record(CONTEXT_SNAPSHOT({"snapshot": msgspec.to_builtins(take_snapshot(run))}))
    for key, due_ms in run.timers.items():
        turn.emit(SetTimer(key, due_ms))
    go_on(turn)
    for key, due_ms in kept_due.items():
        if key in run.timers and not run.ended:
            turn.set_timer(key, due_ms)
    return turn.decisions


class _Renaming:
    """The same rows under ids of their own, ready to begin again."""

    def __init__(self, snapshot: Snapshot, new_id: Callable[[], str]) -> None:
        self.snapshot = snapshot
        self.tokens = sorted(snapshot.tokens, key=lambda token: token.born)
        self.ids = {group.id: new_id() for group in snapshot.groups}
        self.ids |= {token.id: new_id() for token in self.tokens}

    def renamed(self, run: RunState, state: JsonValue, now_ms: int) -> tuple[Snapshot, dict[str, int]]:
        """Give the rows, and the due times of the timers that beginning again will set."""
        old = self.snapshot
        timers: dict[str, int] = {}
        kept_due: dict[str, int] = {}
        sleeping = {t.id for t in self.tokens if t.status == SUSPENDED and (t.wait or {}).get("kind") == "sleep"}
        for key, due_ms in old.run.timers.items():
            kind, _, rest = key.partition(":")
            owner, _, node_id = rest.partition(":")
            new_key = ":".join(filter(None, (kind, self.ids.get(owner, ""), node_id)))
            if kind in ("join", "workflow") or owner in sleeping:
                timers[new_key] = due_ms
            else:
                kept_due[new_key] = due_ms
        if old.run.timeout_left_ms is not None:
            timers["workflow"] = now_ms + old.run.timeout_left_ms
        row = RunRow(
            run.id,
            "running",
            0,
            old.run.input,
            old.run.state if state is None else state,
            old.run.output,
            timers=timers,
            loops=old.run.loops,
            tokens_made=len(self.tokens),
        )
        tokens = [self._token(token, number) for number, token in enumerate(self.tokens, 1 - len(self.tokens))]
        groups = [self._group(group) for group in old.groups]
        branches: list[BranchRow] = [replace(b, group_id=self.ids[b.group_id]) for b in old.branches]
        return Snapshot(row, tokens, groups, branches), kept_due

    def _token(self, token: TokenRow, born: int) -> TokenRow:
        """Rename a token; it is older than all that the new run makes, whose first event has the number 1."""
        new = replace(
            token,
            id=self.ids[token.id],
            group_id=self._new(token.group_id),
            waits_group_id=self._new(token.waits_group_id),
            born=born,
            losses=0,
        )
        asleep = (token.wait or {}).get("kind") == "sleep"
        if token.status in (DISPATCHED, EXECUTING) or (token.status == SUSPENDED and not asleep):
            new.status, new.wait, new.input = PENDING, None, None
        return new

    def _group(self, group: GroupRow) -> GroupRow:
        return replace(group, id=self.ids[group.id], outer_group_id=self._new(group.outer_group_id))

    def _new(self, id: str | None) -> str | None:
        return None if id is None else self.ids[id]
