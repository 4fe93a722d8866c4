"""Moves a run that is to be retried to another version of its workflow (CTL-19)."""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from wonder.definitions.records.graph import Node, Transition, WorkflowDef
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.failure import misfit
from wonder.engine.fork import ForkRefused
from wonder.engine.restore import BranchRow, GroupRow, Snapshot, TokenRow
from wonder.engine.state import PENDING, SUSPENDED

_NAMED = 10

Loops = dict[str, tuple[int, int]]


def moved(snapshot: Snapshot, old: WorkflowDef, new: WorkflowDef, compiled: CompiledWorkflow) -> Snapshot:
    """Give a run's rows with the ids of another version's graph; `compiled` is that graph.

    Nodes are the same if they have the same ref; transitions if they have the same ref or, without one, the same ends
    in the same order. Raises ForkRefused and names all that is live and has no place in the new graph.
    """
    moving = _Moving(old, new, compiled)
    tokens = [moving.token(token) for token in snapshot.tokens]
    groups = [moving.group(group) for group in snapshot.groups]
    branches = [moving.branch(branch) for branch in snapshot.branches]
    begun_again = {row.id for row, token in zip(tokens, snapshot.tokens, strict=True) if row.status != token.status}
    timers = {
        moving.timer(key): due_ms for key, due_ms in snapshot.run.timers.items() if _owner(key) not in begun_again
    }
    run = replace(snapshot.run, timers=timers, loops=moving.loops(snapshot.run.loops))
    moving.check(snapshot)
    return Snapshot(run, tokens, groups, branches)


class _Moving:
    """What became of each node and transition, and what has become of nothing."""

    def __init__(self, old: WorkflowDef, new: WorkflowDef, compiled: CompiledWorkflow) -> None:
        self.version, self.compiled = new.version, compiled
        self.refs = {node.id: node.ref for node in old.nodes}
        self.old_nodes = {node.id: node for node in old.nodes}
        new_nodes = {node.ref: node for node in new.nodes}
        self.nodes: dict[str, Node] = {node.id: new_nodes[node.ref] for node in old.nodes if node.ref in new_nodes}
        names = dict(_named(new))
        self.old_transitions = {one.id: (name, one) for name, one in _named(old)}
        self.transitions = {one.id: names[name] for name, one in _named(old) if name in names}
        self.missing: dict[str, None] = {}

    def token(self, token: TokenRow) -> TokenRow:
        """Move a token; one that waits begins anew if its node has another task."""
        node = self.nodes.get(token.node_id)
        row = replace(token, node_id=self.node_id(token.node_id), waits_at=self.join_id(token.waits_at))
        if token.status == SUSPENDED and node is not None:
            before = self.old_nodes[token.node_id]
            if (node.task_id, node.task_version) != (before.task_id, before.task_version):
                row = replace(row, status=PENDING, wait=None, input=None)
        return row

    def group(self, group: GroupRow) -> GroupRow:
        """Move a group of branches; each of its transitions must fan out as before."""
        segments = [(self.transition_id(id), count, items) for id, count, items in group.segments]
        for id, _, _ in group.segments:
            self._check_fan_out(id)
        fired = [self.join_id(id) or "" for id in group.fired]
        return replace(group, node_id=self.node_id(group.node_id), segments=segments, fired=fired)

    def branch(self, branch: BranchRow) -> BranchRow:
        """Move a branch."""
        return replace(branch, entered=self.join_id(branch.entered), loops=self.loops(branch.loops))

    def loops(self, loops: Loops) -> Loops:
        """Move what was counted of loops; a loop that is gone needs no count."""
        return {self.transitions[id].id: count for id, count in loops.items() if id in self.transitions}

    def timer(self, key: str) -> str:
        """Move the key of a timer: that of a join names its node."""
        kind, _, rest = key.partition(":")
        owner, _, node_id = rest.partition(":")
        return f"{kind}:{owner}:{self.node_id(node_id)}" if node_id else key

    def node_id(self, id: str) -> str:
        """Give the node of the same ref."""
        if id not in self.nodes:
            self.missing[f"node {self.refs.get(id, id)!r}"] = None
            return id
        return self.nodes[id].id

    def join_id(self, id: str | None) -> str | None:
        """Give the node of the same ref, if branches still join there."""
        if id is None:
            return None
        new = self.node_id(id)
        if id in self.nodes and new not in self.compiled.joins:
            self.missing[f"the join at node {self.refs[id]!r}"] = None
        return new

    def transition_id(self, id: str) -> str:
        """Give the transition of the same name."""
        if id not in self.transitions:
            self.missing[f"the transition {self._shown(id)}"] = None
            return id
        return self.transitions[id].id

    def check(self, snapshot: Snapshot) -> None:
        """Raise ForkRefused if something live has no place, or the values don't fit the new schemas."""
        if self.missing:
            named = list(self.missing)
            more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
            raise ForkRefused(
                f"the run can't be retried with version {self.version}: it is live at what that version does not have: "
                f"{', '.join(named[:_NAMED])}{more}; retry it with its own version, or deploy one that has them"
            )
        for what, faults in (
            ("the input", self.compiled.input_validator.faults(snapshot.run.input)),
            ("the state", self.compiled.state_check.whole_faults(snapshot.run.state)),
        ):
            if faults:
                why = misfit("CONTEXT_SCHEMA", f"{what} of the run", faults).message
                raise ForkRefused(f"the run can't be retried with version {self.version}: {why}")

    def _check_fan_out(self, id: str) -> None:
        if id not in self.transitions:
            return
        before, after = self.old_transitions[id][1].foreach, self.transitions[id].foreach
        if (before and before.item_var) != (after and after.item_var):
            self.missing[f"the foreach of the transition {self._shown(id)}"] = None

    def _shown(self, id: str) -> str:
        return self.old_transitions[id][0] if id in self.old_transitions else repr(id)


def _named(workflow: WorkflowDef) -> Iterable[tuple[str, Transition]]:
    """Give the transitions, each with a name that it keeps from version to version."""
    refs, seen = {node.id: node.ref for node in workflow.nodes}, Counter[str]()
    for one in workflow.transitions:
        name = one.ref or f"{refs[one.from_node_id]} → {refs[one.to_node_id]}"
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), one


def _owner(key: str) -> str:
    return key.partition(":")[2].partition(":")[0]
