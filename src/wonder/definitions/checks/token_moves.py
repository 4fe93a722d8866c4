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


class Work:
    """How much may still be done for one workflow: a large graph must not keep all runs waiting."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self._kept = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing more may be done."""
        return self._left <= self._kept

    def take(self, place: "Place | None" = None) -> None:
        """Count one step, or more for a place with many fan-outs around it."""
        self._left -= 1 if place is None else 1 + len(place.stack)

    def keep_half(self) -> None:
        """Keep half of what is left for later."""
        self._kept = self._left // 2

    def use_all(self) -> None:
        """Use what was kept."""
        self._kept = 0


class Joins:
    """The joins of a workflow, and what they name: the same for all of its branches."""

    def __init__(self, workflow: WorkflowDraft, branches: Branches) -> None:
        self.transitions, self._branches = workflow.transitions, branches
        self.first: dict[str | None, str] = {}
        self.of_group: dict[str | None, list[TransitionDraft]] = {}
        for transition in workflow.transitions:
            if transition.body.synchronization:
                self.first.setdefault(group_of(transition), transition.to_ref)
                self.of_group.setdefault(group_of(transition), []).append(transition)
        self.of_nodes = {t.to_ref for group, joins in self.of_group.items() if group in workflow.nodes for t in joins}
        self._named: dict[tuple[str, int], bool] = {}

    def of_frame(self, frame: Frame) -> list[TransitionDraft]:
        """Give the transitions that join the branches of a fan-out, in the order written."""
        names = {frame.node, self.transitions[frame.transition].body.ref} - {None}
        joins = [t for name in names if name and self._branches.names_frame(name, frame) for t in self._joining(name)]
        return sorted(joins, key=lambda transition: transition.ordinal)

    def is_named(self, transition: TransitionDraft) -> bool:
        """Say whether a join names the fan-out that a transition is part of."""
        node = transition.from_ref
        if (node, transition.body.priority) not in self._named:
            for tier in self._branches.tiers(node):
                named = node in self.of_group or any(t.body.ref in self.of_group for t in tier)
                self._named[node, tier[0].body.priority] = named
        return self._named[node, transition.body.priority]

    def _joining(self, name: str) -> list[TransitionDraft]:
        return self.of_group.get(name, [])


class Moves:
    """The moves of the tokens of one branch, which is known by the fan-out that made it."""

    def __init__(self, joins: Joins, branches: Branches, branch: Frame, work: Work) -> None:
        self._joins, self._branches, self._branch, self._work = joins, branches, branch, work
        self._transitions = joins.transitions
        self._firings: dict[str, list[list[TransitionDraft]]] = {}
        self._passing: dict[int, bool] = {}

    def begin(self) -> list[Place]:
        """Give the place of the first token of the branch."""
        return list(self._enter(self._transitions[self._branch.transition], ()))

    def following(self, place: Place) -> Iterator[Place]:
        """Give all places that a token can have next; at a join, when that goes on."""
        if place.waits_in >= 0:
            yield Place(place.node, place.stack[: place.waits_in])
        elif place.waits_in == MOVES:
            for transition in self._branches.outgoing(place.node):
                self._work.take(place)
                if self._work.is_done:
                    return
                for frame in self._branches.frames_of(transition):
                    named = frame is not None and frame is not MAYBE and self._joins.is_named(transition)
                    yield from self._leave(transition, place.stack, fans_out=named)

    def together(self, place: Place) -> Iterator[tuple[Place, Place, bool]]:
        """Give each two places that two tokens have when a node is left, and whether a join names their fan-out."""
        if place.waits_in != MOVES:
            return
        for firing in self._firings_of(place.node):
            for number, one in enumerate(firing):
                named = self._joins.is_named(one)
                firsts = list(self._leave(one, place.stack, fans_out=named))
                for beside in range(number if _makes_several(one) else number + 1, len(firing)):
                    self._work.take(place)
                    if self._work.is_done:
                        return
                    for second in self._leave(firing[beside], place.stack, fans_out=named):
                        yield from ((first, second, named) for first in firsts)

    def counts_all(self, join: str) -> bool:
        """Say whether a join counts all branches of a firing, and not those of one transition."""
        return join in self._joins.of_nodes

    def empty_joins(self, ordinal: int) -> Iterator[tuple[str, str]]:
        """Give the joins that go on with nothing when all branches of a fan-out are gone, and its node (CTL-9)."""
        made_by = self._transitions[ordinal]
        for name in (made_by.from_ref, made_by.body.ref):
            if name in self._joins.first:
                yield self._joins.first[name], made_by.from_ref

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
        if transition.ordinal not in self._passing:
            self._passing[transition.ordinal] = any(
                self._branch in stack and not any(self._branches.names_frame(group, frame) for frame in stack)
                for stack in self._branches.into(transition)
            )
        return self._passing[transition.ordinal]

    def _firings_of(self, node: str) -> list[list[TransitionDraft]]:
        """Give the transitions of a node that can fire together: of one tier, after a success or after a failure."""
        if node not in self._firings:
            self._firings[node] = [
                [t for t in tier if self._branches.is_for_errors(t) == after_failure]
                for tier in self._branches.tiers(node)
                for after_failure in (False, True)
            ]
        return self._firings[node]


def group_of(transition: TransitionDraft) -> str | None:
    """Give the `sibling_group` that a transition joins."""
    join = transition.body.synchronization
    return join.sibling_group if join else None


def _makes_several(transition: TransitionDraft) -> bool:
    return transition.body.foreach is not None or (transition.body.spawn_count or 1) > 1
