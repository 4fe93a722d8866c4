"""Fan-out: one firing becomes a group of branches, numbered by transition, then by item (CTL-5, CTL-6)."""

from typing import Any

from wonder.engine.compiled import CompiledTransition
from wonder.engine.decisions import OpenFanOut
from wonder.engine.events import FAN_OUT_STARTED, FanOutStarted
from wonder.engine.failure import Failure
from wonder.engine.joins import enter_join, joining_branch
from wonder.engine.limits import evaluation_failure, over_limit
from wonder.engine.state import PENDING, Group, Segment, Token
from wonder.engine.turn import Turn
from wonder.engine.views import view_from
from wonder.language.expressions import ExpressionFailed
from wonder.language.paths import MISSING
from wonder.language.schemas.faults import show_value
from wonder.language.steps import TooManySteps, spend
from wonder.language.values import JsonValue


def fan_out(
    turn: Turn, token: Token, fired: list[CompiledTransition], last_error: dict[str, JsonValue] | None
) -> Failure | None:
    """Make a group of what fired, with a token in each branch; the caller ends the token that fanned out."""
    run, scope = turn.run, token.scope
    if scope.depth >= run.limits.nesting_max:
        message = (
            f"fan-outs are nested deeper than {run.limits.nesting_max} at {token.node.ref!r}; join branches earlier"
        )
        return Failure("FAN_OUT_TOO_DEEP", message, node=token.node.ref)
    segments: list[tuple[str, int, list[JsonValue] | None]] = []
    for transition in fired:
        items = _items(turn, token, transition, last_error) if transition.foreach else None
        if isinstance(items, Failure):
            return items
        segments.append((transition.id, transition.spawn_count or 1 if items is None else len(items), items))
    total = sum(count for _, count, _ in segments)
    if total > run.limits.foreach_limit:
        return _too_many(turn, token, total)
    # Refused before any of them is made. The token that fans out ends with it.
    limits, live = run.limits, total + len(run.tokens) - 1
    if live > limits.live_tokens:
        return over_limit("live_tokens", live, limits.live_tokens).at(token.node.ref)
    if total + run.tokens_made > limits.tokens:
        return over_limit("tokens", total + run.tokens_made, limits.tokens).at(token.node.ref)
    outer_group_id, outer_index = scope.key
    turn.emit(OpenFanOut(token.id, token.node.id, token.path_id, outer_group_id, outer_index, segments))
    told: list[dict[str, Any]] = [
        {"transition": id, "count": count} | ({} if items is None else {"items": items})
        for id, count, items in segments
    ]
    started: FanOutStarted = {"total": total, "branches": told}
    if outer_group_id is not None:
        started["group"], started["branch"] = outer_group_id, outer_index
    turn.record(FAN_OUT_STARTED(started), token)
    group = run.groups[token.id]
    for segment in group.segments:
        _make_tokens(turn, token, group, segment, last_error)
    turn.groups.append(group)
    return None


def next_held(segment: Segment) -> Token | None:
    """Give the next branch's token that `max_parallel` would let begin now, if there is one."""
    foreach = segment.transition.foreach
    assert foreach is not None
    assert foreach.max_parallel is not None
    if segment.running >= foreach.max_parallel:
        return None
    while segment.next_held < segment.first + segment.count:
        tokens = segment.group.branches[segment.next_held].tokens
        if tokens and tokens[0].held and tokens[0].status == PENDING:
            return tokens[0]
        segment.next_held += 1
    return None


def _make_tokens(
    turn: Turn, token: Token, group: Group, segment: Segment, last_error: dict[str, JsonValue] | None
) -> None:
    transition, path_id, node, parent_id = segment.transition, token.path_id, segment.transition.to, token.id
    held = transition.foreach is not None and transition.foreach.max_parallel is not None
    join = transition.join
    for index in range(segment.first, segment.first + segment.count):
        branch = group.branches[index]
        made = turn.create_token(node, branch, f"{path_id}.{index}", parent_id, last_error, held)
        if join is not None:
            target, late = joining_branch(branch, join)
            if target is not None:
                enter_join(turn, made, join, target, late=late)
    if held:
        turn.run.note_startable(segment)


def _items(
    turn: Turn, token: Token, transition: CompiledTransition, last_error: dict[str, JsonValue] | None
) -> list[JsonValue] | Failure:
    foreach = transition.foreach
    assert foreach is not None
    collection = foreach.collection
    in_branch = collection.reads_branch and token.scope.group is not None
    try:
        found = collection.find(view_from(turn.run, token.scope, last_error, with_branch=in_branch))
    except (ExpressionFailed, TooManySteps) as error:
        return evaluation_failure(error).at(token.node.ref)
    if isinstance(found, list):
        if len(found) > turn.run.limits.foreach_limit:
            return _too_many(turn, token, len(found))
        spend(len(found))
        return found
    what = "is not there" if found is MISSING else f"is {show_value(found)}"
    message = f"foreach needs a list at {collection.text!r}, which {what}, after {token.node.ref!r}; write a list there"
    return Failure("BAD_COLLECTION", message, node=token.node.ref)


def _too_many(turn: Turn, token: Token, total: int) -> Failure:
    limit = turn.run.limits.foreach_limit
    message = f"{total:,} branches after {token.node.ref!r} are more than the limit of {limit:,}; raise foreach_limit"
    return Failure("FOREACH_LIMIT_EXCEEDED", message, node=token.node.ref)
