"""Turn: one fact being decided upon: the decisions so far, applied as they are made, and what is still to look at."""

from collections import deque
from collections.abc import Callable
from typing import Final, assert_never

from wonder.engine.compiled import CompiledNode
from wonder.engine.decisions import CancelTimer, CreateToken, Decision, MoveToken, RecordEvent, SetTimer
from wonder.engine.event_type import Event
from wonder.engine.events import (
    TIMER_SET,
    TOKEN_CANCELLED,
    TOKEN_COMPLETED,
    TOKEN_FAILED,
    TOKEN_SPAWNED,
    TOKEN_TIMED_OUT,
    TokenSpawned,
)
from wonder.engine.evolve import EVOLVERS
from wonder.engine.state import EndStatus, Group, RunState, Scope, Token
from wonder.language.steps import Steps
from wonder.language.values import JsonValue

# So many decisions are kept before they are handed on: a fan-out to 100,000 makes 200,000 in one turn.
PART: Final = 2_000
# Shared, never changed.
_ENDED_WELL: Final = TOKEN_COMPLETED({})


class Turn:
    """The work on one fact."""

    __slots__ = (
        "bytes_left",
        "chain",
        "closable",
        "decisions",
        "groups",
        "hand_on",
        "new_id",
        "now_ms",
        "over_time",
        "pure_left",
        "run",
        "scopes",
        "step",
        "steps",
        "steps_left",
    )

    def __init__(
        self,
        run: RunState,
        now_ms: int,
        new_id: Callable[[], str],
        over_time: Callable[[], bool] | None,
        hand_on: Callable[[list[Decision]], None] | None = None,
    ) -> None:
        self.run, self.now_ms, self.new_id, self.over_time = run, now_ms, new_id, over_time
        self.hand_on = hand_on
        """Takes the decisions of a long turn in parts, so that they are not all in memory at once."""
        self.decisions: list[Decision] = []
        """Those that were not handed on."""
        self.scopes: deque[Scope] = deque()
        """Branches that may have come to rest."""
        self.groups: deque[Group] = deque()
        """Groups whose joins may be met, or can't be met any more."""
        self.closable: dict[str, Group] = {}
        """Groups in which nothing may be live any more."""
        self.pure_left = run.limits.pure_nodes_max
        self.bytes_left = run.limits.turn_bytes_max
        """How much this turn may still write before others have their turn."""
        self.steps = Steps(run.limits.evaluation_steps)
        """What is evaluated for one node."""
        self.steps_left = run.limits.turn_steps_max
        """How much may still be evaluated before others have their turn."""
        self.chain = 0
        """How many pure nodes, one after the other, led to the tokens that are made now."""
        self.step = run.sequence + 1
        """The number of the first event since the run was last at rest."""

    def emit(self, decision: Decision) -> None:
        """Make a decision, and apply it, so that what follows sees its result."""
        self.decisions.append(decision)
        apply = EVOLVERS.get(type(decision))
        if apply is not None:
            apply(self.run, decision)

    def hand_on_if_many(self) -> None:
        """Hand on what was decided so far, if that is much; for whatever one turn may do many times."""
        if self.hand_on is not None and len(self.decisions) >= PART:
            part, self.decisions = self.decisions, []
            self.hand_on(part)

    def record(self, event: Event, token: Token | None = None, at_ms: int | None = None) -> None:
        """Record an event of the run, or of one of its tokens."""
        run = self.run
        run.sequence += 1
        type, metadata = event
        at = self.now_ms if at_ms is None else at_ms
        if token is None:
            decision = RecordEvent(run.sequence, self.step, type, at, None, None, None, metadata)
        else:
            decision = RecordEvent(run.sequence, self.step, type, at, token.node.id, token.id, token.path_id, metadata)
        self.decisions.append(decision)

    def create_token(
        self,
        node: CompiledNode,
        scope: Scope,
        path_id: str,
        parent_id: str | None,
        last_error: dict[str, JsonValue] | None = None,
        held: bool = False,
    ) -> Token:
        """Make a token; it begins when its turn comes, unless it is held."""
        run, token_id = self.run, self.new_id()
        told: TokenSpawned = {"parent": parent_id}
        group_id, index = None, 0
        if scope.group is not None:
            group_id, index = scope.group.id, scope.index
            told["group"] = group_id
            told["branch"] = index
            told["of"] = len(scope.group.branches)
        if held:
            told["held"] = True
        if last_error is not None:
            told["last_error"] = last_error
        number = run.sequence + 1
        self.emit(CreateToken(token_id, node.id, path_id, parent_id, group_id, index, number, held, last_error))
        run.sequence = number
        type, metadata = TOKEN_SPAWNED(told)
        self.decisions.append(RecordEvent(number, self.step, type, self.now_ms, node.id, token_id, path_id, metadata))
        token = run.tokens[token_id]
        token.chain = self.chain
        self.hand_on_if_many()
        return token

    def end_token(
        self,
        token: Token,
        status: EndStatus,
        error: dict[str, JsonValue] | None = None,
        late_at: str | None = None,
    ) -> None:
        """End a token; the caller looks after its scope. `late_at` is the join that had gone on without it."""
        self.emit(MoveToken(token.id, status))
        ended_well = status == "completed" and late_at is None  # as most do
        self.record(_ENDED_WELL if ended_well else _end_event(status, error, late_at), token)
        scope = token.scope
        group = scope.group
        if group is not None and not scope.live:
            self.closable[group.id] = group
        self.hand_on_if_many()

    def set_timer(self, key: str, due_ms: int, token: Token | None = None) -> None:
        """Set a timer, and tell so."""
        self.emit(SetTimer(key, due_ms))
        self.record(TIMER_SET({"key": key, "due_ms": due_ms}), token)

    def cancel_timer(self, key: str) -> None:
        """Cancel a timer, if it is set."""
        if key in self.run.timers:
            self.emit(CancelTimer(key))


def _end_event(status: EndStatus, error: dict[str, JsonValue] | None, late_at: str | None) -> Event:
    match status:
        case "completed":
            return TOKEN_COMPLETED({} if late_at is None else {"late_at": late_at})
        case "failed":
            return TOKEN_FAILED({} if error is None else {"error": error})
        case "timed_out":
            return TOKEN_TIMED_OUT({} if error is None else {"error": error})
        case "cancelled":
            return TOKEN_CANCELLED({})
        case _:
            assert_never(status)
