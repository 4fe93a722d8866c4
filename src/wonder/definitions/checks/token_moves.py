"""Where a token inside of a branch can go next, with the fan-outs around it (CTL-3, CTL-5, CTL-8)."""

from collections.abc import Iterator
from typing import NamedTuple

from wonder.definitions.checks.branches import MAYBE, Branches, Frame
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft

# A loop that fans out inside of its own branches nests for ever: so often it is followed.
_SAME_FAN_OUT_MAX = 2

MOVES = -2
"""`Place.waits_in` of a token that does not wait."""
BRANCH = -1
"""`Place.waits_in` of a token that waits at a join of the branch itself."""


class Place(NamedTuple):
    """Where a token is: its node, and the fan-outs around it inside of the branch, by transition, outer ones first."""

    node: str
    stack: tuple[int, ...]
    waits_in: int = MOVES
    """For a token that waits to enter `node`: the depth in `stack` of the branch that it waits for."""


class Moves:
    """The moves of the tokens of one branch, which is known by the fan-out that made it."""

    def __init__(self, workflow: WorkflowDraft, branches: Branches, branch: Frame) -> None:
        self._transitions, self._branches, self._branch = workflow.transitions, branches, branch
        joins = [t for t in workflow.transitions if t.body.synchronization]
        self._joined = {group_of(t) for t in joins}
        self._first_joins: dict[str | None, str] = {}
        for transition in joins:
            self._first_joins.setdefault(group_of(transition), transition.to_ref)
        self._of_nodes = {t.to_ref for t in joins if group_of(t) in workflow.nodes}
        self._firings: dict[str, list[list[TransitionDraft]]] = {}

    def begin(self) -> list[Place]:
        """Give the place of the first token of the branch."""
        return list(self._enter(self._transitions[self._branch.transition], ()))

    def following(self, place: Place) -> Iterator[Place]:
        """Give all places that a token can have next; at a join, when that goes on."""
        if place.waits_in >= 0:
            yield Place(place.node, place.stack[: place.waits_in])
        elif place.waits_in == MOVES:
            for transition in self._branches.outgoing(place.node):
                for frame in self._branches.frames_of(transition):
                    named = frame is not None and frame is not MAYBE and self._is_named(transition)
                    yield from self._leave(transition, place.stack, fans_out=named)

    def together(self, place: Place) -> Iterator[tuple[Place, Place, bool]]:
        """Give each two places that two tokens have when a node is left, and whether a join names their fan-out."""
        if place.waits_in != MOVES:
            return
        for firing in self._firings_of(place.node):
            for number, one in enumerate(firing):
                for other in firing[number if _makes_several(one) else number + 1 :]:
                    named = self._is_named(one)
                    for first in self._leave(one, place.stack, fans_out=named):
                        for second in self._leave(other, place.stack, fans_out=named):
                            yield first, second, named

    def counts_all(self, join: str) -> bool:
        """Say whether a join counts all branches of a firing, and not those of one transition."""
        return join in self._of_nodes

    def empty_joins(self, ordinal: int) -> Iterator[tuple[str, str]]:
        """Give the joins that go on with nothing when all branches of a fan-out are gone, and its node (CTL-9)."""
        made_by = self._transitions[ordinal]
        for name in (made_by.from_ref, made_by.body.ref):
            if name in self._first_joins:
                yield self._first_joins[name], made_by.from_ref

    def _leave(self, transition: TransitionDraft, stack: tuple[int, ...], *, fans_out: bool) -> Iterator[Place]:
        if not fans_out:
            yield from self._enter(transition, stack)
        elif stack.count(transition.ordinal) < _SAME_FAN_OUT_MAX:
            yield from self._enter(transition, (*stack, transition.ordinal))

    def _enter(self, transition: TransitionDraft, stack: tuple[int, ...]) -> Iterator[Place]:
        """Enter a node, or wait at the join of it; a token that waits for a branch further out never comes back."""
        group, node = group_of(transition), transition.to_ref
        if group is None:
            yield Place(node, stack)
            return
        for depth in range(len(stack) - 1, -1, -1):
            made_by = self._transitions[stack[depth]]
            if group in (made_by.from_ref, made_by.body.ref):
                yield Place(node, stack, depth)
                return
        if self._branches.names_frame(group, self._branch):
            yield Place(node, stack, BRANCH)
        elif self._passes(transition, group):
            yield Place(node, stack)

    def _passes(self, transition: TransitionDraft, group: str) -> bool:
        """Say whether a token of the branch can be in no branch that a join counts (CTL-8)."""
        return any(
            self._branch in stack and not any(self._branches.names_frame(group, frame) for frame in stack)
            for stack in self._branches.into(transition)
        )

    def _firings_of(self, node: str) -> list[list[TransitionDraft]]:
        """Give the transitions of a node that can fire together: of one tier, after a success or after a failure."""
        if node not in self._firings:
            self._firings[node] = [
                [t for t in tier if self._branches.is_for_errors(t) == after_failure]
                for tier in self._branches.tiers(node)
                for after_failure in (False, True)
            ]
        return self._firings[node]

    def _is_named(self, transition: TransitionDraft) -> bool:
        """Say whether a join names the fan-out that a transition is part of."""
        beside = [t for t in self._branches.outgoing(transition.from_ref) if _same_tier(t, transition)]
        return transition.from_ref in self._joined or any(t.body.ref in self._joined for t in beside)


def group_of(transition: TransitionDraft) -> str | None:
    """Give the `sibling_group` that a transition joins."""
    join = transition.body.synchronization
    return join.sibling_group if join else None


def _same_tier(one: TransitionDraft, other: TransitionDraft) -> bool:
    return one.body.priority == other.body.priority


def _makes_several(transition: TransitionDraft) -> bool:
    return transition.body.foreach is not None or (transition.body.spawn_count or 1) > 1
