"""State: a run as its events tell it, with the tokens that are live and the branches that they are in."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from wonder.checker.stored import Scope

PENDING: Final = "pending"
WAITING_FOR_SIBLINGS: Final = "waiting_for_siblings"
ROOT: Final[Scope] = (None, 0)


@dataclass(slots=True)
class Token:
    """A token that has not ended."""

    id: str
    node: str
    path: str
    parent: str | None
    scope: Scope
    born: int
    status: str = PENDING
    held: bool = False
    losses: int = 0
    last_error: Any = None
    wait: Any = None
    place: tuple[str, str, int] | None = None
    """Where it waits for its siblings: the node of the join, the group and the branch that it stands for."""


@dataclass(slots=True)
class Branch:
    """One branch of a group, once there is something to say about it."""

    entered: str | None = None
    arrived: bool = False
    arrived_as: int = 0
    abandoned: bool = False
    output: Any = field(default_factory=dict)
    replaced: Any = field(default_factory=dict)
    """Where it has written whole objects: true there, objects on the way."""


_UNTOUCHED: Final = Branch()


@dataclass(slots=True)
class Group:
    """The branches of one firing."""

    id: str
    node: str
    path: str
    outer: Scope
    segments: list[tuple[str, int, list[Any] | None]]
    branches: dict[int, Branch] = field(default_factory=dict)
    fired: list[str] = field(default_factory=list)
    arrivals: int = 0
    live: int = 0
    """Tokens in it, however deep."""
    looping: set[int] = field(default_factory=set)
    """Branches that have counted loops."""

    @property
    def total(self) -> int:
        """How many branches it has."""
        return sum(count for _, count, _ in self.segments)

    def branch(self, index: int) -> Branch:
        """Give a branch to look at."""
        return self.branches.get(index, _UNTOUCHED)

    def change(self, index: int) -> Branch:
        """Give a branch to change."""
        return self.branches.setdefault(index, Branch())

    def indexes_of(self, transition_id: str) -> range:
        """Give the numbers of the branches that a transition made."""
        first = 0
        for id, count, _ in self.segments:
            if id == transition_id:
                return range(first, first + count)
            first += count
        return range(0)

    def transition_of(self, index: int) -> str | None:
        """Give the transition that made a branch."""
        return next((id for id, _, _ in self.segments if index in self.indexes_of(id)), None)


@dataclass
class State:
    """A run after some of its events."""

    status: str = "queued"
    sequence: int = 0
    paused: str | None = None
    gate_item: str | None = None
    left_ms: int | None = None
    error: Any = None
    input: Any = None
    state: Any = None
    output: Any = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)
    loops: dict[Scope, dict[str, tuple[int, int]]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    """Questions to people: open, answered or withdrawn."""
    tokens_in: dict[Scope, dict[str, Token]] = field(default_factory=dict)
    groups_in: dict[Scope, dict[str, Group]] = field(default_factory=dict)
    closable: dict[str, None] = field(default_factory=dict)
    """Groups in which nothing may be live any more."""

    def add(self, token: Token) -> None:
        """Take in a new token."""
        self.tokens[token.id] = token
        self.tokens_in.setdefault(token.scope, {})[token.id] = token
        for group in self.around(token.scope):
            group.live += 1

    def open(self, group: Group) -> None:
        """Take in a new group."""
        self.groups[group.id] = group
        self.groups_in.setdefault(group.outer, {})[group.id] = group
        self.closable[group.id] = None

    def end(self, token: Token) -> None:
        """Let go of a token."""
        del self.tokens[token.id]
        here = self.tokens_in[token.scope]
        del here[token.id]
        if not here:
            del self.tokens_in[token.scope]
        for group in self.around(token.scope):
            group.live -= 1
            if not group.live:
                self.closable[group.id] = None

    def around(self, scope: Scope) -> Iterator[Group]:
        """Give the groups around a scope, from the inside out."""
        group = self.groups.get(scope[0]) if scope[0] is not None else None
        while group is not None:
            yield group
            group = self.groups.get(group.outer[0]) if group.outer[0] is not None else None

    def close_groups(self) -> None:
        """Forget the groups in which nothing is live, with their counts; a run at rest keeps none of them."""
        for id in self.closable:
            group = self.groups.get(id)
            if group is None or group.live:
                continue
            del self.groups[id]
            del self.groups_in[group.outer][id]
            for index in group.looping:
                self.loops.pop((id, index), None)
        self.closable.clear()

    def is_active(self, scope: Scope) -> bool:
        """Say whether something in a scope can still move: tokens at a join and abandoned branches can't."""
        if any(token.status != WAITING_FOR_SIBLINGS for token in self.tokens_in.get(scope, {}).values()):
            return True
        return any(self.is_open(group) for group in self.groups_in.get(scope, {}).values())

    def is_open(self, group: Group) -> bool:
        """Say whether a branch of a group is under way."""
        return next(self.under_way(group, range(group.total)), None) is not None

    def under_way(self, group: Group, indexes: range) -> Iterator[int]:
        """Give the branches that can still arrive somewhere."""
        return (i for i in indexes if not group.branch(i).abandoned and self.is_active((group.id, i)))

    @property
    def resting_status(self) -> str:
        """The status that the tokens ask for, between two turns (CTL-18)."""
        if self.status not in ("running", "waiting"):
            return self.status
        statuses = {token.status for token in self.tokens.values() if not (token.held and token.status == PENDING)}
        moving = statuses & {PENDING, "dispatched", "executing"}
        return "waiting" if "suspended" in statuses and not moving else "running"
