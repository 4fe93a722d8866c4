"""A run in memory: its state, its program, and the tasks that workers have of it."""

from wonder.coordinator.programs import Program
from wonder.coordinator.worker import Work
from wonder.definitions.records.tenancy import SnapshotPolicy
from wonder.engine.state import RunState
from wonder.storage.runs.records import Recorded, TriggerOrigin


class Family:
    """What a run and all that calls and triggers lead to from it on have in common."""

    __slots__ = ("written",)

    def __init__(self, written: int) -> None:
        self.written = written
        """About how many bytes they have written."""


class LiveRun:
    """A run that is under way or being looked at; parked runs have none, only rows."""

    __slots__ = (
        "_counted",
        "depth",
        "dropped",
        "family",
        "id",
        "inherited",
        "is_told",
        "origin",
        "parent_run_id",
        "parent_token_id",
        "pins",
        "policy",
        "program",
        "project_id",
        "record",
        "root_id",
        "snapshot_due",
        "state",
        "tasks",
        "uncommitted",
    )

    def __init__(
        self,
        state: RunState,
        program: Program,
        project_id: str,
        policy: SnapshotPolicy,
        depth: int = 0,
        parent_run_id: str | None = None,
        parent_token_id: str | None = None,
        origin: TriggerOrigin | None = None,
        written: int = 0,
    ) -> None:
        self.id, self.state, self.program, self.project_id, self.depth = state.id, state, program, project_id, depth
        self.parent_run_id, self.parent_token_id = parent_run_id, parent_token_id
        self.root_id: str | None = None
        """The run at the top of the calls that led to it; None where nobody had to know."""
        self.origin = origin
        """By what it was triggered."""
        self.policy = policy
        self.snapshot_due = _next_multiple(state.sequence, policy.every_events)
        """The event from which on a snapshot is due, or whether one is has to be looked at; None for never."""
        self.record = Recorded(state, program.plan, project_id, program.definition.id, written)
        self.family: Family | None = None
        """None where it has started no other run, and none has started it."""
        self._counted = written
        self.tasks: dict[str, Work] = {}
        self.uncommitted = 0
        """Batches that hold decisions of it and are not durable yet."""
        self.pins = 0
        """How many are about to do something with it, so that it should stay in memory."""
        self.inherited = False
        """Whether it was loaded, and the tasks that it has under way were lost with the process that had them."""
        self.is_told = False
        """Whether people were told that it has started, or it has started in another process."""
        self.dropped = False
        """Whether it was given up: its rows are the truth, and what still comes for this object is not heard."""

    @property
    def may_park(self) -> bool:
        """Whether its rows say all there is to know, and nothing will move it on by itself."""
        return not (self.uncommitted or self.tasks or self.pins) and (self.state.ended or self.state.idle)

    @property
    def has_written_too_much(self) -> bool:
        """Whether it has reached the limit on what it and its family may write to the database (RES-6)."""
        return self.written_in_all > self.state.limits.bytes_written and not self.state.ended

    @property
    def written_in_all(self) -> int:
        """About how many bytes it has written, or its family where it has one."""
        return self.record.written if self.family is None else max(self.record.written, self.family.written)

    def count_written(self) -> None:
        """Have its family know what it has written since it was last counted."""
        written = self.record.written
        if self.family is not None:
            self.family.written += written - self._counted
        self._counted = written

    def is_due_for_snapshot(self, was_ended: bool) -> bool:
        """Say whether the project's policy asks for a snapshot after this turn, which is counted as taken (RES-6)."""
        state = self.state
        if state.ended:
            return self.policy.at_end and not was_ended
        if self.snapshot_due is None or state.sequence < self.snapshot_due:
            return False
        every = self.policy.every_events
        size = len(state.tokens) + sum(len(group.branches) for group in state.groups.values())
        # A large run is snapshot less often, so that all snapshots together cost no more than its events.
        since = state.sequence - self.snapshot_due + (every or 0)
        if since < size:
            self.snapshot_due += size - since
            return False
        self.snapshot_due = _next_multiple(state.sequence, every)
        return True


def _next_multiple(sequence: int, every: int | None) -> int | None:
    return None if every is None else sequence - sequence % every + every
