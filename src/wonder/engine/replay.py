"""Replay: folding a run's events gives its tokens and its context as stored (EVT-2)."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from wonder.engine.decisions import RecordEvent
from wonder.engine.failure import Failure
from wonder.engine.gate_changes import changed_question
from wonder.engine.restore import BranchRow, GroupRow, RunRow, Snapshot, TokenRow
from wonder.engine.state import (
    ARRIVED,
    DISPATCHED,
    EXECUTING,
    GONE,
    PENDING,
    SUSPENDED,
    UNDER_WAY,
    WAITING_FOR_SIBLINGS,
)
from wonder.errors import WonderError
from wonder.language.targets import write
from wonder.language.values import JsonValue


class UnknownEvent(WonderError):
    """A run has an event of a type that is not declared, so its events can't be folded."""

    code = "UNKNOWN_EVENT"

    def __init__(self, sequence: int, event_type: str) -> None:
        super().__init__(
            f"event {sequence} has the type {event_type!r}, which this version of Wonder does not know; "
            "use the version that wrote it"
        )
        self.sequence, self.event_type = sequence, event_type


def fold(events: Iterable[RecordEvent], run_id: str = "") -> Snapshot:
    """Give the run as it was after these events, which begin with the first one or with a snapshot.

    What workers were given is not told by events: `input` of tokens is missing, and so are the errors of branches.
    """
    folding = Folding(run_id)
    for event in events:
        folding.take(event)
    return folding.result()


def comparable(snapshot: Snapshot) -> Snapshot:
    """Give what of a stored run a fold must equal: all but what events do not tell."""
    # How many tokens were made is not told by a snapshot of before it was counted; the checker counts the rows.
    run = replace(snapshot.run, run_id="", failure=None, tokens_made=0)
    tokens = sorted((replace(t, input=None) for t in snapshot.tokens), key=lambda t: t.born)
    groups = sorted(snapshot.groups, key=lambda group: group.id)
    branches = [replace(branch, failure=None) for branch in snapshot.branches]
    kept = [branch for branch in branches if branch != BranchRow(branch.group_id, branch.index)]
    return Snapshot(run, tokens, groups, sorted(kept, key=lambda b: (b.group_id, b.index)))


class Folding:
    """A fold under way: it holds what is live in the run, however many events it has been given."""

    def __init__(self, run_id: str) -> None:
        self.run = RunRow(run_id, "queued", 0, {}, {}, {}, timers={}, loops={})
        self.tokens: dict[str, TokenRow] = {}
        self.groups: dict[str, GroupRow] = {}
        self.branches: dict[tuple[str, int], BranchRow] = {}
        self.arrivals: dict[str, int] = {}
        self._step = 0
        self._members: Counter[str] = Counter()
        """How many tokens and inner groups are live in each group."""
        self._emptied: set[str] = set()

    def take(self, event: RecordEvent) -> None:
        """Apply the next event."""
        if event.step != self._step:
            self._step = event.step
            # Only between steps: within one, a join fires after the last of its tokens has ended.
            self._forget_emptied()
        self.run.sequence = event.sequence
        method = FOLDED.get(event.type)
        if method is not None:
            method(self, event, event.metadata)
        elif event.type not in UNCHANGING:
            raise UnknownEvent(event.sequence, event.type)

    def result(self) -> Snapshot:
        """Give the run as it is after the events so far; more may follow."""
        under_way, live = self._under_way()
        groups = [row for row in self.groups.values() if row.id in live]
        branches = []
        for row in groups:
            for index in range(_size(row)):
                branch = self.branches.get((row.id, index)) or BranchRow(row.id, index, loops={})
                if branch.status != ARRIVED:
                    if (row.id, index) in under_way:
                        branch = replace(branch, status=UNDER_WAY)
                    else:
                        branch = replace(branch, status=GONE, entered=None)
                branches.append(branch)
        run, tokens = self.run, list(self.tokens.values())
        timers = {
            key: due for key, due in run.timers.items() if key.split(":")[0] != "join" or key.split(":")[1] in live
        }
        run = replace(run, timers=timers)
        if run.status in ("running", "waiting"):
            moving = any(t.status in (PENDING, DISPATCHED, EXECUTING) and not t.held for t in tokens)
            run.status = "waiting" if not moving and any(t.status == SUSPENDED for t in tokens) else "running"
        return comparable(Snapshot(run, tokens, groups, branches))

    def _forget_emptied(self) -> None:
        """Drop the groups in which nothing is live any more, and with them those that held nothing else."""
        while self._emptied:
            group = self.groups.get(self._emptied.pop())
            if group is None or self._members[group.id]:
                continue
            del self.groups[group.id], self._members[group.id]
            self.arrivals.pop(group.id, None)
            for index in range(_size(group)):
                self.branches.pop((group.id, index), None)
            self._leave(group.outer_group_id)

    def _leave(self, group_id: str | None) -> None:
        if group_id is not None:
            self._members[group_id] -= 1
            if not self._members[group_id]:
                self._emptied.add(group_id)

    def branch(self, group_id: str, index: int) -> BranchRow:
        row = self.branches.get((group_id, index))
        if row is None:
            row = self.branches[group_id, index] = BranchRow(group_id, index, loops={})
        return row

    def _under_way(self) -> tuple[set[tuple[str, int]], set[str]]:
        """Find the branches with something under way, and the groups with anything live."""
        under_way: set[tuple[str, int]] = set()
        live: set[str] = set()
        for token in self.tokens.values():
            group_id, index = token.group_id, token.branch_index
            moves = token.status != WAITING_FOR_SIBLINGS
            while group_id is not None:
                live.add(group_id)
                if moves:
                    under_way.add((group_id, index))
                # What was abandoned holds nobody up outside.
                branch = self.branches.get((group_id, index))
                moves = moves and not (branch is not None and branch.abandoned)
                outer = self.groups[group_id]
                group_id, index = outer.outer_group_id, outer.outer_index
        return under_way, live

    def _workflow_queued(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.status = "queued"

    def _workflow_started(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.status, self.run.input, self.run.state = "running", told["input"], told["state"]

    def _context_snapshot(self, event: RecordEvent, told: dict[str, Any]) -> None:
        snapshot = msgspec.convert(told["snapshot"], Snapshot)
        self.run = replace(snapshot.run, run_id=self.run.run_id, sequence=event.sequence)
        self.tokens = {token.id: token for token in snapshot.tokens}
        self.groups = {group.id: group for group in snapshot.groups}
        self.branches = {(branch.group_id, branch.index): branch for branch in snapshot.branches}
        self._members = Counter(row.group_id for row in snapshot.tokens if row.group_id is not None)
        self._members.update(row.outer_group_id for row in snapshot.groups if row.outer_group_id is not None)
        self._emptied = set(self.groups)
        for branch in snapshot.branches:
            self.arrivals[branch.group_id] = max(self.arrivals.get(branch.group_id, 0), branch.arrived_as)

    def _workflow_paused(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.status, self.run.paused, self.run.timeout_left_ms = "paused", told["reason"], told["left_ms"]
        self.run.timers.pop("workflow", None)

    def _workflow_resumed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.status, self.run.paused = "running", None
        self.run.gate_item_id = self.run.timeout_left_ms = None

    def _workflow_completed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self._end("completed")

    def _workflow_failed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self._end("failed")
        self.run.failure = msgspec.convert(told["error"], Failure)

    def _workflow_cancelled(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self._end("cancelled")

    def _end(self, status: str) -> None:
        self.run.status, self.run.paused, self.run.gate_item_id = status, None, None
        self.run.timers = {}

    def _token_spawned(self, event: RecordEvent, told: dict[str, Any]) -> None:
        assert event.token_id is not None
        group_id = told.get("group")
        if group_id is not None:
            self._members[group_id] += 1
        self.run.tokens_made += 1
        self.tokens[event.token_id] = TokenRow(
            event.token_id,
            str(event.node_id),
            PENDING,
            str(event.path_id),
            told["parent"],
            group_id,
            told.get("branch", 0),
            event.sequence,
            told.get("held", False),
            told.get("last_error"),
        )

    def _token_dispatched(self, event: RecordEvent, told: dict[str, Any]) -> None:
        token = self.tokens[str(event.token_id)]
        token.status, token.held, token.losses = DISPATCHED, False, told.get("losses", token.losses)

    def _node_started(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.tokens[str(event.token_id)].status = EXECUTING

    def _token_suspended(self, event: RecordEvent, told: dict[str, Any]) -> None:
        token = self.tokens[str(event.token_id)]
        token.status, token.held, token.losses, token.wait = SUSPENDED, False, 0, told["wait"]

    def _token_resumed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self._drop_timers(str(event.token_id))
        if told.get("again"):
            token = self.tokens[str(event.token_id)]
            token.status, token.wait = PENDING, None

    def _node_completed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.tokens[str(event.token_id)].held = False

    def _token_ended(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self._leave(self.tokens.pop(str(event.token_id)).group_id)
        self._drop_timers(str(event.token_id))

    def _tokens_ended(self, event: RecordEvent, told: dict[str, Any]) -> None:
        for kept in (self.tokens, self.groups, self.branches, self.arrivals, self._members, self._emptied):
            kept.clear()
        self.run.timers = {}

    def _fan_in_waiting(self, event: RecordEvent, told: dict[str, Any]) -> None:
        branch = self.branch(told["group"], told["branch"])
        if event.token_id is not None:
            token = self.tokens[event.token_id]
            token.status, token.held, token.wait, token.last_error = WAITING_FOR_SIBLINGS, False, None, None
            token.waits_at, token.waits_group_id, token.waits_index = told["join"], told["group"], told["branch"]
            branch.entered = branch.entered or told["join"]
        if told["arrived"]:
            number = self.arrivals[branch.group_id] = self.arrivals.get(branch.group_id, 0) + 1
            branch.status, branch.arrived_as = ARRIVED, number

    def _fan_in_over(self, event: RecordEvent, told: dict[str, Any]) -> None:
        group = self.groups[told["group"]]
        group.fired = sorted({*group.fired, told["join"]})
        self.run.timers.pop(f"join:{group.id}:{told['join']}", None)
        for index in told.get("abandoned", ()):
            branch = self.branch(group.id, index)
            branch.abandoned, branch.entered = True, None

    def _fan_out_started(self, event: RecordEvent, told: dict[str, Any]) -> None:
        segments = [(made["transition"], made["count"], made.get("items")) for made in told["branches"]]
        if told.get("group") is not None:
            self._members[told["group"]] += 1
        self._emptied.add(str(event.token_id))
        self.groups[str(event.token_id)] = GroupRow(
            str(event.token_id),
            str(event.node_id),
            str(event.path_id),
            told.get("group"),
            told.get("branch", 0),
            segments,
            [],
        )

    def _transitions_evaluated(self, event: RecordEvent, told: dict[str, Any]) -> None:
        token = self.tokens[str(event.token_id)]
        for transition_id, count, first_ms in told.get("loops", ()):
            holder = self.run if token.group_id is None else self.branch(token.group_id, token.branch_index)
            if count:
                holder.loops[transition_id] = (count, first_ms)
            else:
                holder.loops.pop(transition_id, None)

    def _context_updated(self, event: RecordEvent, told: dict[str, Any]) -> None:
        if "group" in told:
            branch = self.branch(told["group"], told["branch"])
            branch.output = _written({"output": branch.output}, "output", told["changes"])["output"]
            branch.replaced = told.get("replaced", branch.replaced)
            return
        roots: dict[str, JsonValue] = {"state": self.run.state, "output": self.run.output}
        for path, value in told["changes"]:
            roots, _ = write(roots, tuple(path), value)
        self.run.state, self.run.output = roots["state"], roots["output"]

    def _timer_set(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.timers[told["key"]] = told["due_ms"]

    def _timer_fired(self, event: RecordEvent, told: dict[str, Any]) -> None:
        self.run.timers.pop(told["key"], None)

    def _human_input_requested(self, event: RecordEvent, told: dict[str, Any]) -> None:
        if event.token_id is None:
            self.run.gate_item_id = told["item_id"]

    def _human_input_changed(self, event: RecordEvent, told: dict[str, Any]) -> None:
        token = self.tokens[str(event.token_id)]
        token.wait = changed_question(token.wait or {}, event.type, told, event.at_ms)

    def _drop_timers(self, token_id: str) -> None:
        for kind in ("sleep", "task", "action", "deadline", "remind", "event", "function"):
            self.run.timers.pop(f"{kind}:{token_id}", None)


def _size(group: GroupRow) -> int:
    return sum(count for _, count, _ in group.segments)


def _written(roots: dict[str, JsonValue], root: str, changes: Iterable[Any]) -> dict[str, JsonValue]:
    for path, value in changes:
        roots, _ = write(roots, (root, *path), value)
    return roots


FOLDED: Final[dict[str, Callable[[Folding, RecordEvent, Any], None]]] = {
    "workflow_queued": Folding._workflow_queued,
    "workflow_started": Folding._workflow_started,
    "context_snapshot": Folding._context_snapshot,
    "workflow_paused": Folding._workflow_paused,
    "workflow_resumed": Folding._workflow_resumed,
    "workflow_completed": Folding._workflow_completed,
    "workflow_failed": Folding._workflow_failed,
    "workflow_cancelled": Folding._workflow_cancelled,
    "token_spawned": Folding._token_spawned,
    "token_dispatched": Folding._token_dispatched,
    "token_suspended": Folding._token_suspended,
    "token_resumed": Folding._token_resumed,
    "token_completed": Folding._token_ended,
    "token_failed": Folding._token_ended,
    "token_timed_out": Folding._token_ended,
    "token_cancelled": Folding._token_ended,
    "tokens_ended": Folding._tokens_ended,
    "node_started": Folding._node_started,
    "node_completed": Folding._node_completed,
    "transitions_evaluated": Folding._transitions_evaluated,
    "fan_out_started": Folding._fan_out_started,
    "fan_in_waiting": Folding._fan_in_waiting,
    "fan_in_completed": Folding._fan_in_over,
    "fan_in_failed": Folding._fan_in_over,
    "context_updated": Folding._context_updated,
    "timer_set": Folding._timer_set,
    "timer_fired": Folding._timer_fired,
    "human_input_requested": Folding._human_input_requested,
    "human_input_claimed": Folding._human_input_changed,
    "human_input_released": Folding._human_input_changed,
    "human_input_delegated": Folding._human_input_changed,
    "human_input_reminded": Folding._human_input_changed,
    "human_input_counted": Folding._human_input_changed,
}
UNCHANGING: Final = frozenset(
    {
        "workflow_waiting",
        "workflow_timed_out",
        "workflow_extended",
        "trigger_fired",
        "trigger_skipped",
        "trigger_failed",
        "node_failed",
        "human_input_answered",
        "human_input_withdrawn",
        "late_result_ignored",
        "artifact_written",
        "llm_call_completed",
        "budget_alert",
    }
)
"""The types of event that change nothing of what is folded."""
