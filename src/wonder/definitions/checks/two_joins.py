"""Finds branches that can have tokens at two joins of their own group: one of the tokens would be lost (CTL-12).

A branch has one token until something fans out inside of it. So the question is which two tokens of one branch can be
there at the same time, and whether they can come to different joins. All pairs of places of two such tokens are
followed, with the fan-outs around them, because a join inside of the branch makes one token of many. Any condition may
hold: transitions of one tier can fire together, those of different tiers never do.
"""

from collections.abc import Iterator
from typing import NamedTuple

from wonder.definitions.checks.branches import Branches, Frame
from wonder.definitions.checks.token_moves import BRANCH, Moves, Place, group_of
from wonder.definitions.drafts import WorkflowDraft

# A graph with more places or pairs is too tangled to be followed. It is accepted; a run that comes to two joins fails
# (BRANCH_AT_TWO_JOINS), so that nothing is lost without a word.
_PLACES_MAX = 2_000
_PAIRS_MAX = 20_000


class TwoJoins(NamedTuple):
    """Two joins that one branch of a group can have tokens at, and the node at which its path splits."""

    group: str
    split: str
    first: str
    second: str


class _Pair(NamedTuple):
    """Two tokens of one branch."""

    one: Place
    other: Place
    common: int
    """How many of the inner branches around them are the same."""
    siblings: bool
    """Whether the next ones are branches of one firing."""


def find_two_joins(workflow: WorkflowDraft, branches: Branches) -> list[TwoJoins]:
    """Give each two joins of one group that a branch can have tokens at."""
    found: dict[tuple[str, str], TwoJoins] = {}
    for frame in _frames(workflow, branches):
        joins = {t.to_ref: t.ordinal for t in reversed(workflow.transitions) if _counts(branches, group_of(t), frame)}
        if len(joins) > 1:
            for conflict in _Search(workflow, branches, frame, joins).conflicts():
                found.setdefault((conflict.first, conflict.second), conflict)
    return list(found.values())


def _frames(workflow: WorkflowDraft, branches: Branches) -> Iterator[Frame]:
    for transition in workflow.transitions:
        if transition.from_ref in branches.of_node and transition.from_ref not in branches.unknown:
            yield from (frame for frame in branches.frames_of(transition) if frame and frame.node)


def _counts(branches: Branches, group: str | None, frame: Frame) -> bool:
    return group is not None and branches.names_frame(group, frame)


class _Search:
    """All pairs of places that two tokens of one branch can have; `joins` has the joins of it, in the order written."""

    def __init__(self, workflow: WorkflowDraft, branches: Branches, frame: Frame, joins: dict[str, int]) -> None:
        self._moves, self._frame, self._joins = Moves(workflow, branches, frame), frame, joins
        self._within_reach = _within_reach(workflow, branches, frame)
        self._split_at: dict[_Pair, str] = {}
        self._todo: list[_Pair] = []
        self._following: dict[Place, list[Place]] = {}

    def conflicts(self) -> Iterator[TwoJoins]:
        """Follow all pairs; give those that end at two joins, once for each two."""
        self._begin()
        found: set[tuple[str, str]] = set()
        while self._todo and len(self._split_at) < _PAIRS_MAX:
            pair = self._todo.pop()
            one, other = pair.one, pair.other
            if one.waits_in == other.waits_in == BRANCH:
                first, second = sorted((one.node, other.node), key=lambda node: self._joins[node])
                if (first, second) not in found:
                    found.add((first, second))
                    yield TwoJoins(self._frame.node, self._split_at[pair], first, second)
                continue
            self._follow(pair, one, other)
            self._follow(pair, other, one)

    def _begin(self) -> None:
        """Follow the branch as long as it has one token, up to each place where it gets two."""
        todo = self._moves.begin()
        while todo and len(self._following) < _PLACES_MAX:
            place = todo.pop()
            if place not in self._following:
                todo += self._look_at(place)

    def _look_at(self, place: Place) -> list[Place]:
        """Give the places that follow one; note, the first time, each two tokens that can come of it."""
        if place not in self._following:
            self._following[place] = list(dict.fromkeys(self._moves.following(place)))
            for one, other, named in self._moves.together(place):
                self._note(one, other, len(place.stack), siblings=named, split=place.node)
            self._note_empty_joins(place)
        return self._following[place]

    def _follow(self, pair: _Pair, place: Place, beside: Place) -> None:
        """Let one of two tokens go on, with the other where it is."""
        following, split = self._look_at(place), self._split_at[pair]
        common, siblings, depth = pair.common, pair.siblings, place.waits_in
        if depth >= 0:
            if self._takes_along(pair, place, beside):
                return
            common, siblings = min(common, depth), siblings and common < depth
        for after in following:
            self._note(after, beside, common, siblings=siblings, split=split)

    def _note_empty_joins(self, place: Place) -> None:
        """Note the groups that go on with an empty merge, because their branches are at joins further out (CTL-9)."""
        if place.waits_in >= BRANCH:
            for depth in range(place.waits_in + 1, len(place.stack)):
                for node, split in self._moves.empty_joins(place.stack[depth]):
                    self._note(place, Place(node, place.stack[:depth]), depth, siblings=False, split=split)

    def _takes_along(self, pair: _Pair, place: Place, beside: Place) -> bool:
        """Say whether a join that goes on with one token also takes the other, or ends it, or waits for its end."""
        depth = place.waits_in
        in_one_group = pair.common > depth or (pair.common == depth and pair.siblings)
        if not in_one_group:
            return False
        if not self._moves.counts_all(place.node) and place.stack[depth] != beside.stack[depth]:
            return False
        waits_further_out = BRANCH <= beside.waits_in < depth
        waits_at_another = beside.waits_in == depth and beside.node != place.node
        return not waits_further_out and not waits_at_another

    def _note(self, one: Place, other: Place, common: int, *, siblings: bool, split: str) -> None:
        reached = self._reached(one) | self._reached(other)
        if len(reached) < 2:
            return
        pair = _Pair(min(one, other), max(one, other), common, siblings)
        if pair not in self._split_at:
            self._split_at[pair] = split
            self._todo.append(pair)

    def _reached(self, place: Place) -> frozenset[str]:
        if place.waits_in == BRANCH:
            return frozenset((place.node,))
        return self._within_reach.get(place.node, frozenset())


def _within_reach(workflow: WorkflowDraft, branches: Branches, frame: Frame) -> dict[str, frozenset[str]]:
    """Say of each node to which joins of a branch some way leads from it."""
    coming: dict[str, list[str]] = {}
    reached: dict[str, set[str]] = {}
    todo: list[tuple[str, str]] = []
    for transition in workflow.transitions:
        coming.setdefault(transition.to_ref, []).append(transition.from_ref)
        if _counts(branches, group_of(transition), frame):
            todo.append((transition.from_ref, transition.to_ref))
    while todo:
        node, join = todo.pop()
        joins = reached.setdefault(node, set())
        if join not in joins:
            joins.add(join)
            todo += [(before, join) for before in coming.get(node, ())]
    return {node: frozenset(joins) for node, joins in reached.items()}
