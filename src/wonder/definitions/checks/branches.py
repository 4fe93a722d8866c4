"""In which branches each node of a graph can run: the fan-outs that enclose it, from the outside in (CTL-5, CTL-7).

A node can be reached in several ways, so it has a set of stacks. A stack is a tuple of frames; a frame is the fan-out
transition that made the branch. The answer is about what is possible, never about what will happen.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import assert_never

from msgspec import Struct

from wonder.definitions.checks.ways_back import WaysBack, WaysTo
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft
from wonder.definitions.records.graph import ExpressionCondition, StructuredCondition
from wonder.language.values import encode_json

# A graph with more ways to reach a node than this, or with deeper nests, is too tangled to reason about: such nodes are
# then taken as unknown, and so are all when following every way would take too long.
_STACKS_MAX = 64
_DEPTH_MAX = 32
_VISITS_MAX = 200_000


class Frame(Struct, frozen=True):
    """One fan-out around a node."""

    node: str
    transition: int
    item_var: str | None


# Several transitions of which it is not known whether more than one fires, and which nothing joins. It has no name and
# no item, so one such frame stands for all of them: each of its own would make the stacks grow beyond all bounds.
MAYBE = Frame("", -1, None)


Stack = tuple[Frame, ...]


class Branches:
    """The stacks of every node and transition of one workflow."""

    def __init__(self, workflow: WorkflowDraft) -> None:
        self._workflow = workflow
        self._outgoing: dict[str, list[TransitionDraft]] = {}
        self._entering: dict[str, list[TransitionDraft]] = {}
        self._joins_of: dict[str, list[TransitionDraft]] = {}
        for transition in workflow.transitions:
            self._outgoing.setdefault(transition.from_ref, []).append(transition)
            if join := transition.body.synchronization:
                self._entering.setdefault(transition.to_ref, []).append(transition)
                self._joins_of.setdefault(join.sibling_group, []).append(transition)
        self.ways_back = WaysBack(workflow)
        self._transitions_by_ref = {t.body.ref: t.ordinal for t in workflow.transitions if t.body.ref}
        self._tiers: dict[str, list[list[TransitionDraft]]] = {}
        self._fan_outs = self._all_fan_outs()
        self._most_branches: dict[tuple[str, str | None], int | None] = {}
        self._to_joins: dict[frozenset[str], WaysTo] = {}
        self._to_join: dict[str, WaysTo] = {}
        self.of_node: dict[str, set[Stack]] = {}
        self.unknown: set[str] = set()
        """Nodes that can be reached in too many ways to tell."""
        self._spread()

    @classmethod
    def unknown_for(cls, workflow: WorkflowDraft) -> "Branches":
        """Take every node as unknown: for a graph of which parts are missing, so that nothing false is said of it."""
        branches = cls(workflow)
        branches.unknown = set(workflow.nodes)
        return branches

    def into(self, transition: TransitionDraft) -> set[Stack]:
        """Give the stacks with which a transition can arrive, before a join takes any frame off."""
        return {
            pushed
            for stack in self.of_node.get(transition.from_ref, ())
            for pushed in self._after_fan_out(transition, stack)
        }

    def names_frame(self, group: str, frame: Frame) -> bool:
        """Say whether a `sibling_group` means a frame: by its node, or by its transition."""
        return frame.node == group or self._transitions_by_ref.get(group) == frame.transition

    def frames_of(self, transition: TransitionDraft) -> tuple[Frame | None, ...]:
        """Give the frames that a transition may put around what comes behind it; None: it may put none."""
        return self._fan_outs[transition.ordinal]

    def is_for_errors(self, transition: TransitionDraft) -> bool:
        """Say whether a transition is looked at when its node has failed (CTL-15), and so not when it succeeded."""
        return _is_for_errors(transition)

    def outgoing(self, node: str) -> list[TransitionDraft]:
        """Give the transitions that leave a node, in the order written."""
        return self._outgoing.get(node, [])

    def tiers(self, node: str) -> list[list[TransitionDraft]]:
        """Give the transitions that leave a node, grouped by priority, the first tier first (CTL-3)."""
        if node not in self._tiers:
            grouped: dict[int, list[TransitionDraft]] = {}
            for transition in self.outgoing(node):
                grouped.setdefault(transition.body.priority, []).append(transition)
            self._tiers[node] = [grouped[priority] for priority in sorted(grouped)]
        return self._tiers[node]

    def can_fan_out(self, group: str) -> bool:
        """Say whether what a `sibling_group` names, a node or a transition, can ever make branches."""
        if group in self._transitions_by_ref:
            transition = self._workflow.transitions[self._transitions_by_ref[group]]
            priority = transition.body.priority
            beside = [tier for tier in self.tiers(transition.from_ref) if tier[0].body.priority == priority]
            return _always_fans_out(transition) or len(beside[0]) > 1
        return any(map(_always_fans_out, self.outgoing(group))) or any(len(tier) > 1 for tier in self.tiers(group))

    def most_branches(self, group: str, join: str | None = None) -> int | None:
        """Say how many branches one firing of what a `sibling_group` names can make; None where a foreach decides.

        With the node of a join, only the branches count that can come to that join.
        """
        if (group, join) not in self._most_branches:
            tiers = [[t for t in tier if join is None or self._can_come(t, join)] for tier in self._tiers_of(group)]
            decided = not any(t.body.foreach for tier in tiers for t in tier)
            most = max((sum(t.body.spawn_count or 1 for t in tier) for tier in tiers), default=0)
            self._most_branches[group, join] = most if decided else None
        return self._most_branches[group, join]

    def never_coming(self, group: str, join: str) -> list[str]:
        """Give the nodes at which branches begin from where no way leads into a join, beside others that can come."""
        found: list[str] = []
        ways = self.ways_back.to([join])
        for tier in self._tiers_of(group):
            for firing in ([t for t in tier if not _is_for_errors(t)], list(filter(_is_for_errors, tier))):
                absent = [t.to_ref for t in firing if not ways.may_lead_from(t.to_ref)]
                found += absent if len(absent) < len(firing) else []
        return found

    def _tiers_of(self, group: str) -> list[list[TransitionDraft]]:
        ordinal = self._transitions_by_ref.get(group)
        return self.tiers(group) if ordinal is None else [[self._workflow.transitions[ordinal]]]

    def _can_come(self, transition: TransitionDraft, join: str) -> bool:
        """Say whether some way leads from where a transition goes, or the transition itself, into a join."""
        if join not in self._to_join:
            self._to_join[join] = self.ways_back.to(t.from_ref for t in self._entering.get(join, ()))
        enters = transition.to_ref == join and transition.body.synchronization is not None
        return enters or self._to_join[join].may_lead_from(transition.to_ref)

    def item_vars(self, node: str) -> set[str]:
        """Give the item variables that may be there when a node runs."""
        return {frame.item_var for stack in self.of_node.get(node, ()) for frame in stack if frame.item_var}

    def in_branch(self, node: str) -> bool:
        """Say whether a node may run inside a fan-out."""
        return node in self.unknown or any(self.of_node.get(node, ()))

    def always_in_branch(self, node: str) -> bool:
        """Say whether a node can't run but inside a fan-out, as far as is known."""
        return node in self.unknown or () not in self.of_node.get(node, ((),))

    def is_joined_after(self, node: str, frame: Frame) -> bool:
        """Say whether a branch of a fan-out can still come to a join of it from a node."""
        ref = self._workflow.transitions[frame.transition].body.ref if frame is not MAYBE else None
        groups = frozenset(name for name in (frame.node, ref) if name in self._joins_of)
        if groups not in self._to_joins:
            self._to_joins[groups] = self.ways_back.to(t.from_ref for group in groups for t in self._joins_of[group])
        return self._to_joins[groups].may_lead_from(node)

    def _spread(self) -> None:
        visits = 0
        todo: list[tuple[str, Stack]] = [(self._workflow.initial_node, ())]
        while todo:
            node, stack = todo.pop()
            stacks = self.of_node.setdefault(node, set())
            if stack in stacks:
                continue
            if len(stacks) >= _STACKS_MAX or len(stack) > _DEPTH_MAX or visits > _VISITS_MAX:
                self.unknown.add(node)
                continue
            stacks.add(stack)
            for transition in self.outgoing(node):
                visits += 1 + len(stack)
                todo += [(transition.to_ref, arrived) for arrived in self._arrivals(transition, stack)]
        self._spread_unknown()

    def _spread_unknown(self) -> None:
        """Take as unknown what can be reached from an unknown node as well."""
        spreading = list(self.unknown)
        while spreading:
            for transition in self.outgoing(spreading.pop()):
                if transition.to_ref not in self.unknown:
                    self.unknown.add(transition.to_ref)
                    self.of_node.setdefault(transition.to_ref, set())
                    spreading.append(transition.to_ref)

    def _arrivals(self, transition: TransitionDraft, stack: Stack) -> Iterator[Stack]:
        join = transition.body.synchronization
        for pushed in self._after_fan_out(transition, stack):
            yield self._after_join(join.sibling_group, pushed) if join else pushed

    def _after_fan_out(self, transition: TransitionDraft, stack: Stack) -> Iterator[Stack]:
        for frame in self.frames_of(transition):
            yield stack if frame is None else _push(stack, frame)

    def _all_fan_outs(self) -> dict[int, tuple[Frame | None, ...]]:
        """Say of each transition which frames it may put around what comes behind it; None: it may put none."""
        found: dict[int, tuple[Frame | None, ...]] = {}
        for node in self._outgoing:
            for tier in self.tiers(node):
                for_errors = {t.ordinal: _is_for_errors(t) for t in tier}
                # Of a node that has failed only the error transitions are looked at, of one that succeeded the others.
                total = Counter(for_errors.values())
                firing = Counter(for_errors[t.ordinal] for t in tier if _always_fires(t))
                is_joined = len(tier) > 1 and self._is_joined(tier)
                for t in tier:
                    peers = total[for_errors[t.ordinal]] - 1
                    firing_peers = firing[for_errors[t.ordinal]] - _always_fires(t)
                    found[t.ordinal] = _frames(t, is_joined, peers, firing_peers)
        return found

    def _is_joined(self, tier: Iterable[TransitionDraft]) -> bool:
        return any(t.from_ref in self._joins_of or t.body.ref in self._joins_of for t in tier)

    def _after_join(self, group: str, stack: Stack) -> Stack:
        for depth in range(len(stack) - 1, -1, -1):
            if self.names_frame(group, stack[depth]):
                return stack[:depth]
        return stack


def _frames(transition: TransitionDraft, is_joined: bool, peers: int, firing_peers: int) -> tuple[Frame | None, ...]:
    foreach = transition.body.foreach
    frame = Frame(transition.from_ref, transition.ordinal, foreach.item_var if foreach else None)
    if _always_fans_out(transition):
        return (frame,)
    if is_joined:
        return (frame,) if peers else (frame, None)
    if firing_peers:
        return (frame,)
    return (None, MAYBE) if peers else (None,)


def _push(stack: Stack, frame: Frame) -> Stack:
    # A loop that fans out again and again would nest for ever; one level says all there is to know.
    return stack if frame in stack else (*stack, frame)


def _always_fans_out(transition: TransitionDraft) -> bool:
    return transition.body.foreach is not None or transition.body.spawn_count is not None


def _always_fires(transition: TransitionDraft) -> bool:
    return transition.body.condition is None and transition.body.loop_config is None


def _is_for_errors(transition: TransitionDraft) -> bool:
    condition = transition.body.condition
    match condition:
        case ExpressionCondition(expr=expr, reads=reads):
            return any("_last_error" in text for text in (expr, *reads))
        case StructuredCondition(definition=definition):
            return "_last_error" in encode_json(definition)
        case None:
            return False
        case _:
            assert_never(condition)
