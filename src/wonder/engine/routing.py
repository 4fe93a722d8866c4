"""Routing: which transitions a token takes when its node has ended, and the tokens of that (CTL-3, CTL-4, CTL-14)."""

from typing import Any, Literal

from wonder.engine.compiled import CompiledTransition, Tier
from wonder.engine.decisions import SetLoop
from wonder.engine.ending import fail_scope
from wonder.engine.events import TRANSITIONS_EVALUATED, TransitionsEvaluated
from wonder.engine.failure import Failure
from wonder.engine.fan_out import fan_out
from wonder.engine.joins import enter_join, joining_branch
from wonder.engine.limits import evaluation_failure
from wonder.engine.state import COMPLETED, FAILED, EndStatus, Token
from wonder.engine.turn import Turn
from wonder.engine.views import view_from
from wonder.language.expressions import Expression, ExpressionFailed
from wonder.language.paths import MISSING
from wonder.language.schemas.faults import show_value
from wonder.language.steps import TooManySteps
from wonder.language.values import JsonValue

_TEXT_SHOWN = 200


def route_success(turn: Turn, token: Token) -> None:
    """Send a token on whose node has succeeded."""
    node = token.node
    if not node.tiers:
        turn.end_token(token, COMPLETED)
        turn.scopes.append(token.scope)
        return
    first = node.tiers[0]
    if first.always_event is not None and not node.limited_transitions:  # nothing to choose: most nodes of most graphs
        turn.record(first.always_event, token)
        failure = _take(turn, token, first, [first.transitions[0]], None)
        if failure is not None:
            _fail(turn, token, failure)
        return
    choice = _Choice(turn, token, None)
    tier = choice.of(node.tiers)
    failure = choice.failure
    if tier is not None:
        failure = _take(turn, token, tier, choice.fired, None)
    elif failure is None:
        failure = choice.no_match()
    if failure is not None:
        _fail(turn, token, failure)


def _fail(turn: Turn, token: Token, failure: Failure) -> None:
    """End a token that could not be sent on, and fail its scope; such a failure is never routed."""
    turn.end_token(token, FAILED, failure.as_json())
    fail_scope(turn, token.scope, failure)


def route_failure(turn: Turn, token: Token, failure: Failure, status: Literal["failed", "timed_out"]) -> None:
    """Send a failure on, where a transition reads `_last_error` and takes it; otherwise fail the scope (CTL-15)."""
    node, error = token.node, failure.as_json()
    if node.error_tiers:
        choice = _Choice(turn, token, error)
        tier = choice.of(node.error_tiers)
        if tier is not None:
            unroutable = _take(turn, token, tier, choice.fired, error, status)
            if unroutable is None:
                return
            failure = unroutable
        elif choice.failure is not None:
            failure = choice.failure
    turn.end_token(token, status, error)
    fail_scope(turn, token.scope, failure)


class _Choice:
    """One look at the transitions of a node, tier by tier, with what there is to tell about it."""

    __slots__ = ("_limit_hit", "_looked_at", "_token", "_turn", "_view", "error", "failure", "fired")

    def __init__(self, turn: Turn, token: Token, error: dict[str, JsonValue] | None) -> None:
        self._turn, self._token, self.error = turn, token, error
        self._view: dict[str, Any] | None = None
        self._looked_at: list[JsonValue] = []
        self._limit_hit: CompiledTransition | None = None
        self.fired: list[CompiledTransition] = []
        self.failure: Failure | None = None

    def of(self, tiers: tuple[Tier, ...]) -> Tier | None:
        """Give the first tier with a match, record what was looked at, and count loops."""
        first = tiers[0]
        if first.always is not None:
            self.fired = [first.transitions[0]]
            self._tell(first.always)
            return first
        chosen: Tier | None = None
        for tier in tiers:
            try:
                candidates: list[JsonValue] = [self._candidate(transition) for transition in tier.transitions]
            except (ExpressionFailed, TooManySteps) as error:
                self.failure = evaluation_failure(error).at(self._token.node.ref)
                return None
            self._looked_at.append({"priority": tier.priority, "candidates": candidates})
            if self.fired:
                chosen = tier
                break
        self._tell({"tiers": self._looked_at})
        return chosen

    def no_match(self) -> Failure:
        """Say that nothing matched, with every condition and its value."""
        ref, hit = self._token.node.ref, self._limit_hit
        if hit is not None:
            message = (
                f"the loop from {ref!r} to {hit.to.ref!r} is at its limit, and no other transition leaves {ref!r}; "
                "add one at a later priority, or raise the limit"
            )
            return Failure("LOOP_LIMIT_EXCEEDED", message, details={"tiers": self._looked_at}, node=ref)
        conditions: list[str] = []
        for tier in self._token.node.tiers:
            for transition in tier.transitions:
                if transition.condition is not None:
                    value = self._value(transition.condition)
                    shown = value if isinstance(value, str) else show_value(value)
                    conditions.append(f"{transition.condition.text} is {shown} (to {transition.to.ref!r})")
        message = (
            f"no transition out of {ref!r} matched: {'; '.join(conditions)}; "
            "add one without a condition at a later priority"
        )
        return Failure("NO_TRANSITION_MATCHED", message, details={"tiers": self._looked_at}, node=ref)

    def _candidate(self, transition: CompiledTransition) -> dict[str, Any]:
        told: dict[str, Any] = {"transition": transition.name, "to": transition.to.ref, "matched": True}
        condition = transition.condition
        if condition is not None:
            view = self._seen()
            told["condition"] = condition.text
            told["values"] = {name: _shown(find(view)) for name, find in transition.reads}
            if not condition.matches(view):
                told["matched"] = False
                return told
        if transition.limited and self._at_limit(transition):
            told["matched"], told["at_limit"] = False, True
            self._limit_hit = transition
        else:
            self.fired.append(transition)
        return told

    def _at_limit(self, transition: CompiledTransition) -> bool:
        count, first_ms = (self._token.scope.loops or {}).get(transition.id, (0, 0))
        if transition.max_iterations is not None and count >= transition.max_iterations:
            return True
        timeout_ms = transition.loop_timeout_ms
        return timeout_ms is not None and count > 0 and self._turn.now_ms - first_ms >= timeout_ms

    def _tell(self, told: TransitionsEvaluated) -> None:
        if self._token.node.limited_transitions and self.fired:
            counted = self._count_loops()
            if counted:
                told = {**told, "loops": counted}
        self._turn.record(TRANSITIONS_EVALUATED(told), self._token)

    def _count_loops(self) -> list[list[Any]]:
        """Count the limited transitions that were taken; those that were not begin again from 0 (CTL-14)."""
        scope = self._token.scope
        group_id, index = scope.key
        counted: list[list[Any]] = []
        for transition in self._token.node.limited_transitions:
            count, first_ms = (scope.loops or {}).get(transition.id, (0, 0))
            if transition in self.fired:
                count, first_ms = count + 1, first_ms if count else self._turn.now_ms
            elif count:
                count = first_ms = 0
            else:
                continue
            self._turn.emit(SetLoop(group_id, index, transition.id, count, first_ms))
            counted.append([transition.id, count, first_ms])
        return counted

    def _seen(self) -> dict[str, Any]:
        if self._view is None:
            token = self._token
            with_branch = token.scope.group is not None and any(
                transition.reads_branch for tier in token.node.tiers for transition in tier.transitions
            )
            self._view = view_from(self._turn.run, token.scope, self.error, with_branch=with_branch)
        return self._view

    def _value(self, condition: Expression) -> JsonValue:
        value = condition.evaluate(self._seen())
        return "NULL" if value is None else _shown(value)


def _take(
    turn: Turn,
    token: Token,
    tier: Tier,
    fired: list[CompiledTransition],
    error: dict[str, JsonValue] | None,
    status: EndStatus = COMPLETED,
) -> Failure | None:
    """Make the tokens of what fired, then end the token; gives why that can't be."""
    only = fired[0]
    if tier.fans_out or len(fired) > 1 or only.foreach is not None or only.spawn_count is not None:
        failure = fan_out(turn, token, fired, error)
        if failure is None:
            turn.end_token(token, status, error)
            turn.scopes.append(token.scope)
        return failure
    if only.join is not None:
        branch, late = joining_branch(token.scope, only.join)
        if branch is not None:
            waiting = token
            if error is not None:
                # The failed token ends failed, so another one has to wait in its place.
                waiting = turn.create_token(only.to, token.scope, token.path_id, token.id, error)
                turn.end_token(token, status, error)
            enter_join(turn, waiting, only.join, branch, late=late)
            return None
    turn.create_token(only.to, token.scope, token.path_id, token.id, error)
    turn.end_token(token, status, error)
    return None


def _shown(value: object) -> JsonValue:
    """Give a value that was read, for people: large ones only in outline."""
    if value is MISSING:
        return None
    if isinstance(value, str):
        return value if len(value) <= _TEXT_SHOWN else value[:_TEXT_SHOWN] + "…"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    return value  # type: ignore[return-value]  # a scalar
