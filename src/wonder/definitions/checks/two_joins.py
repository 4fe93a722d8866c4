"""Finds branches that can have tokens at two joins of their own group: one of the tokens would be lost (CTL-12).

A branch has one token until something fans out inside of it. So the question is which two tokens of one branch can be
there at the same time, and whether they can come to different joins. All pairs of places of two such tokens are
followed, with the fan-outs around them, because a join inside of the branch makes one token of many. Any condition may
hold: transitions of one tier can fire together, those of different tiers never do.
"""

from collections.abc import Iterator
from typing import NamedTuple

from wonder.definitions.checks.branches import Branches, Frame
from wonder.definitions.checks.token_moves import BRANCH, Joins, Moves, Place, Work
from wonder.definitions.checks.within_reach import within_reach
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft

# A graph that takes more steps, for all of its fan-outs together, is too tangled or too large to be followed. What was
# found until then is refused, else it is accepted; a run that comes to two joins fails (BRANCH_AT_TWO_JOINS), so that
# nothing is lost without a word.
_STEPS_MAX = 200_000
_FOUND_MAX = 1_000


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
    joins, work = Joins(workflow, branches), Work(_STEPS_MAX)
    for frame in _frames(workflow, branches):
        entering = joins.of_frame(frame)
        if len({transition.to_ref for transition in entering}) > 1:
            _Search(joins, branches, frame, entering, work, found).run()
        if work.is_done or len(found) >= _FOUND_MAX:
            break
    return list(found.values())


def _frames(workflow: WorkflowDraft, branches: Branches) -> Iterator[Frame]:
    for transition in workflow.transitions:
        if transition.from_ref in branches.of_node and transition.from_ref not in branches.unknown:
            yield from (frame for frame in branches.frames_of(transition) if frame and frame.node)


class _Search:
    """All pairs of places that two tokens of one branch can have; `entering` are the transitions into its joins."""

    def __init__(
        self,
        joins: Joins,
        branches: Branches,
        frame: Frame,
        entering: list[TransitionDraft],
        work: Work,
        found: dict[tuple[str, str], TwoJoins],
    ) -> None:
        self._moves, self._frame, self._work, self._found = Moves(joins, branches, frame, work), frame, work, found
        self._order = {t.to_ref: t.ordinal for t in reversed(entering)}
        self._within_reach = within_reach(joins, branches, frame, entering, work)
        self._split_at: dict[_Pair, str] = {}
        self._todo: list[_Pair] = []
        self._following: dict[Place, list[Place]] = {}

    def run(self) -> None:
        """Follow all pairs; add those that end at two joins to what was found, once for each two."""
        self._work.keep_half()
        self._begin()
        self._work.use_all()
        while self._todo and self._may_go_on():
            pair = self._todo.pop()
            self._follow(pair, pair.one, pair.other)
            self._follow(pair, pair.other, pair.one)

    def _may_go_on(self) -> bool:
        return not self._work.is_done and len(self._found) < _FOUND_MAX

    def _begin(self) -> None:
        """Follow the branch as long as it has one token, up to each place where it gets two."""
        todo = self._moves.begin()
        while todo and self._may_go_on():
            place = todo.pop()
            if place not in self._following:
                todo += self._look_at(place)

    def _look_at(self, place: Place) -> list[Place]:
        """Give the places that follow one; note, the first time, each two tokens that can come of it."""
        if place not in self._following:
            self._following[place] = list(dict.fromkeys(self._moves.following(place)))
            for one, other, named in self._moves.together(place):
                self._note(one, other, len(place.stack), siblings=named, split=place.node)
                if not self._may_go_on():
                    break
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
            if not self._may_go_on():
                return
            self._note(after, beside, common, siblings=siblings, split=split)

    def _note_empty_joins(self, place: Place) -> None:
        """Note the groups that go on with an empty merge, because their branches are at joins further out (CTL-9)."""
        if place.waits_in >= BRANCH:
            for depth in range(place.waits_in + 1, len(place.stack)):
                if not self._may_go_on():
                    return
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
        self._work.take(one)
        self._work.take(other)
        if len(self._reached(one) | self._reached(other)) < 2:
            return
        if one.waits_in == other.waits_in == BRANCH:
            first, second = sorted((one.node, other.node), key=lambda node: self._order[node])
            self._found.setdefault((first, second), TwoJoins(self._frame.node, split, first, second))
            return
        pair = _Pair(min(one, other), max(one, other), common, siblings)
        if pair not in self._split_at:
            self._split_at[pair] = split
            self._todo.append(pair)

    def _reached(self, place: Place) -> frozenset[str]:
        if place.waits_in == BRANCH:
            return frozenset((place.node,))
        return self._within_reach.get(place.node, frozenset())
