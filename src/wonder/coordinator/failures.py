"""Failures: what becomes of runs when a commit fails, or the engine fails on one of them.

Either way what is in memory of a run is given up and it is loaded again, because its rows are the truth. A failed
commit is no crash: tasks that workers have go on, and their results are kept (INV-4). A run on which the engine failed
is failed with ENGINE_ERROR.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from wonder.backoff import Backoff
from wonder.coordinator.background import Background
from wonder.coordinator.commits import GroupCommit, Written
from wonder.coordinator.effects import Effects
from wonder.coordinator.ends import Ends
from wonder.coordinator.errors import CommitFailed
from wonder.coordinator.facts_log import FactsLog
from wonder.coordinator.live import LiveRun
from wonder.coordinator.residency import Residency
from wonder.coordinator.stopping import StopFlag
from wonder.coordinator.tasks import Tasks
from wonder.engine.facts import Fact, RunBroken
from wonder.engine.failure import Failure
from wonder.errors import WonderError
from wonder.storage.errors import LeaseLost
from wonder.storage.runs.leases import Lease

log = logging.getLogger("wonder.coordinator")


class Failures:
    """Gives runs up, and has them loaded again when that can help."""

    def __init__(
        self,
        stop_flag: StopFlag,
        stop: Callable[[WonderError], None],
        lease: Lease,
        background: Background,
        commits: GroupCommit,
        facts_log: FactsLog,
        residency: Residency,
        tasks: Tasks,
        ends: Ends,
        effects: Effects,
    ) -> None:
        self._stop_flag, self._stop, self._lease, self._background = stop_flag, stop, lease, background
        self._commits, self._facts_log, self._residency, self._tasks = commits, facts_log, residency, tasks
        self._ends, self._effects = ends, effects
        self._broken: dict[str, Failure] = {}
        # After a commit that failed the next one waits, longer each time: trying does not empty a full disk.
        self._backoff = Backoff()

    def note_success(self) -> None:
        """Note that something could be stored."""
        self._backoff.reset()

    def lose(self, written: Written, error: WonderError) -> None:
        """Give up runs whose commit failed, and load them again.

        What is logged is true as well, and follows upon the rows. What tasks have brought is taken again, and what is
        under way goes on: only the end of this process is a reason to execute it again (INV-4).
        """
        runs = written.runs
        self._facts_log.lose(written.facts)
        if self._stop_flag.error is not None:
            return
        if isinstance(error, LeaseLost):
            self._stop(error)
            return
        pause_ms = self._backoff.next_ms()
        log.error("a commit failed, %d runs are loaded again in %d ms: %s", len(runs), pause_ms, error)
        lost = [run for run in runs if self._drop(run, keeps_tasks=True)]
        for run, ended in written.outcomes:
            if run in runs:
                self._tasks.kept.keep(run, ended)
        if lost:
            self._residency.begin_loading([run.id for run in lost], lambda: self._until_writable(pause_ms))
        self._background.spawn(self._repair([run.id for run in lost], pause_ms))

    def fail_writing(self, run: LiveRun, fact: Fact, error: Exception) -> None:
        """Give up the open batch, and fail the run whose decisions could not be put into it."""
        # Half of its rows may be in the batch: none of them may be written.
        where, named = {"run_id": run.id}, (type(fact).__name__, run.id)
        log.exception("what %s of run %s led to can't be written", *named, exc_info=error, extra=where)
        self.fail_run(run, error, again=not isinstance(fact, RunBroken))
        self._commits.fail_open(CommitFailed(error))

    def fail_run(self, run: LiveRun, error: Exception, *, again: bool = True) -> None:
        """Fail a run on which the engine itself has failed: what is in memory of it can't be trusted.

        With `again` it is loaded once more, to end with ENGINE_ERROR; without, even that has failed.
        """
        if not self._drop(run) or not again:
            return
        failure = Failure("ENGINE_ERROR", f"the engine failed: {type(error).__name__}: {error}; please report this")
        self._broken[run.id] = failure
        loading = self._residency.begin_loading([run.id], self._until_decided_is_durable)
        self._background.spawn(self._residency.loaded(loading))

    def take_broken(self, run_ids: Iterable[str]) -> dict[str, Failure]:
        """Return why the engine failed on those of these runs on which it did; they are forgotten here."""
        return {run_id: self._broken.pop(run_id) for run_id in run_ids if run_id in self._broken}

    def _drop(self, run: LiveRun, *, keeps_tasks: bool = False) -> bool:
        if not self._residency.drop(run):
            return False
        if keeps_tasks:
            self._tasks.note_given_up(run.id)
            self._tasks.kept.keep(run)
        else:
            self._tasks.break_off(run)
        self._effects.note_status(run, "lost")
        return True

    async def _until_decided_is_durable(self) -> None:
        """Wait for what is decided already, which is right and will be in the rows, or be lost."""
        await asyncio.wait([self._commits.durable()])

    async def _until_writable(self, pause_ms: float) -> None:
        """Wait until something can be stored: runs are not loaded once per attempt."""
        await self._background.sleep(pause_ms)
        await self._background.insist("nothing can be stored", self._try_to_write)

    async def _try_to_write(self) -> None:
        self._stop_flag.check()
        try:
            await self._lease.try_to_write()
        except LeaseLost as error:
            self._stop(error)
            self._stop_flag.check()

    async def _repair(self, run_ids: Sequence[str], pause_ms: float) -> None:
        """Wait for runs to be loaded again, and do again what was to follow from what is durable."""
        await self._background.sleep(pause_ms)
        for run_id in run_ids:
            if run := await self._residency.insist_on(run_id):
                self._residency.rest(run)
            else:
                # Its end may have been stored by the very commit that failed, when the connection broke in the answer.
                self._ends.tell(run_id, None)
        await self._background.insist("what was lost can't be looked for", self._effects.catch_up)
