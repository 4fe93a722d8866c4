"""Fan-in: branches come to rest, their join goes on or fails, and something becomes of the rest (CTL-8 to CTL-13)."""

from collections.abc import Sequence
from typing import assert_never

from wonder.engine.compiled import ALL, Join
from wonder.engine.contexts import apply_draft, draft_for, write_failure
from wonder.engine.decisions import AbandonBranch, EndBranch, EndGroup, EnterJoin, FireJoin
from wonder.engine.ending import fail_scope, free_slot, join_timer, stop_scope
from wonder.engine.event_type import Event
from wonder.engine.events import FAN_IN_COMPLETED, FAN_IN_FAILED, FAN_IN_WAITING, FanInCompleted
from wonder.engine.failure import Failure
from wonder.engine.merging import merged
from wonder.engine.state import (
    ARRIVED,
    CANCELLED,
    COMPLETED,
    FAILED,
    TIMED_OUT,
    UNDER_WAY,
    EarlyEnd,
    Group,
    Scope,
    Segment,
    Token,
)
from wonder.engine.turn import Turn
from wonder.errors import WonderError
from wonder.language.values import JsonValue

_ERRORS_SHOWN = 100


def joining_branch(scope: Scope, join: Join) -> tuple[Scope | None, bool]:
    """Find the innermost branch around a scope that a join counts, and say whether it comes too late to count."""
    late = False
    while scope.group is not None:
        late = late or scope.abandoned
        assert scope.segment is not None
        if join.of_node_id == scope.group.node.id or join.of_transition_id == scope.segment.transition.id:
            return scope, late or scope.status != UNDER_WAY
        scope = scope.group.scope
    return None, False


def enter_join(turn: Turn, token: Token, join: Join, branch: Scope, *, late: bool) -> None:
    """Let a token wait at a join; one that comes too late ends there (CTL-10)."""
    scope = token.scope
    if late:
        turn.end_token(token, COMPLETED, late_at=join.node.ref)
        turn.scopes.append(scope)
        return
    group = branch.group
    assert group is not None
    turn.emit(EnterJoin(token.id, join.node.id, group.id, branch.index))
    arrives = branch is scope and not scope.active and branch.entered is join
    turn.record(_waiting(join, group, branch, arrived=arrives), token)
    if arrives:
        _end(turn, branch, told=True)
    else:
        turn.scopes.append(scope)


def _waiting(join: Join, group: Group, branch: Scope, *, arrived: bool) -> Event:
    return FAN_IN_WAITING({"join": join.node.id, "group": group.id, "branch": branch.index, "arrived": arrived})


def end_branch(turn: Turn, scope: Scope) -> None:
    """Note that a branch has arrived or is gone, if none of its tokens is under way any more (CTL-9, CTL-12)."""
    if scope.group is not None and not scope.active and scope.status == UNDER_WAY:
        _end(turn, scope, told=False)


def _end(turn: Turn, branch: Scope, *, told: bool) -> None:
    group, join = branch.group, branch.entered
    assert group is not None
    turn.emit(EndBranch(group.id, branch.index, arrived=join is not None))
    if join is not None:
        if not told:
            turn.record(_waiting(join, group, branch, arrived=True))
        state = group.join(join)
        if state.arrived == 1 and join.timeout_ms is not None:
            turn.set_timer(join_timer(group.id, join.node.id), turn.now_ms + join.timeout_ms)
    free_slot(turn, branch)
    turn.groups.append(group)


def look_at_joins(turn: Turn, group: Group) -> None:
    """Let each join of a group go on that is met, and fail what can't be met any more."""
    if not group.open:
        return
    under_way = group.under_way
    of_transition = turn.run.workflow.joins_of_transition
    if of_transition:
        for segment in group.segments:
            own = of_transition.get(segment.transition.id)
            if own and group.open:
                _look_at(turn, group, segment, own)
    if group.open and group.node.joins:
        _look_at(turn, group, group, group.node.joins)
    if group.open and group.under_way != under_way:
        turn.groups.append(group)  # a join that went on early took branches from the others
    elif group.open and not group.under_way:
        turn.emit(EndGroup(group.id))
        turn.scopes.append(group.scope)
        turn.closable[group.id] = group


def _look_at(turn: Turn, group: Group, pool: Group | Segment, joins: tuple[Join, ...]) -> None:
    """Look at the joins that count the same branches: those of the group, or those of one of its transitions."""
    for join in joins:
        state = group.join(join)
        if state.fired:
            continue
        if join.needed == ALL:
            if state.arrived and not pool.under_way:
                fire(turn, group, join)
        elif state.arrived >= join.needed:
            fire(turn, group, join)
        elif state.arrived + pool.under_way < join.needed and (state.arrived or len(group.all_joins) == 1):
            _fail_unsatisfiable(turn, group, join, pool.under_way)
        if not group.open:
            return
    if pool.under_way or pool.arrivals or any(state.fired for state in group.joins.values()):
        return
    if joins[0].needed == ALL:
        fire(turn, group, joins[0])
    else:
        _fail_unsatisfiable(turn, group, joins[0], 0)


def fire(turn: Turn, group: Group, join: Join, rest_status: EarlyEnd = CANCELLED) -> None:
    """Let the arrived branches go on as one token; `rest_status` is what those get that are still under way."""
    members = _members(group, join)
    arrived = [branch for branch in members if branch.status == ARRIVED and branch.entered is join]
    rest = [branch for branch in members if branch.status == UNDER_WAY and not branch.abandoned]
    turn.cancel_timer(join_timer(group.id, join.node.id))
    turn.emit(FireJoin(group.id, join.node.id))
    failure = _waiting_elsewhere(join, arrived) or _merge(turn, group, join, arrived)
    if failure is not None:
        _fail(turn, group, join, failure)
        return
    abandon = rest_status == CANCELLED and _abandons(join)
    told: FanInCompleted = {
        "group": group.id,
        "join": join.node.id,
        "arrived": len(arrived),
        "total": len(members),
    }
    if abandon and rest:
        told["abandoned"] = [branch.index for branch in rest]
    turn.record(FAN_IN_COMPLETED(told))
    path_id = group.path_id if group.path_id.endswith(".fanin") else f"{group.path_id}.fanin"
    turn.create_token(join.node, group.scope, path_id, group.id)
    for branch in arrived:
        _end_waiting(turn, branch)
    for branch in rest:
        if abandon:
            turn.emit(AbandonBranch(group.id, branch.index))
            _end_waiting(turn, branch)  # one of its tokens may have been there before the others
        else:
            stop_scope(turn, branch, rest_status)
            turn.emit(EndBranch(group.id, branch.index, arrived=False))
    turn.groups.append(group)


def _abandons(join: Join) -> bool:
    """Say whether the branches that are left run on when a join goes on early (CTL-10)."""
    match join.on_early_complete:
        case "abandon":
            return True
        case "cancel":
            return False
        case _:
            assert_never(join.on_early_complete)


def time_out_join(turn: Turn, group: Group, join: Join) -> None:
    """Draw the consequence of a fan-in that took too long since its first arrival (CTL-13)."""
    match join.on_timeout:
        case "proceed_with_available":
            fire(turn, group, join, rest_status=TIMED_OUT)
        case "fail":
            _fail_at_timeout(turn, group, join)
        case _:
            assert_never(join.on_timeout)


def _fail_at_timeout(turn: Turn, group: Group, join: Join) -> None:
    state = group.join(join)
    missing = sum(branch.status == UNDER_WAY for branch in _members(group, join))
    message = (
        f"the join into {join.node.ref!r} waited {join.timeout_ms:,} ms since the first of its branches: "
        f"{state.arrived} arrived, {missing} did not; raise timeout_ms, or set on_timeout: proceed_with_available"
    )
    failure = Failure("FAN_IN_TIMEOUT", message, node=join.node.ref)
    turn.emit(FireJoin(group.id, join.node.id))
    for branch in _members(group, join):
        if branch.live and not branch.abandoned:
            stop_scope(turn, branch, TIMED_OUT, waiting_status=FAILED)
    _fail(turn, group, join, failure)


def _members(group: Group, join: Join) -> Sequence[Scope]:
    if join.of_node_id is not None:
        return group.branches
    segment = next(s for s in group.segments if s.transition.id == join.of_transition_id)
    return group.branches[segment.first : segment.first + segment.count]


def _merge(turn: Turn, group: Group, join: Join, arrived: list[Scope]) -> Failure | None:
    """Write the merged outputs in the scope of the token that fanned out (CTL-7a)."""
    if join.merge is None:
        return None
    value = merged(turn.run, join.merge, arrived, group.join(join).last_index)
    if isinstance(value, Failure):
        return value
    if value is None:
        return None
    draft = draft_for(turn, group.scope)
    try:
        for target, written in join.merge.writes.values(value[0]):
            draft.write(target, written)
    except WonderError as error:
        return write_failure(error)
    return apply_draft(turn, group.scope, draft, None)


def _end_waiting(turn: Turn, branch: Scope) -> None:
    """End the tokens that waited for a branch; those that wait for another one wait on."""
    for token in _waiting_for(branch):
        turn.end_token(token, COMPLETED)


def _waiting_for(branch: Scope) -> list[Token]:
    """Give the tokens that wait at joins of a branch's group, wherever in the branch they are."""
    found: list[Token] = []
    around = [branch]
    while around:
        here = around.pop()
        found += [token for token in here.tokens if token.waits_in is branch]
        for group in (here.groups or {}).values():
            around += [inner for inner in group.branches if inner.live]
    return found


def _waiting_elsewhere(join: Join, arrived: list[Scope]) -> Failure | None:
    """Fail a join rather than lose a token: one that waits at another join, for a branch that arrives at this one.

    Such a definition is rejected at creation (CTL-12). This is for those that were stored before, or are too tangled.
    """
    for branch in arrived:
        if branch.groups is None and branch.more_tokens is None:
            continue  # one token, and it is here
        for token in _waiting_for(branch):
            if token.waits_at is not None and token.waits_at is not join:
                message = (
                    f"branch {branch.index} has tokens at the join into {join.node.ref!r} and at the join into "
                    f"{token.waits_at.node.ref!r}, and can arrive at one only; join once, then fan out"
                )
                return Failure("BRANCH_AT_TWO_JOINS", message, node=join.node.ref)
    return None


def _fail_unsatisfiable(turn: Turn, group: Group, join: Join, under_way: int) -> None:
    state = group.join(join)
    errors: list[JsonValue] = [
        {"branch": branch.index, "error": branch.error.as_json()}
        for branch in _members(group, join)
        if branch.error is not None
    ]
    shown = "; ".join(f"branch {b.index}: {b.error.message}" for b in _members(group, join)[:3] if b.error)
    members, most = len(_members(group, join)), state.arrived + under_way
    if members < join.needed:
        why = f"its fan-out made {members}; lower m_of_n, or make more branches"
    else:
        why = (
            f"{most} can arrive at the most: {state.arrived} of {members} arrived, {under_way} under way, "
            f"{members - most} failed, ended or wait at another join; lower m_of_n, or let more branches come"
        )
    message = f"the join into {join.node.ref!r} can't be met: it needs {join.needed} branches, and {why}"
    message += f" ({shown})" if shown else ""
    details: JsonValue = {"needed": join.needed, "arrived": state.arrived, "errors": errors[:_ERRORS_SHOWN]}
    turn.cancel_timer(join_timer(group.id, join.node.id))
    turn.emit(FireJoin(group.id, join.node.id))
    _fail(turn, group, join, Failure("FAN_IN_UNSATISFIABLE", message, details=details, node=join.node.ref))


def _fail(turn: Turn, group: Group, join: Join, failure: Failure) -> None:
    """Fail the scope of a fan-in; the failure is never routed."""
    turn.record(FAN_IN_FAILED({"group": group.id, "join": join.node.id, "error": failure.as_json()}))
    fail_scope(turn, group.scope, failure)
