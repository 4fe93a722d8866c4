"""From which nodes of a graph some way leads to others, asked one by one, in a bounded number of steps."""

from collections import deque
from collections.abc import Iterable

from wonder.definitions.drafts import WorkflowDraft

# For all questions about one workflow together. Who asks beyond that is told that some way may lead there.
STEPS_MAX = 1_000_000


class WaysBack:
    """The transitions of one workflow, followed against their direction."""

    def __init__(self, workflow: WorkflowDraft) -> None:
        self.steps = 0
        """How many transitions were followed so far."""
        self._coming: dict[str, list[str]] = {}
        for transition in workflow.transitions:
            self._coming.setdefault(transition.to_ref, []).append(transition.from_ref)

    def to(self, refs: Iterable[str]) -> "WaysTo":
        """Ask for ways to these nodes."""
        return WaysTo(self, refs)

    def before(self, ref: str) -> list[str]:
        """Give the nodes right before one."""
        found = self._coming.get(ref, [])
        self.steps += 1 + len(found)
        return found


class WaysTo:
    """The ways to some nodes, followed only as far as the answers need: most ask about a node that is near."""

    def __init__(self, ways: WaysBack, refs: Iterable[str]) -> None:
        self._ways = ways
        self._found = set(refs)
        # The nearest first: what lies before a fan-out is seldom asked about, and may be most of a graph.
        self._todo = deque(self._found)

    def may_lead_from(self, node: str) -> bool:
        """Say whether some way leads from a node; True too if it would take too long to tell."""
        while node not in self._found and self._todo:
            if self._ways.steps > STEPS_MAX:
                return True
            for ref in self._ways.before(self._todo.popleft()):
                if ref not in self._found:
                    self._found.add(ref)
                    self._todo.append(ref)
        return node in self._found
