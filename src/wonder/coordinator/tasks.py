"""Tasks: what workers are given of the runs here, and what they bring back."""

from collections.abc import Callable, Sequence
from functools import partial

from wonder.clock import Clock
from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.effects import ACTED_ON
from wonder.coordinator.kept_tasks import KeptTasks
from wonder.coordinator.live import LiveRun
from wonder.coordinator.residency import Residency
from wonder.coordinator.worker import Dispatch, TaskEnded, Worker
from wonder.engine.decisions import AbortTask, Decision, DispatchTask
from wonder.engine.facts import Fact, TaskStarted
from wonder.engine.state import DISPATCHED, EXECUTING

_WORKING = (DISPATCHED, EXECUTING)
# CTL-1: a task that is under way for this long is shown as executing.
_SHOWN_AFTER_MS = 500


class Tasks:
    """The tasks that workers have."""

    def __init__(
        self,
        worker: Worker,
        clock: Clock,
        residency: Residency,
        commits: GroupCommit,
        take: Callable[[LiveRun, Fact], None],
    ) -> None:
        """Make it empty; `take` brings a fact to a run that is in memory."""
        self._worker, self._clock, self._residency, self._commits, self._take = worker, clock, residency, commits, take
        self.kept = KeptTasks()
        self.mine: set[str] | None = None
        """The runs whose tasks are dispatched here, None for all; those of others are left to another engine."""
        self.were_mine: set[str] = set()
        """Of these runs, those that have ended and may lead to others, which are dispatched here as well."""
        self._given_up: set[str] = set()
        """Runs that were in memory here, and are loaded again because a commit failed."""
        self._young: dict[str, tuple[int, LiveRun]] = {}
        """Tasks that are not shown as executing yet, oldest first: since when they are under way, and their run."""
        self._is_showing = self._is_closing = False
        self._is_draining = False

    @property
    def under_way(self) -> int:
        """How many tasks workers have."""
        return sum(len(run.tasks) for run in self._residency)

    def dispatch(self, run: LiveRun, order: DispatchTask) -> None:
        """Give a task to a worker, unless there is nothing to do any more, or not here."""
        if dispatch := self._ordered(run, order):
            run.tasks[order.token_id] = self._worker.start(dispatch, partial(self._ended, run))
            self.show_if_long(run, order.token_id)

    def begin_transforms(self, run: LiveRun, decisions: Sequence[Decision]) -> None:
        """Begin transforms before they are durable, so that their results join the same commit (PHS-5).

        INV-3 holds: nothing leaves this process, and what is lost with a commit that fails is done again.
        """
        if self._is_closing:
            return
        begun = [one for one in decisions if type(one) is DispatchTask and _rides_along(run, one)]
        for order in begun:
            self.dispatch(run, order)
        if (
            begun
            and run.tasks
            and len(self._residency) == 1
            and not any(_is_due(*one) for one in self._commits.decided)
        ):
            self._commits.hold()

    def bring_outcome(self, run: LiveRun, ended: TaskEnded) -> None:
        """Bring the outcome of a task to its run; it is kept until it is durable."""
        self._commits.note_outcome(run, ended)
        self._take(run, ended)

    def show_if_long(self, run: LiveRun, token_id: str) -> None:
        """Have a task shown as executing if it takes long (CTL-1)."""
        self._young[token_id] = (self._clock.now_ms(), run)
        if not self._is_showing:
            self._show_later()

    def abort(self, run: LiveRun, order: AbortTask) -> None:
        """Take a task back from its worker."""
        self._young.pop(order.token_id, None)
        if work := run.tasks.pop(order.token_id, None):
            work.cancel()

    def break_off(self, run: LiveRun) -> None:
        """Take all tasks of a run back from their workers."""
        for work in run.tasks.values():
            work.cancel()
        run.tasks.clear()

    def are_here(self, run: LiveRun) -> bool:
        """Say whether the tasks of a run are dispatched here."""
        return self.mine is None or run.id in self.mine

    def note_given_up(self, run_id: str) -> None:
        """Note that a run is loaded again though its process goes on: none of its tasks is lost."""
        self._given_up.add(run_id)

    def note_inherited(self, runs: Sequence[LiveRun], run_ids: Sequence[str]) -> None:
        """Note of runs that were just loaded, of those that were asked for, which of them another process had."""
        for run in runs:
            run.inherited = run.id not in self._given_up
        self._given_up.difference_update(run_ids)

    def note_end(self, run: LiveRun) -> None:
        """Note that a run has ended: it is not ours to dispatch any more."""
        if self.mine is not None and run.id in self.mine:
            self.mine.discard(run.id)
            if run.program.workflow.triggers or run.origin is not None:
                self.were_mine.add(run.id)

    def drain(self) -> None:
        """Give no more tasks to workers; tokens that would be dispatched stay `pending` for the next engine."""
        self._is_draining = True
        for run in self._residency:
            run.state.limits.tasks_max = 0

    def close(self) -> None:
        """Take all tasks back, and begin no transform any more."""
        self._is_closing = True
        for run in self._residency:
            self.break_off(run)
        self.kept.discard_all()

    def clear(self) -> None:
        """Take all tasks back, and show none of them any more."""
        self.close()
        self._young.clear()

    def _ordered(self, run: LiveRun, order: DispatchTask) -> Dispatch | None:
        token = run.state.tokens.get(order.token_id)
        if token is None or run.dropped or order.token_id in run.tasks:
            return None
        if token.status not in _WORKING:
            return None  # a transform, which has ended before it was durable that it had begun
        if self._is_draining or not self.are_here(run):
            return None
        return Dispatch(
            run.project_id,
            run.id,
            order.token_id,
            token.node.ref,
            token.path_id,
            order.task_id,
            order.task_version,
            order.input,
            run.state.limits.evaluation_steps,
            run.state.limits.record_io == "all",
        )

    def _ended(self, run: LiveRun, ended: TaskEnded) -> None:
        if run.dropped:
            # A commit failed meanwhile: it is kept until the run is loaded again, or is for the run that was.
            now = self._residency.find(run.id)
            if self.kept.bring(run.id, ended) or now is None:
                return
            run = now
        if run.tasks.pop(ended.token_id, None) is None:
            return
        # Not kept until it would be shown: its run may be gone from memory long before.
        self._young.pop(ended.token_id, None)
        self.bring_outcome(run, ended)
        # Where nobody else has anything under way that could join the same commit, it need not wait.
        if len(self._residency) == 1 and not run.tasks:
            self._commits.begin()

    def _show(self) -> None:
        self._is_showing = False
        now_ms, due = self._clock.now_ms(), list[tuple[str, int, LiveRun]]()
        for token_id, (started_ms, run) in self._young.items():
            if now_ms - started_ms < _SHOWN_AFTER_MS:
                break
            due.append((token_id, started_ms, run))
        for token_id, started_ms, run in due:
            self._young.pop(token_id, None)
            if token_id in run.tasks and not run.dropped:
                self._take(run, TaskStarted(token_id, started_ms))
        if self._young:
            self._show_later()

    def _show_later(self) -> None:
        self._is_showing = True
        self._clock.after(_SHOWN_AFTER_MS, self._show)


def _rides_along(run: LiveRun, order: DispatchTask) -> bool:
    return run.program.workflow.nodes[order.node_id].rides_along


def _is_due(run: LiveRun, decisions: Sequence[Decision]) -> bool:
    """Say whether anything but a transform waits for decisions to be durable."""
    return any(
        type(one) in ACTED_ON and not (type(one) is DispatchTask and _rides_along(run, one)) for one in decisions
    )
