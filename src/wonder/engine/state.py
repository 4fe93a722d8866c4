"""RunState: all that the engine keeps of a run under way, with counters instead of scans.

Only `evolve` changes it. Values of the context are never changed in place, so parts of them are shared freely.
"""

from collections import deque
from heapq import heappop, heappush
from typing import Final, Literal, TypeAlias

from wonder.definitions.records.graph import OnWorkflowTimeout
from wonder.engine.compiled import CompiledNode, CompiledTransition, CompiledWorkflow, Join
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits
from wonder.language.values import JsonValue

PENDING: Final = "pending"
DISPATCHED: Final = "dispatched"
EXECUTING: Final = "executing"
WAITING_FOR_SIBLINGS: Final = "waiting_for_siblings"
SUSPENDED: Final = "suspended"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
TIMED_OUT: Final = "timed_out"
CANCELLED: Final = "cancelled"
EndStatus: TypeAlias = Literal["completed", "failed", "timed_out", "cancelled"]
"""How a token can end."""
EarlyEnd: TypeAlias = Literal["cancelled", "timed_out"]
"""How a token ends that something else brings to its end."""
FINAL: Final = frozenset({COMPLETED, FAILED, TIMED_OUT, CANCELLED})
RunEnd: TypeAlias = Literal["completed", "failed", "cancelled"]
ENDED_RUN: Final = frozenset({"completed", "failed", "cancelled"})

# Shared by all branches that have written nothing.
_NOTHING: Final[JsonValue] = {}

UNDER_WAY: Final = "under_way"
ARRIVED: Final = "arrived"
GONE: Final = "gone"


class Token:
    """One execution of a node (CTL-1); tokens that have ended are not kept."""

    __slots__ = (
        "born",
        "chain",
        "held",
        "id",
        "input",
        "last_error",
        "losses",
        "node",
        "parent_id",
        "path_id",
        "scope",
        "status",
        "wait",
        "waits_at",
        "waits_in",
    )

    def __init__(self, id: str, node: CompiledNode, path_id: str, parent_id: str | None, scope: "Scope") -> None:
        self.id, self.node, self.path_id, self.parent_id, self.scope = id, node, path_id, parent_id, scope
        self.status: str = PENDING
        self.born = 0
        """The sequence number of its first event: tokens in the order in which they were made."""
        self.chain = 0
        """How many pure nodes led here without a wait or a task between them; not stored, so a restart begins at 0."""
        self.held = False
        """Made, and waiting until `max_parallel` lets its branch begin (CTL-5a)."""
        self.last_error: dict[str, JsonValue] | None = None
        self.input: JsonValue = None
        self.wait: dict[str, JsonValue] | None = None
        """What a suspended token waits for."""
        self.waits_at: Join | None = None
        self.waits_in: Scope | None = None
        self.losses = 0


class Scope:
    """The run, or one branch of a fan-out: what a token belongs to (CTL-7)."""

    __slots__ = (
        "abandoned",
        "active",
        "arrived_as",
        "depth",
        "entered",
        "error",
        "group",
        "groups",
        "index",
        "live",
        "loops",
        "more_tokens",
        "only_token",
        "output",
        "replaced",
        "segment",
        "status",
    )

    def __init__(self, group: "Group | None", segment: "Segment | None", index: int) -> None:
        self.group, self.segment, self.index = group, segment, index
        self.depth: int = 0 if group is None else group.scope.depth + 1
        # Most branches have one token at a time, and a dict for it would take as much memory as the branch itself.
        self.only_token: Token | None = None
        self.more_tokens: dict[str, Token] | None = None
        self.groups: dict[str, Group] | None = None
        self.live = 0
        """Own tokens that have not ended, and groups in it that are not closed."""
        self.active = 0
        """Own tokens that can still move, and groups in it with branches under way."""
        self.status: str = UNDER_WAY
        self.abandoned = False
        self.entered: Join | None = None
        self.arrived_as = 0
        """Its position in the order in which the branches of its group arrived, for `last_wins`."""
        self.output: JsonValue = _NOTHING
        self.replaced: JsonValue = _NOTHING
        """Which objects of its output were written as a whole (`engine/replaced.py`)."""
        self.error: Failure | None = None
        self.loops: dict[str, tuple[int, int]] | None = None
        """By transition id: how often it was taken, and when first (CTL-14)."""

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Its own tokens that have not ended, in the order in which they came."""
        if self.more_tokens is not None:
            return tuple(self.more_tokens.values())
        return () if self.only_token is None else (self.only_token,)

    def add_token(self, token: Token) -> None:
        """Take a token in."""
        if self.more_tokens is not None:
            self.more_tokens[token.id] = token
        elif self.only_token is None:
            self.only_token = token
        else:
            self.more_tokens = {self.only_token.id: self.only_token, token.id: token}
            self.only_token = None

    def remove_token(self, token: Token) -> None:
        """Let go of a token that has ended."""
        tokens = self.more_tokens
        if tokens is None:
            assert self.only_token is token
            self.only_token = None
            return
        del tokens[token.id]
        if len(tokens) == 1:
            (self.only_token,) = tokens.values()
            self.more_tokens = None

    def clear_tokens(self) -> None:
        """Let go of all tokens."""
        self.only_token = self.more_tokens = None

    def count_live(self) -> None:
        """Count one more live thing in here."""
        self.live += 1
        if self.live == 1 and self.group is not None:
            self.group.live += 1

    def uncount_live(self) -> None:
        """Count one live thing less in here."""
        self.live -= 1
        if self.live == 0 and self.group is not None:
            self.group.live -= 1

    @property
    def key(self) -> tuple[str | None, int]:
        """The group's id and the branch's index, as decisions name a scope; of the run, None and 0."""
        return (None, 0) if self.group is None else (self.group.id, self.index)


class Segment:
    """The branches of a group that one transition made."""

    __slots__ = (
        "arrivals",
        "count",
        "first",
        "group",
        "items",
        "next_held",
        "number",
        "running",
        "transition",
        "under_way",
    )

    def __init__(
        self, group: "Group", transition: CompiledTransition, first: int, count: int, items: list[JsonValue] | None
    ) -> None:
        self.group, self.transition, self.first, self.count, self.items = group, transition, first, count, items
        self.number = len(group.segments)
        self.under_way = count
        self.arrivals = 0
        self.running = 0
        """Branches begun and not yet done, where `max_parallel` counts them."""
        self.next_held = first


class JoinState:
    """How far one fan-in of a group is."""

    __slots__ = ("arrived", "fired", "last_index")

    def __init__(self) -> None:
        self.arrived = 0
        self.fired = False
        self.last_index = 0


class Group:
    """All branches of one firing; its id is that of the token that fanned out (CTL-5)."""

    __slots__ = (
        "all_joins",
        "arrivals",
        "branches",
        "id",
        "joins",
        "live",
        "node",
        "open",
        "path_id",
        "scope",
        "segments",
        "under_way",
    )

    def __init__(self, id: str, node: CompiledNode, path_id: str, scope: Scope) -> None:
        self.id, self.node, self.path_id, self.scope = id, node, path_id, scope
        self.segments: list[Segment] = []
        self.branches: list[Scope] = []
        self.joins: dict[int, JoinState] = {}
        self.all_joins: tuple[Join, ...] = ()
        self.under_way = 0
        self.arrivals = 0
        self.live = 0
        """Branches that have a token or a group that is live."""
        self.open = True
        """Until every branch has arrived or is gone, and the joins have drawn the consequence."""

    @property
    def total(self) -> int:
        """How many branches it was made with."""
        return len(self.branches)

    def join(self, join: Join) -> JoinState:
        """Give how far a fan-in is, from zero on."""
        state = self.joins.get(join.index)
        if state is None:
            state = self.joins[join.index] = JoinState()
        return state


_PARTS: Final = (
    "_startable_order",
    "begun",
    "context_bytes",
    "error",
    "gate_item_id",
    "groups",
    "startable",
    "id",
    "input",
    "limits",
    "moving",
    "output",
    "paused",
    "queued",
    "ready",
    "root",
    "sequence",
    "state",
    "status",
    "suspended",
    "timeout_left_ms",
    "timers",
    "tokens",
    "tokens_made",
    "workflow",
    "working",
)


class RunState:
    """A run under way."""

    __slots__ = (*_PARTS, "is_elsewhere")

    def __init__(self, run_id: str, workflow: CompiledWorkflow, limits: Limits | None = None) -> None:
        self.id = run_id
        self.workflow = workflow
        self.limits = limits or Limits()
        self.status = "queued"
        self.paused: str | None = None
        """Why it is paused, or None."""
        self.gate_item_id: str | None = None
        self.begun = False
        """Whether it was started: until then it has no tokens, whether it is queued or paused in the queue."""
        self.sequence = 0
        self.tokens_made = 0
        """How many tokens it has made in all, those that a fork began with among them."""
        self.context_bytes = -1
        """At most so large is the context as JSON, with the outputs of branches; -1 until it is measured."""
        self.input: JsonValue = {}
        self.state: JsonValue = {}
        self.output: JsonValue = {}
        self.error: Failure | None = None
        self.timers: dict[str, int] = {}
        self.timeout_left_ms: int | None = None
        """While paused: how much of the workflow's time-out is left."""
        self.is_elsewhere = False
        """Whether the tasks of the run are left to another process; set before each turn, never stored."""
        self.root = Scope(None, None, 0)
        self.tokens: dict[str, Token] = {}
        self.groups: dict[str, Group] = {}
        self.moving = 0
        """Tokens that are pending (and not held), dispatched or executing."""
        self.working = 0
        """Tokens that a worker has: dispatched or executing."""
        self.suspended = 0
        # What can begin as soon as there is a turn: not kept in rows, `restore` finds it again.
        self.ready: deque[Token] = deque()
        self.queued: deque[Token] = deque()
        """Tasks that were ready when workers had as many of the run as they may have."""
        self.startable: dict[tuple[str, int], Segment] = {}
        """Segments of which `max_parallel` may let another branch begin."""
        self._startable_order: list[tuple[str, int]] = []

    def become(self, other: "RunState") -> None:
        """Take over all that another run under way is."""
        for name in _PARTS:
            setattr(self, name, getattr(other, name))

    @property
    def timeout_ms(self) -> int | None:
        """How long the run may take (RET-3)."""
        return self.workflow.timeout_ms if self.limits.timeout_ms is None else self.limits.timeout_ms

    @property
    def on_timeout(self) -> OnWorkflowTimeout:
        """What happens when the run has taken that long: its trigger says so, if the time is its trigger's (PHS-6)."""
        return self.workflow.on_timeout if self.limits.timeout_ms is None else self.limits.on_timeout

    @property
    def ended(self) -> bool:
        """Whether the run has its final status."""
        return self.status in ENDED_RUN

    @property
    def idle(self) -> bool:
        """Whether no worker and no turn will move the run on: then it may leave memory."""
        return not self.working and (self.paused is not None or not self.moving)

    @property
    def has_work(self) -> bool:
        """Whether a turn would begin something: after a restore, `TurnContinued` is then due."""
        return self.paused is None and self.may_begin

    @property
    def may_begin(self) -> bool:
        """Whether a token can begin that is ready, or waits for its turn while the workers may have another task."""
        return bool(self.ready) or (self.has_room and bool(self.queued or self.startable))

    @property
    def has_room(self) -> bool:
        """Whether the workers may have another task of the run."""
        return self.working < self.limits.tasks_max

    def note_startable(self, segment: Segment) -> None:
        """Note that another branch of a segment may begin."""
        key = (segment.group.id, segment.number)
        if key not in self.startable:
            self.startable[key] = segment
            heappush(self._startable_order, key)

    def next_startable(self) -> Segment:
        """Give the segment whose turn it is: the oldest, so that a restored run goes on in the same order."""
        while self._startable_order[0] not in self.startable:
            heappop(self._startable_order)
        return self.startable[self._startable_order[0]]

    def drop_startable(self, segment: Segment) -> None:
        """Note that no other branch of a segment may begin for now."""
        key = heappop(self._startable_order)
        assert self.startable[key] is segment
        del self.startable[key]

    def scope(self, group_id: str | None, index: int) -> Scope:
        """Give the scope that a decision names."""
        return self.root if group_id is None else self.groups[group_id].branches[index]
