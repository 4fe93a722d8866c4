"""Restore: a run as plain rows, and a run out of them again, for parking, recovery, snapshots and forks.

Counters and queues are not kept: they follow from the rows. A run is stored between turns only.
"""

from typing import Any

from msgspec import Struct

from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits
from wonder.engine.state import (
    ARRIVED,
    DISPATCHED,
    EXECUTING,
    PENDING,
    SUSPENDED,
    UNDER_WAY,
    WAITING_FOR_SIBLINGS,
    Group,
    RunState,
    Scope,
    Segment,
    Token,
)

# Fields are Any rather than JsonValue, because msgspec decodes rows and can't follow a recursive alias.


class RunRow(Struct):
    """The run itself."""

    run_id: str
    status: str
    sequence: int
    input: Any
    state: Any
    output: Any
    paused: str | None = None
    gate_item_id: str | None = None
    timeout_left_ms: int | None = None
    failure: Failure | None = None
    timers: dict[str, int] = {}
    loops: dict[str, tuple[int, int]] = {}
    tokens_made: int = 0


class TokenRow(Struct):
    """A live token; `wait`, `input` and the places that it waits at are its `state_data`."""

    id: str
    node_id: str
    status: str
    path_id: str
    parent_id: str | None
    group_id: str | None
    branch_index: int
    born: int
    held: bool = False
    last_error: dict[str, Any] | None = None
    wait: dict[str, Any] | None = None
    input: Any = None
    losses: int = 0
    waits_at: str | None = None
    waits_group_id: str | None = None
    waits_index: int = 0


class GroupRow(Struct):
    """A group in which something is live; `fired` has the nodes of the joins that are done with."""

    id: str
    node_id: str
    path_id: str
    outer_group_id: str | None
    outer_index: int
    segments: list[tuple[str, int, list[Any] | None]]
    fired: list[str] = []


class BranchRow(Struct):
    """A branch; one without a row is under way and wrote nothing."""

    group_id: str
    index: int
    status: str = UNDER_WAY
    abandoned: bool = False
    entered: str | None = None
    arrived_as: int = 0
    output: Any = {}
    failure: Failure | None = None
    loops: dict[str, tuple[int, int]] = {}
    replaced: Any = {}


class Snapshot(Struct):
    """A whole run as rows."""

    run: RunRow
    tokens: list[TokenRow] = []
    groups: list[GroupRow] = []
    branches: list[BranchRow] = []


def take_snapshot(run: RunState) -> Snapshot:
    """Give all rows of a run as it is."""
    groups = list(run.groups.values())
    branches = [branch_row(branch) for group in groups for branch in group.branches]
    kept = [row for row in branches if row != BranchRow(row.group_id, row.index)]
    tokens = [token_row(token) for token in run.tokens.values()]
    return Snapshot(run_row(run), tokens, [group_row(group) for group in groups], kept)


def run_row(run: RunState) -> RunRow:
    """Give the row of a run."""
    return RunRow(
        run.id,
        run.status,
        run.sequence,
        run.input,
        run.state,
        run.output,
        run.paused,
        run.gate_item_id,
        run.timeout_left_ms,
        run.error,
        dict(run.timers),
        dict(run.root.loops or {}),
        run.tokens_made,
    )


def token_row(token: Token) -> TokenRow:
    """Give the row of a token."""
    group_id, index = token.scope.key
    row = TokenRow(
        token.id,
        token.node.id,
        token.status,
        token.path_id,
        token.parent_id,
        group_id,
        index,
        token.born,
        token.held,
        token.last_error,
        token.wait,
        token.input,
        token.losses,
    )
    if token.waits_at is not None and token.waits_in is not None:
        row.waits_at = token.waits_at.node.id
        row.waits_group_id, row.waits_index = token.waits_in.key
    return row


def group_row(group: Group) -> GroupRow:
    """Give the row of a group."""
    segments = [(s.transition.id, s.count, s.items) for s in group.segments]
    fired = sorted({j.node.id for j in group.all_joins if j.index in group.joins and group.joins[j.index].fired})
    return GroupRow(group.id, group.node.id, group.path_id, *group.scope.key, segments, fired)


def branch_row(branch: Scope) -> BranchRow:
    """Give the row of a branch."""
    assert branch.group is not None
    return BranchRow(
        branch.group.id,
        branch.index,
        branch.status,
        branch.abandoned,
        branch.entered.node.id if branch.entered else None,
        branch.arrived_as,
        branch.output,
        branch.error,
        dict(branch.loops or {}),
        branch.replaced,
    )


def restore(workflow: CompiledWorkflow, snapshot: Snapshot, limits: Limits | None = None) -> RunState:
    """Build a run out of its rows, in whatever order they come."""
    row = snapshot.run
    run = RunState(row.run_id, workflow, limits)
    run.status, run.sequence, run.error = row.status, row.sequence, row.failure
    run.input, run.state, run.output = row.input, row.state, row.output
    run.paused, run.gate_item_id, run.timeout_left_ms = row.paused, row.gate_item_id, row.timeout_left_ms
    run.timers, run.tokens_made = dict(row.timers), row.tokens_made
    run.root.loops = dict(row.loops) or None
    _restore_groups(run, snapshot)
    for token in sorted(snapshot.tokens, key=lambda token: token.born):
        _restore_token(run, token)
    _recount(run)
    # A run that is paused before its start has no tokens; one at its time-out may have none any more (RET-3).
    run.begun = run.status not in ("queued", "paused") or bool(run.tokens) or run.gate_item_id is not None
    return run


def _restore_groups(run: RunState, snapshot: Snapshot) -> None:
    rows = {row.id: row for row in snapshot.groups}
    for row in snapshot.groups:
        # Outer groups first, whatever the order of the rows: an inner one needs the branch that it is in.
        waiting = [row]
        while waiting[-1].outer_group_id is not None and waiting[-1].outer_group_id not in run.groups:
            waiting.append(rows[waiting[-1].outer_group_id])
        while waiting:
            _restore_group(run, waiting.pop())
    for branch_row in snapshot.branches:
        branch = run.groups[branch_row.group_id].branches[branch_row.index]
        branch.status, branch.abandoned = branch_row.status, branch_row.abandoned
        branch.entered = run.workflow.joins[branch_row.entered] if branch_row.entered else None
        branch.arrived_as, branch.output = branch_row.arrived_as, branch_row.output
        branch.replaced = branch_row.replaced
        branch.error, branch.loops = branch_row.failure, dict(branch_row.loops) or None


def _restore_group(run: RunState, row: GroupRow) -> None:
    if row.id in run.groups:
        return
    scope = run.scope(row.outer_group_id, row.outer_index)
    group = Group(row.id, run.workflow.nodes[row.node_id], row.path_id, scope)
    joins = list(group.node.joins)
    for transition_id, count, items in row.segments:
        segment = Segment(group, run.workflow.transitions[transition_id], len(group.branches), count, items)
        group.segments.append(segment)
        group.branches += [Scope(group, segment, segment.first + place) for place in range(count)]
        joins += run.workflow.joins_of_transition.get(transition_id, ())
    group.all_joins = tuple(joins)
    for node_id in row.fired:
        group.join(run.workflow.joins[node_id]).fired = True
    run.groups[group.id] = group
    if scope.groups is None:
        scope.groups = {}
    scope.groups[group.id] = group


def _restore_token(run: RunState, row: TokenRow) -> None:
    scope = run.scope(row.group_id, row.branch_index)
    token = Token(row.id, run.workflow.nodes[row.node_id], row.path_id, row.parent_id, scope)
    token.status, token.born, token.held = row.status, row.born, row.held
    token.last_error, token.wait, token.input, token.losses = row.last_error, row.wait, row.input, row.losses
    if row.waits_at is not None:
        token.waits_at = run.workflow.joins[row.waits_at]
        token.waits_in = run.scope(row.waits_group_id, row.waits_index)
    run.tokens[token.id] = token
    scope.add_token(token)
    scope.count_live()
    if token.status != WAITING_FOR_SIBLINGS:
        scope.active += 1
    if token.status == SUSPENDED:
        run.suspended += 1
    elif token.status in (DISPATCHED, EXECUTING):
        run.moving += 1
        run.working += 1
    elif token.status == PENDING and not token.held:
        run.moving += 1
        run.ready.append(token)


def _recount(run: RunState) -> None:
    """Count, in each group, the branches that are under way, have arrived, or run in a slot."""
    for group in run.groups.values():
        for segment in group.segments:
            segment.under_way = 0
        for branch in group.branches:
            _count_branch(group, branch)
        for segment in group.segments:
            foreach = segment.transition.foreach
            if foreach is not None and foreach.max_parallel is not None:
                run.note_startable(segment)
        group.open = group.under_way > 0
        group.scope.count_live()
        group.scope.active += group.open


def _count_branch(group: Group, branch: Scope) -> None:
    segment = branch.segment
    assert segment is not None
    if branch.status == UNDER_WAY:
        tokens = branch.tokens
        held = bool(tokens) and tokens[0].held
        segment.running += not held
        if not branch.abandoned:
            group.under_way += 1
            segment.under_way += 1
    elif branch.status == ARRIVED:
        assert branch.entered is not None
        group.arrivals += 1
        segment.arrivals += 1
        join = group.join(branch.entered)
        join.arrived += 1
        if branch.arrived_as > group.branches[join.last_index].arrived_as or join.arrived == 1:
            join.last_index = branch.index
