"""Conservation: what becomes of each token, and where each comes from (CTL-2 to CTL-5)."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wonder.checker.definitions import Definition, Transition
from wonder.checker.fold import apply, beginning, scope_of
from wonder.checker.state import ROOT, Token
from wonder.checker.stored import Event, Scope, StoredRun
from wonder.checker.violations import Violation


@dataclass
class _Life:
    """All that the events say about one token."""

    id: str
    node: str
    path: str
    scope: Scope
    made: Event | None
    successors: list[Event] = field(default_factory=list)
    fan_outs: list[Event] = field(default_factory=list)
    joins: list[Event] = field(default_factory=list)
    routed: list[Event] = field(default_factory=list)
    failed: bool = False
    end: Event | None = None

    @property
    def late(self) -> bool:
        return self.end is not None and "late_at" in self.end.metadata

    @property
    def ways(self) -> int:
        """In how many ways it went on."""
        return len(self.successors) + len(self.fan_outs) + len(self.joins) + self.late


def check_conservation(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for tokens that got lost, doubled, or came from nowhere."""
    start = beginning(run)
    lives = {token.id: _kept(token) for token in start.tokens.values()}
    groups: dict[str, None] = dict.fromkeys(start.groups)
    roots: list[_Life] = []
    fan_ins: list[Event] = []
    for event in run.events:
        if event.type == "context_snapshot":
            apply(start, event)
            lives = {token.id: _kept(token) for token in start.tokens.values()}
            groups = dict.fromkeys(start.groups)
        elif event.type == "token_spawned":
            scope = scope_of(event.metadata)
            life = _Life(event.token_id or "", event.node_id or "", event.path_id or "", scope, event)
            lives[life.id] = life
            parent = event.metadata["parent"]
            if parent is None:
                roots.append(life)
            elif parent in groups:
                if scope[0] != parent:
                    fan_ins.append(event)
            elif parent in lives:
                lives[parent].successors.append(event)
            else:
                message = f"token {life.id} (event {event.sequence}) comes from token {parent}, which is not there"
                yield Violation("conservation", run.id, message)
        elif event.type == "tokens_ended":
            for life in lives.values():
                life.end = life.end or event._replace(type=f"token_{event.metadata['status']}")
        elif (found := lives.get(event.token_id or "")) is not None:
            _note(found, event)
            if event.type == "fan_out_started":
                groups[found.id] = None
    yield from _check_roots(run, definition, roots, begun=bool(start.sequence))
    yield from _check_fan_ins(run, fan_ins)
    for life in lives.values():
        yield from _check_life(run, definition, life)


def _kept(token: Token) -> _Life:
    """Begin with a token that a snapshot has."""
    life = _Life(token.id, token.node, token.path, token.scope, None)
    if token.place is not None:
        life.joins.append(Event(0, 0, "fan_in_waiting", 0, token.node, token.id, token.path, {}))
    return life


def _note(life: _Life, event: Event) -> None:
    match event.type:
        case "fan_out_started":
            life.fan_outs.append(event)
        case "fan_in_waiting":
            life.joins.append(event)
        case "transitions_evaluated":
            life.routed.append(event)
        case "node_failed":
            life.failed = True
        case "token_completed" | "token_failed" | "token_timed_out" | "token_cancelled":
            life.end = life.end or event


def _check_roots(run: StoredRun, definition: Definition, roots: list[_Life], *, begun: bool) -> Iterator[Violation]:
    for life in roots[0 if begun else 1 :]:
        yield Violation("conservation", run.id, f"token {life.id} has no parent, and is not the first one")
    for life in [] if begun else roots[:1]:
        if (life.node, life.path, life.scope) != (definition.initial_node, "0", ROOT):
            message = f"the first token is at {life.node} {life.path}, and not at {definition.initial_node} 0"
            yield Violation("conservation", run.id, message)


def _check_fan_ins(run: StoredRun, made: list[Event]) -> Iterator[Violation]:
    """Each fan-in that went on made one token, at its node; no other token has a group for its parent."""
    left = [(event.metadata["parent"], event.node_id) for event in made]
    for event in run.events:
        if event.type == "fan_in_completed":
            key = (event.metadata["group"], event.metadata["join"])
            if key in left:
                left.remove(key)
            else:
                message = f"the fan-in at event {event.sequence} into {key[1]} made no token"
                yield Violation("fan-in", run.id, message)
    for group_id, node_id in left:
        yield Violation("fan-in", run.id, f"a token at {node_id} comes from group {group_id} without a fan-in")


def _check_life(run: StoredRun, definition: Definition, life: _Life) -> Iterator[Violation]:
    status = "live" if life.end is None else life.end.type.removeprefix("token_")
    joined = bool(life.joins) or life.late
    if life.ways > 1:
        yield Violation("conservation", run.id, f"token {life.id} ({status}) went on in {life.ways} ways at once")
    if status in ("live", "cancelled") and (life.successors or life.fan_outs):
        yield Violation("conservation", run.id, f"token {life.id} is {status}, and others were made of it")
    if status == "completed" and not joined:
        expected = 1 if definition.leaving(life.node) else 0
        if life.ways != expected:
            message = f"token {life.id} at {life.node} completed and went on in {life.ways} ways instead of {expected}"
            yield Violation("conservation", run.id, message)
    if len(life.routed) > 1:
        yield Violation("routing", run.id, f"token {life.id} was sent on {len(life.routed)} times")
    for event in life.routed:
        yield from _check_routing(run, definition, life, event)


def _check_routing(run: StoredRun, definition: Definition, life: _Life, event: Event) -> Iterator[Violation]:
    """Compare the tiers that were looked at with the definition, and what was taken with what matched."""
    leaving = {transition.name: transition for transition in definition.leaving(life.node)}
    tiers = event.metadata["tiers"]
    names = [[candidate["transition"] for candidate in tier["candidates"]] for tier in tiers]
    unknown = [name for tier in names for name in tier if name not in leaving]
    if unknown:
        message = f"event {event.sequence} looks at {unknown[0]}, which does not leave {life.node}"
        yield Violation("routing", run.id, message)
        return
    if not life.failed:
        by_priority: dict[int, list[str]] = {}
        for transition in leaving.values():
            by_priority.setdefault(transition.priority, []).append(transition.name)
        expected = [by_priority[priority] for priority in sorted(by_priority)][: len(names)]
        if names != expected:
            yield Violation("routing", run.id, f"event {event.sequence} looks at {names}, and the tiers are {expected}")
    matched = [[leaving[c["transition"]] for c in tier["candidates"] if c["matched"]] for tier in tiers]
    if any(matched[:-1]):
        yield Violation("routing", run.id, f"event {event.sequence} looks at tiers behind one that matched")
    yield from _check_taken(run, life, event, matched[-1] if matched else [])


def _check_taken(run: StoredRun, life: _Life, event: Event, matched: list[Transition]) -> Iterator[Violation]:
    for made in life.successors:
        fits = [t for t in matched if t.to_node == made.node_id]
        place = (scope_of(made.metadata), made.path_id)
        if len(matched) != 1 or not fits or place != (life.scope, life.path):
            message = f"token {made.token_id} at {made.node_id} {made.path_id} is not what event {event.sequence} chose"
            yield Violation("routing", run.id, message)
    for fan_out in life.fan_outs:
        fired = [part["transition"] for part in fan_out.metadata["branches"]]
        if fired != [transition.id for transition in matched]:
            message = f"event {fan_out.sequence} fans out by {fired}, and event {event.sequence} chose otherwise"
            yield Violation("routing", run.id, message)
    if not matched and (life.successors or life.fan_outs):
        yield Violation("routing", run.id, f"nothing matched at event {event.sequence}, and token {life.id} went on")
