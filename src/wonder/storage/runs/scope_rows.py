"""Scope rows: groups of branches, what is kept of each branch, and how often loops were taken.

A branch has a row only once there is something to say about it, and a group that is closed in the batch that opened it
leaves no trace.
"""

from collections.abc import Iterator

from wonder.engine.decisions import CloseGroup, FireJoin, OpenFanOut, SetLoop
from wonder.engine.restore import Snapshot, group_row
from wonder.engine.state import Scope
from wonder.storage.runs.cells import to_json
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Entry, Row, Value

# How loops of the run itself name their group.
NO_GROUP = ""
# Which column of a branch's row has its output.
_OUTPUT = 7


class ScopeRows:
    """The groups, branches and loops that a batch makes or changes."""

    def __init__(self) -> None:
        self._new: dict[str, tuple[str, OpenFanOut, list[str]]] = {}
        self._fired: dict[str, Row] = {}
        self._closed: list[Row] = []
        self._touched: dict[tuple[str, int], None] = {}
        self._firing: list[str] = []
        self._branches: dict[str, dict[int, Row]] = {}
        self._loops: dict[tuple[str, str], dict[tuple[int, str], tuple[int, int]]] = {}
        self._emptied: list[Row] = []
        self._ended: list[Row] = []

    def open(self, record: Recorded, decision: OpenFanOut, now_ms: int) -> None:
        """Note a new group."""
        record.open_group(decision.group_id, decision.segments)
        self._new[decision.group_id] = (record.id, decision, [])

    def adopt(self, record: Recorded, snapshot: Snapshot) -> None:
        """Note the groups, branches and loops that a fork begins with."""
        for group in snapshot.groups:
            outer = (group.outer_group_id, group.outer_index)
            opened = OpenFanOut(group.id, group.node_id, group.path_id, *outer, group.segments)
            record.open_group(group.id, group.segments)
            self._new[group.id] = (record.id, opened, list(group.fired))
        for branch in snapshot.branches:
            self.touch(branch.group_id, branch.index)
            self._adopt_loops(record.id, branch.group_id, branch.index, branch.loops)
        self._adopt_loops(record.id, NO_GROUP, 0, snapshot.run.loops)

    def _adopt_loops(self, run_id: str, group_id: str, index: int, counts: dict[str, tuple[int, int]]) -> None:
        for transition_id, count in counts.items():
            self._loops.setdefault((run_id, group_id), {})[index, transition_id] = count

    def fire(self, record: Recorded, decision: FireJoin, now_ms: int) -> None:
        """Note that a join of a group is done with."""
        new = self._new.get(decision.group_id)
        if new is not None:
            new[2].append(decision.join_node_id)
        else:
            self._firing.append(decision.group_id)

    def close(self, record: Recorded, decision: CloseGroup, now_ms: int) -> None:
        """Note that a group is gone, with its branches and their loops."""
        group_id = decision.group_id
        record.groups.pop(group_id, None)
        self._fired.pop(group_id, None)
        self._branches.pop(group_id, None)
        self._loops.pop((record.id, group_id), None)
        if self._new.pop(group_id, None) is None:
            self._closed.append((record.id, group_id))

    def touch(self, group_id: str, branch_index: int) -> None:
        """Note that a branch has changed; its row is taken when the turn is over."""
        self._touched[group_id, branch_index] = None

    def set_loop(self, record: Recorded, decision: SetLoop, now_ms: int) -> None:
        """Note how often a transition was taken in a scope."""
        loops = self._loops.setdefault((record.id, decision.group_id or NO_GROUP), {})
        loops[decision.branch_index, decision.transition_id] = (decision.count, decision.first_ms)

    def end_run(self, record: Recorded) -> None:
        """Note that a run has ended, and needs its counts no longer."""
        if record.run.root.loops:
            self._loops.pop((record.id, NO_GROUP), None)
            self._emptied.append((record.id, NO_GROUP))

    def end_all(self, run_id: str) -> None:
        """Note that a run has no groups, branches and counts any more."""
        self._new = {id: new for id, new in self._new.items() if new[0] != run_id}
        self._fired = {id: row for id, row in self._fired.items() if row[0] != run_id}
        self._closed = [row for row in self._closed if row[0] != run_id]
        self._emptied = [row for row in self._emptied if row[0] != run_id]
        branches = {
            id: {index: row for index, row in rows.items() if row[0] != run_id} for id, rows in self._branches.items()
        }
        self._branches = {id: rows for id, rows in branches.items() if rows}
        self._loops = {key: loops for key, loops in self._loops.items() if key[0] != run_id}
        self._ended.append((run_id,))

    def finish(self, record: Recorded) -> None:
        """Take the rows of what a turn has touched from the run as it is now, unless its group is gone."""
        groups = record.run.groups
        for group_id, index in self._touched:
            group = groups.get(group_id)
            if group is not None:
                branches = self._branches.setdefault(group_id, {})
                row = branches[index] = _branch(record.id, group_id, group.branches[index])
                record.written += len(str(row[_OUTPUT]))
        for group_id in self._firing:
            group = groups.get(group_id)
            if group is not None:
                self._fired[group_id] = (record.id, group_id, to_json(group_row(group).fired))
        self._touched.clear()
        self._firing.clear()

    @property
    def is_touched(self) -> bool:
        """Whether the turn has touched something that `finish` is to look at."""
        return bool(self._touched or self._firing)

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        if self._ended:
            yield "delete_groups_of_run", self._ended
            yield "delete_branches_of_run", self._ended
            yield "delete_loops_of_run", self._ended
        if self._closed:
            yield "delete_group", self._closed
            yield "delete_branches", self._closed
        if gone := self._closed + self._emptied:
            yield "delete_loops", gone
        if self._new:
            yield "insert_group", [_group(*new) for new in self._new.values()]
        if self._fired:
            yield "set_fired_joins", list(self._fired.values())
        branches = [row for rows in self._branches.values() for row in rows.values()]
        if branches:
            yield "put_branch", branches
        yield from self._loop_entries()

    def _loop_entries(self) -> Iterator[Entry]:
        counted: list[Row] = []
        removed: list[Row] = []
        for (run_id, group_id), loops in self._loops.items():
            for (index, transition_id), (count, first_ms) in loops.items():
                if count:
                    counted.append((run_id, group_id, index, transition_id, count, first_ms))
                else:
                    removed.append((run_id, group_id, index, transition_id))
        if counted:
            yield "put_loop", counted
        if removed:
            yield "delete_loop", removed


def _group(run_id: str, decision: OpenFanOut, fired: list[str]) -> list[Value]:
    return [
        run_id,
        decision.group_id,
        decision.node_id,
        decision.path_id,
        decision.outer_group_id,
        decision.outer_index,
        to_json(decision.segments),
        to_json(fired),
    ]


def _branch(run_id: str, group_id: str, branch: Scope) -> Row:
    return (
        run_id,
        group_id,
        branch.index,
        branch.status,
        branch.abandoned,
        None if branch.entered is None else branch.entered.node.id,
        branch.arrived_as,
        to_json(branch.output),
        None if branch.error is None else to_json(branch.error),
        to_json(branch.replaced) if branch.replaced else None,
    )
