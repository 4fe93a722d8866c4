"""Advance a run: resolve joins, and begin the tokens that are ready, until nothing can move."""

from typing import assert_never

from wonder.engine.control import draw_conclusions
from wonder.engine.decisions import ContinueLater, ReleaseToken
from wonder.engine.ending import fail_run
from wonder.engine.failure import Failure
from wonder.engine.fan_out import next_held
from wonder.engine.joins import end_branch, look_at_joins
from wonder.engine.limits import over_limit
from wonder.engine.nodes import dispatch, run_pure
from wonder.engine.state import PENDING, Token
from wonder.engine.turn import Turn
from wonder.engine.waits import begin_wait


def go_on(turn: Turn) -> None:
    """Let everything move that can move now."""
    run = turn.run
    while not run.ended:
        if turn.scopes:
            end_branch(turn, turn.scopes.popleft())
        elif turn.groups:
            look_at_joins(turn, turn.groups.popleft())
        elif run.paused is not None:
            break
        elif run.may_begin:
            if not _begin_next(turn):
                turn.emit(ContinueLater())
                break
            turn.hand_on_if_many()
        else:
            break
    draw_conclusions(turn)


def _begin_next(turn: Turn) -> bool:
    """Begin one token that is ready; False when this turn has done enough."""
    run, counted = turn.run, turn.steps
    if counted.left != counted.most:
        turn.steps_left -= counted.most - counted.left
        counted.left = counted.most
    if turn.bytes_left <= 0 or turn.steps_left <= 0:
        return False
    if run.queued and run.has_room:
        token = run.queued.popleft()
        if token.status == PENDING:
            _begin(turn, token)
        return True
    if run.ready:
        token = run.ready.popleft()
        if token.status != PENDING or token.held:
            return True
        if token.node.kind == "pure" and _has_done_enough(turn):
            run.ready.appendleft(token)
            return False
        _begin(turn, token)
        return True
    segment = run.next_startable()
    held = next_held(segment)
    if held is None:
        run.drop_startable(segment)
        return True
    if held.node.kind == "pure" and _has_done_enough(turn):
        return False
    turn.emit(ReleaseToken(held.id))
    _begin(turn, held)
    return True


def _has_done_enough(turn: Turn) -> bool:
    if turn.pure_left <= 0 or (turn.over_time is not None and turn.over_time()):
        return True
    turn.pure_left -= 1
    return False


def _begin(turn: Turn, token: Token) -> None:
    run, kind = turn.run, token.node.kind
    if kind == "task" and not run.has_room:
        run.queued.append(token)
        return
    turn.step = run.sequence + 1
    turn.chain = token.chain + 1 if kind == "pure" else 0
    limits = run.limits
    if run.sequence >= limits.events or run.tokens_made > limits.tokens or turn.chain > limits.pure_steps:
        fail_run(turn, _limit_reached(turn).at(token.node.ref))
    elif kind == "task":
        dispatch(turn, token)
    elif kind == "pure":
        run_pure(turn, token)
    elif kind == "wait":
        begin_wait(turn, token)
    else:
        assert_never(kind)


def _limit_reached(turn: Turn) -> Failure:
    run, limits = turn.run, turn.run.limits
    if run.sequence >= limits.events:
        return over_limit("events", run.sequence, limits.events)
    if run.tokens_made > limits.tokens:
        return over_limit("tokens", run.tokens_made, limits.tokens)
    return over_limit("pure_steps", turn.chain, limits.pure_steps)
