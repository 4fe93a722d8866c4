"""In which branches each node of a graph can run: the fan-outs that enclose it, from the outside in (CTL-5, CTL-7).

A node can be reached in several ways, so it has a set of stacks. A stack is a tuple of frames; a frame is the fan-out
transition that made the branch. The answer is about what is possible, never about what will happen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wonder.definitions.drafts import TransitionDraft, WorkflowDraft
from wonder.definitions.records.graph import ExpressionCondition, StructuredCondition
from wonder.language.values import encode_json

# A graph with more ways to reach a node than this is too tangled to reason about: its nodes are then taken as unknown.
_STACKS_MAX = 64


@dataclass(frozen=True, slots=True)
class Frame:
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
        for transition in workflow.transitions:
            self._outgoing.setdefault(transition.from_ref, []).append(transition)
        self._transitions_by_ref = {t.body.ref: t.ordinal for t in workflow.transitions if t.body.ref}
        self._joined_names = {
            t.body.synchronization.sibling_group for t in workflow.transitions if t.body.synchronization
        }
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

    def outgoing(self, node: str) -> list[TransitionDraft]:
        """Give the transitions that leave a node, in the order written."""
        return self._outgoing.get(node, [])

    def tiers(self, node: str) -> list[list[TransitionDraft]]:
        """Give the transitions that leave a node, grouped by priority, the first tier first (CTL-3)."""
        grouped: dict[int, list[TransitionDraft]] = {}
        for transition in self.outgoing(node):
            grouped.setdefault(transition.body.priority, []).append(transition)
        return [grouped[priority] for priority in sorted(grouped)]

    def can_fan_out(self, group: str) -> bool:
        """Say whether what a `sibling_group` names, a node or a transition, can ever make branches."""
        if group in self._transitions_by_ref:
            transition = self._workflow.transitions[self._transitions_by_ref[group]]
            tiers = [tier for tier in self.tiers(transition.from_ref) if transition in tier]
            return _always_fans_out(transition) or len(tiers[0]) > 1
        return any(map(_always_fans_out, self.outgoing(group))) or any(len(tier) > 1 for tier in self.tiers(group))

    def item_vars(self, node: str) -> set[str]:
        """Give the item variables that may be there when a node runs."""
        return {frame.item_var for stack in self.of_node.get(node, ()) for frame in stack if frame.item_var}

    def in_branch(self, node: str) -> bool:
        """Say whether a node may run inside a fan-out."""
        return node in self.unknown or any(self.of_node.get(node, ()))

    def always_in_branch(self, node: str) -> bool:
        """Say whether a node can't run but inside a fan-out, as far as is known."""
        return node in self.unknown or () not in self.of_node.get(node, ((),))

    def _spread(self) -> None:
        todo: list[tuple[str, Stack]] = [(self._workflow.initial_node, ())]
        while todo:
            node, stack = todo.pop()
            stacks = self.of_node.setdefault(node, set())
            if stack in stacks:
                continue
            if len(stacks) >= _STACKS_MAX:
                self.unknown.add(node)
                continue
            stacks.add(stack)
            for transition in self.outgoing(node):
                todo += [(transition.to_ref, arrived) for arrived in self._arrivals(transition, stack)]
        # What can be reached from an unknown node is unknown as well.
        spreading = list(self.unknown)
        while spreading:
            for transition in self.outgoing(spreading.pop()):
                if transition.to_ref not in self.unknown:
                    self.unknown.add(transition.to_ref)
                    spreading.append(transition.to_ref)

    def _arrivals(self, transition: TransitionDraft, stack: Stack) -> Iterator[Stack]:
        join = transition.body.synchronization
        for pushed in self._after_fan_out(transition, stack):
            yield self._after_join(join.sibling_group, pushed) if join else pushed

    def _after_fan_out(self, transition: TransitionDraft, stack: Stack) -> Iterator[Stack]:
        tier = [t for t in self.outgoing(transition.from_ref) if t.body.priority == transition.body.priority]
        # When a node has failed, only its error transitions are looked at, and when it succeeds only the others match.
        peers = [t for t in tier if _is_for_errors(t) == _is_for_errors(transition) and t is not transition]
        foreach = transition.body.foreach
        pushed = _push(stack, Frame(transition.from_ref, transition.ordinal, foreach.item_var if foreach else None))
        if _always_fans_out(transition):
            yield pushed
        elif len(tier) > 1 and self._is_joined(tier):
            yield pushed
            if not peers:
                yield stack
        elif any(map(_always_fires, peers)):
            yield pushed
        elif peers:
            yield stack
            yield _push(stack, MAYBE)
        else:
            yield stack

    def _is_joined(self, tier: Iterable[TransitionDraft]) -> bool:
        return any({t.from_ref, t.body.ref} & self._joined_names for t in tier)

    def _after_join(self, group: str, stack: Stack) -> Stack:
        for depth in range(len(stack) - 1, -1, -1):
            if self.names_frame(group, stack[depth]):
                return stack[:depth]
        return stack


def _push(stack: Stack, frame: Frame) -> Stack:
    # A loop that fans out again and again would nest for ever; one level says all there is to know.
    return stack if frame in stack else (*stack, frame)


def _always_fans_out(transition: TransitionDraft) -> bool:
    return transition.body.foreach is not None or transition.body.spawn_count is not None


def _always_fires(transition: TransitionDraft) -> bool:
    return transition.body.condition is None and transition.body.loop_config is None


def _is_for_errors(transition: TransitionDraft) -> bool:
    match transition.body.condition:
        case ExpressionCondition(expr=expr, reads=reads):
            return any("_last_error" in text for text in (expr, *reads))
        case StructuredCondition(definition=definition):
            return "_last_error" in encode_json(definition)
        case _:
            return False
