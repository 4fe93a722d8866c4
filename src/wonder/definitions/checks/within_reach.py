"""To which joins of a branch some way leads from each node inside of it (CTL-12)."""

from wonder.definitions.checks.branches import Branches, Frame
from wonder.definitions.checks.token_moves import Joins, Work
from wonder.definitions.drafts import TransitionDraft

# Who asks wants to know whether there is one, and whether there are two.
_ENOUGH = 2


def within_reach(
    joins: Joins, branches: Branches, frame: Frame, entering: list[TransitionDraft], work: Work
) -> dict[str, frozenset[str]]:
    """Give two joins of a branch for each node with a way to two or more of them, or the only one."""
    made_by = joins.transitions[frame.transition]
    begin = made_by.to_ref
    coming = _coming(joins, branches, begin, {transition.ordinal for transition in entering}, work)
    if frame.node in coming or made_by.body.ref in coming:
        # The fan-out can be inside of its own branch. Then a join of it may be one of the inner branches, and go on.
        coming = _coming(joins, branches, begin, set(), work)
    reached: dict[str, set[str]] = {}
    todo = [(transition.from_ref, transition.to_ref) for transition in entering]
    while todo and not work.is_done:
        work.take()
        node, join = todo.pop()
        found = reached.setdefault(node, set())
        if join not in found and len(found) < _ENOUGH:
            found.add(join)
            todo += [(before, join) for before in coming.get(node, ())]
    return {node: frozenset(found) for node, found in reached.items()}


def _coming(joins: Joins, branches: Branches, begin: str, ends: set[int], work: Work) -> dict[str, list[str]]:
    """Give the nodes of a branch, each with those right before it; the branch ends with the transitions `ends`."""
    coming: dict[str, list[str]] = {begin: []}
    todo = [begin]
    while todo and not work.is_done:
        node = todo.pop()
        outgoing = branches.outgoing(node)
        after = [t.to_ref for t in outgoing if t.ordinal not in ends]
        # A join can go on with nothing, wherever its branches are (CTL-9).
        after += [joins.first[name] for name in (node, *(t.body.ref for t in outgoing)) if name in joins.first]
        for ref in after:
            work.take()
            if ref not in coming:
                coming[ref] = []
                todo.append(ref)
            coming[ref].append(node)
    return coming
