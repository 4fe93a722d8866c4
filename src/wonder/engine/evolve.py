"""Evolve: how each decision changes the state of a run; nothing else changes it."""

from collections.abc import Callable
from typing import Any

from wonder.engine.decisions import (
    AbandonBranch,
    AdoptSnapshot,
    CancelTimer,
    CloseGroup,
    CreateToken,
    Decision,
    DispatchTask,
    EndBranch,
    EndGroup,
    EndLive,
    EndRun,
    EnterJoin,
    FireJoin,
    MoveToken,
    OpenFanOut,
    RecordEvent,
    ReleaseToken,
    RestartToken,
    SetLoop,
    SetRunStatus,
    SetTimer,
    StartRun,
    SuspendToken,
    WriteBranchOutput,
    WriteContext,
)
from wonder.engine.restore import restore
from wonder.engine.state import (
    ARRIVED,
    DISPATCHED,
    EXECUTING,
    GONE,
    PENDING,
    SUSPENDED,
    WAITING_FOR_SIBLINGS,
    Group,
    RunState,
    Scope,
    Segment,
    Token,
)


def evolve(run: RunState, decision: Decision) -> None:
    """Apply one decision; those that only act on the world change nothing here."""
    apply = EVOLVERS.get(type(decision))
    if apply is not None:
        apply(run, decision)


def _start_run(run: RunState, decision: StartRun) -> None:
    run.input, run.state, run.output = decision.input, decision.state, {}
    run.begun = True


def _adopt_snapshot(run: RunState, decision: AdoptSnapshot) -> None:
    run.become(restore(run.workflow, decision.snapshot, run.limits))


def _set_run_status(run: RunState, decision: SetRunStatus) -> None:
    run.status, run.paused = decision.status, decision.paused
    run.gate_item_id, run.timeout_left_ms = decision.gate_item_id, decision.timeout_left_ms


def _end_live(run: RunState, decision: EndLive) -> None:
    # The circles are taken apart, so that all this goes now and not when the garbage collector comes by.
    for group in run.groups.values():
        group.open = False
        group.live = group.under_way = 0
        for branch in group.branches:
            branch.clear_tokens()
            branch.groups = None
        group.branches.clear()
        group.segments.clear()
    for token in run.tokens.values():
        token.status = decision.status
    run.tokens.clear()
    run.groups.clear()
    run.timers.clear()
    run.root.clear_tokens()
    run.root.groups = None
    run.root.live = run.root.active = 0
    run.moving = run.working = run.suspended = 0
    run.gate_item_id = None
    run.ready.clear()
    run.queued.clear()
    run.startable.clear()


def _end_run(run: RunState, decision: EndRun) -> None:
    run.status, run.error, run.paused, run.gate_item_id = decision.status, decision.failure, None, None
    run.ready.clear()
    run.queued.clear()
    run.startable.clear()


def _create_token(run: RunState, decision: CreateToken) -> None:
    scope = run.scope(decision.group_id, decision.branch_index)
    node = run.workflow.nodes[decision.node_id]
    token = Token(decision.token_id, node, decision.path_id, decision.parent_id, scope)
    token.born, token.last_error = decision.born, decision.last_error
    run.tokens_made += 1
    run.tokens[token.id] = token
    scope.add_token(token)
    scope.count_live()
    scope.active += 1
    if decision.held:
        token.held = True
    else:
        run.moving += 1
        run.ready.append(token)


def _release_token(run: RunState, decision: ReleaseToken) -> None:
    token = run.tokens[decision.token_id]
    assert token.scope.segment is not None
    token.held = False
    token.scope.segment.running += 1
    run.moving += 1


def _move_token(run: RunState, decision: MoveToken) -> None:
    token = run.tokens[decision.token_id]
    if decision.status == EXECUTING:
        token.status = EXECUTING
        return
    del run.tokens[token.id]
    scope = token.scope
    scope.remove_token(token)
    if token.status != WAITING_FOR_SIBLINGS:
        scope.active -= 1
    _uncount(run, token)
    token.status = decision.status
    scope.uncount_live()


def _dispatch_task(run: RunState, decision: DispatchTask) -> None:
    token = run.tokens[decision.token_id]
    _uncount(run, token)
    token.status, token.input, token.losses = DISPATCHED, decision.input, decision.losses
    run.moving += 1
    run.working += 1


def _suspend_token(run: RunState, decision: SuspendToken) -> None:
    token = run.tokens[decision.token_id]
    _uncount(run, token)
    token.status, token.wait, token.input, token.losses = SUSPENDED, decision.wait, decision.input, 0
    run.suspended += 1


def _restart_token(run: RunState, decision: RestartToken) -> None:
    token = run.tokens[decision.token_id]
    _uncount(run, token)
    token.status, token.wait, token.input = PENDING, None, None
    run.moving += 1
    run.ready.append(token)


def _enter_join(run: RunState, decision: EnterJoin) -> None:
    token = run.tokens[decision.token_id]
    _uncount(run, token)
    join = run.workflow.joins[decision.join_node_id]
    target = run.scope(decision.group_id, decision.branch_index)
    token.status, token.waits_at, token.waits_in = WAITING_FOR_SIBLINGS, join, target
    token.wait = token.input = token.last_error = None
    if target.entered is None:
        target.entered = join
    token.scope.active -= 1


def _write_context(run: RunState, decision: WriteContext) -> None:
    run.state, run.output = decision.state, decision.output


def _write_branch_output(run: RunState, decision: WriteBranchOutput) -> None:
    branch = run.groups[decision.group_id].branches[decision.branch_index]
    branch.output, branch.replaced = decision.output, decision.replaced


def _open_fan_out(run: RunState, decision: OpenFanOut) -> None:
    scope = run.scope(decision.outer_group_id, decision.outer_index)
    group = Group(decision.group_id, run.workflow.nodes[decision.node_id], decision.path_id, scope)
    joins = list(group.node.joins)
    for transition_id, count, items in decision.segments:
        segment = Segment(group, run.workflow.transitions[transition_id], len(group.branches), count, items)
        group.segments.append(segment)
        group.branches += [Scope(group, segment, segment.first + place) for place in range(count)]
        joins += run.workflow.joins_of_transition.get(transition_id, ())
    group.all_joins = tuple(joins)
    group.under_way = len(group.branches)
    run.groups[group.id] = group
    if scope.groups is None:
        scope.groups = {}
    scope.groups[group.id] = group
    scope.count_live()
    scope.active += 1


def _end_branch(run: RunState, decision: EndBranch) -> None:
    group = run.groups[decision.group_id]
    branch = group.branches[decision.branch_index]
    segment = branch.segment
    assert segment is not None
    segment.running -= 1
    branch.status = ARRIVED if decision.arrived else GONE
    if branch.abandoned:
        return
    branch.error = decision.failure
    group.under_way -= 1
    segment.under_way -= 1
    if decision.arrived:
        assert branch.entered is not None
        group.arrivals += 1
        segment.arrivals += 1
        branch.arrived_as = group.arrivals
        join = group.join(branch.entered)
        join.arrived += 1
        join.last_index = branch.index
    elif branch.entered is not None:
        branch.entered = None


def _abandon_branch(run: RunState, decision: AbandonBranch) -> None:
    group = run.groups[decision.group_id]
    branch = group.branches[decision.branch_index]
    assert branch.segment is not None
    branch.abandoned, branch.entered = True, None
    group.under_way -= 1
    branch.segment.under_way -= 1


def _fire_join(run: RunState, decision: FireJoin) -> None:
    join = run.workflow.joins[decision.join_node_id]
    run.groups[decision.group_id].join(join).fired = True


def _end_group(run: RunState, decision: EndGroup) -> None:
    group = run.groups[decision.group_id]
    group.open, group.under_way = False, 0
    group.scope.active -= 1


def _close_group(run: RunState, decision: CloseGroup) -> None:
    group = run.groups.pop(decision.group_id)
    assert group.scope.groups is not None
    del group.scope.groups[group.id]
    group.scope.uncount_live()
    for segment in group.segments:
        # A turn that was cut short may have left one, and nothing of it is to begin any more.
        run.startable.pop((group.id, segment.number), None)
    # They point back at it: in a circle, all that the branches gave would stay until the garbage collector comes by.
    group.branches.clear()
    group.segments.clear()


def _set_loop(run: RunState, decision: SetLoop) -> None:
    scope = run.scope(decision.group_id, decision.branch_index)
    if scope.loops is None:
        scope.loops = {}
    if decision.count:
        scope.loops[decision.transition_id] = (decision.count, decision.first_ms)
    else:
        scope.loops.pop(decision.transition_id, None)


def _set_timer(run: RunState, decision: SetTimer) -> None:
    run.timers[decision.key] = decision.due_ms


def _cancel_timer(run: RunState, decision: CancelTimer) -> None:
    run.timers.pop(decision.key, None)


def _record_event(run: RunState, decision: RecordEvent) -> None:
    run.sequence = decision.sequence


def _uncount(run: RunState, token: Token) -> None:
    """Take a token out of the counters of its status."""
    status = token.status
    if status == PENDING:
        if not token.held:
            run.moving -= 1
    elif status in (DISPATCHED, EXECUTING):
        run.moving -= 1
        run.working -= 1
    elif status == SUSPENDED:
        run.suspended -= 1


EVOLVERS: dict[type, Callable[[RunState, Any], None]] = {
    StartRun: _start_run,
    AdoptSnapshot: _adopt_snapshot,
    SetRunStatus: _set_run_status,
    EndLive: _end_live,
    EndRun: _end_run,
    CreateToken: _create_token,
    ReleaseToken: _release_token,
    MoveToken: _move_token,
    DispatchTask: _dispatch_task,
    SuspendToken: _suspend_token,
    RestartToken: _restart_token,
    EnterJoin: _enter_join,
    WriteContext: _write_context,
    WriteBranchOutput: _write_branch_output,
    OpenFanOut: _open_fan_out,
    EndBranch: _end_branch,
    AbandonBranch: _abandon_branch,
    FireJoin: _fire_join,
    EndGroup: _end_group,
    CloseGroup: _close_group,
    SetLoop: _set_loop,
    SetTimer: _set_timer,
    CancelTimer: _cancel_timer,
    RecordEvent: _record_event,
}
