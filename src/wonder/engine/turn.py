"""Turn: one fact being decided upon: the decisions so far, applied as they are made, and what is still to look at."""

from collections import deque
from collections.abc import Callable
from typing import Any

from wonder.engine.compiled import CompiledNode
from wonder.engine.decisions import CancelTimer, CreateToken, Decision, MoveToken, RecordEvent, SetTimer
from wonder.engine.evolve import EVOLVERS
from wonder.engine.state import CANCELLED, COMPLETED, FAILED, TIMED_OUT, Group, RunState, Scope, Token
from wonder.language.values import JsonValue

_END_EVENTS = {
    COMPLETED: "token_completed",
    FAILED: "token_failed",
    TIMED_OUT: "token_timed_out",
    CANCELLED: "token_cancelled",
}


class Turn:
    """The work on one fact."""

    __slots__ = (
        "closable",
        "decisions",
        "groups",
        "new_id",
        "now_ms",
        "over_time",
        "pure_left",
        "run",
        "scopes",
        "step",
    )

    def __init__(
        self, run: RunState, now_ms: int, new_id: Callable[[], str], over_time: Callable[[], bool] | None
    ) -> None:
        self.run, self.now_ms, self.new_id, self.over_time = run, now_ms, new_id, over_time
        self.decisions: list[Decision] = []
        self.scopes: deque[Scope] = deque()
        """Branches that may have come to rest."""
        self.groups: deque[Group] = deque()
        """Groups whose joins may be met, or can't be met any more."""
        self.closable: dict[str, Group] = {}
        """Groups in which nothing may be live any more."""
        self.pure_left = run.limits.pure_nodes_max
        self.step = run.sequence + 1
        """The number of the first event since the run was last at rest."""

    def emit(self, decision: Decision) -> None:
        """Make a decision, and apply it, so that what follows sees its result."""
        self.decisions.append(decision)
        apply = EVOLVERS.get(type(decision))
        if apply is not None:
            apply(self.run, decision)

    def record(self, type: str, metadata: dict[str, Any], token: Token | None = None, at_ms: int | None = None) -> None:
        """Record an event of the run, or of one of its tokens."""
        run = self.run
        run.sequence += 1
        at = self.now_ms if at_ms is None else at_ms
        if token is None:
            event = RecordEvent(run.sequence, self.step, type, at, None, None, None, metadata)
        else:
            event = RecordEvent(run.sequence, self.step, type, at, token.node.id, token.id, token.path_id, metadata)
        self.decisions.append(event)

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
        metadata: dict[str, Any] = {"parent": parent_id}
        group_id, index = None, 0
        if scope.group is not None:
            group_id, index = scope.group.id, scope.index
            metadata["group"] = group_id
            metadata["branch"] = index
            metadata["of"] = len(scope.group.branches)
        if held:
            metadata["held"] = True
        if last_error is not None:
            metadata["last_error"] = last_error
        number = run.sequence + 1
        self.emit(CreateToken(token_id, node.id, path_id, parent_id, group_id, index, number, held, last_error))
        run.sequence = number
        self.decisions.append(
            RecordEvent(number, self.step, "token_spawned", self.now_ms, node.id, token_id, path_id, metadata)
        )
        return run.tokens[token_id]

    def end_token(self, token: Token, status: str, metadata: dict[str, Any] | None = None) -> None:
        """End a token; whoever ends it looks after its scope."""
        self.emit(MoveToken(token.id, status))
        self.record(_END_EVENTS[status], {} if metadata is None else metadata, token)
        scope = token.scope
        group = scope.group
        if group is not None and not scope.live:
            self.closable[group.id] = group

    def set_timer(self, key: str, due_ms: int, token: Token | None = None) -> None:
        """Set a timer, and tell so."""
        self.emit(SetTimer(key, due_ms))
        self.record("timer_set", {"key": key, "due_ms": due_ms}, token)

    def cancel_timer(self, key: str) -> None:
        """Cancel a timer, if it is set."""
        if key in self.run.timers:
            self.emit(CancelTimer(key))
