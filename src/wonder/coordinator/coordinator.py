"""Coordinator: the one writer. Takes facts, lets the engine decide, commits, and only then acts (INV-3).

Its parts: inbox.py takes facts; commits.py has their decisions stored; acting.py carries them out when they are
durable, with tasks.py for what workers have; residency.py knows which runs are in memory, and resuming.py goes on with
those that were loaded; failures.py deals with commits that fail, and with an engine that does.
"""

import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from wonder.clock import Clock
from wonder.coordinator.acting import Acting
from wonder.coordinator.background import Background
from wonder.coordinator.commits import Decided, GroupCommit, Written
from wonder.coordinator.effects import ACTED_ON, Effects
from wonder.coordinator.ends import Ends
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.facts_log import FactsLog
from wonder.coordinator.failures import Failures
from wonder.coordinator.inbox import Inbox
from wonder.coordinator.live import LiveRun
from wonder.coordinator.programs import Programs
from wonder.coordinator.residency import Residency
from wonder.coordinator.resuming import Resuming
from wonder.coordinator.stopping import StopFlag
from wonder.coordinator.tasks import Tasks
from wonder.coordinator.timers import RETRY_TIMER, NearTimers
from wonder.coordinator.worker import Worker
from wonder.engine.facts import Fact, TimerFired
from wonder.errors import WonderError
from wonder.storage.errors import LeaseLost
from wonder.storage.runs.leases import Lease
from wonder.storage.store import NewId, Store

log = logging.getLogger("wonder.coordinator")


class Coordinator:
    """All runs of one database that this process owns."""

    def __init__(
        self, store: Store, lease: Lease, worker: Worker, clock: Clock, new_id: NewId, effects: Effects
    ) -> None:
        self.store, self.clock, self.new_id, self.effects = store, clock, new_id, effects
        self._lease, self._stop_flag = lease, StopFlag()
        self.programs = Programs(store, effects.note_program)
        self.background = Background(clock)
        self.ends = Ends()
        self.timers = NearTimers(clock, self._ring)
        self.commits = GroupCommit(store, lease, clock, self._release, self._lose, ACTED_ON)
        self.facts_log = FactsLog(new_id, self.commits, store, lease)
        self.residency = Residency(self._stop_flag, self.background, self._read, self._take_up)
        self.tasks = Tasks(worker, clock, self.residency, self.commits, self.take)
        self._acting = Acting(effects, self.tasks, self.timers, self.ends, self.take, self.bring)
        self._failures = Failures(
            self._stop_flag,
            self.stop,
            lease,
            self.background,
            self.commits,
            self.facts_log,
            self.residency,
            self.tasks,
            self.ends,
            effects,
        )
        self._inbox = Inbox(
            clock,
            new_id,
            self._stop_flag,
            self.background,
            self.commits,
            self.facts_log,
            self.residency,
            self.tasks,
            self._failures,
            effects,
        )
        self._resuming = Resuming(
            store,
            self.background,
            self.facts_log,
            self.residency,
            self.tasks,
            self._failures,
            self._inbox,
            effects,
        )

    def take(self, run: LiveRun, fact: Fact) -> None:
        """Let the engine decide on a fact, and put what follows into the open batch."""
        self._inbox.take(run, fact)

    def bring(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, wherever it is; a run that has ended, or never was, does not hear of it."""
        self._inbox.bring(run_id, fact)

    async def bring_and_wait(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, and wait until it has taken it."""
        await self._inbox.bring_and_wait(run_id, fact)

    async def durable(self) -> None:
        """Wait until all that was decided so far is durable."""
        await self.commits.durable()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something in the background; what it raises is logged."""
        self.background.spawn(work)

    def resume_work(self, run: LiveRun) -> None:
        """Dispatch what workers of an ended process had, and begin what can begin (INV-4)."""
        self._resuming.resume_work(run)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that could bring a fact by itself."""
        return not len(self.residency) and not self.background

    def will_tell_end(self, run_id: str) -> bool:
        """Say whether `ends` will be told how a run ends: it is in memory, and its end is not decided."""
        run = self.residency.find(run_id)
        return run is not None and not run.state.ended and self._stop_flag.error is None

    def check_running(self) -> None:
        """Raise EngineStopped if this coordinator takes nothing any more."""
        self._stop_flag.check()

    async def check_lease(self) -> None:
        """Raise LeaseLost if this process has been replaced, and what it reads is being written by another."""
        await self._lease.check()

    def stop(self, error: WonderError) -> None:
        """Take and write nothing any more, because the lease is another's (INV-5)."""
        if self._stop_flag.error is not None:
            return
        log.error("the engine stops: %s", error)
        self._stop(str(error))
        self.effects.note_stop(error)

    async def close(self) -> None:
        """Let go of everything; what was decided is made durable first, the rest goes on in the next engine."""
        self.timers.close()
        self.tasks.close()
        self._acting.close()
        await self.commits.drain()
        self._stop("it was closed")
        await self.background.close()
        await self.residency.close()

    def _stop(self, reason: str) -> None:
        self._stop_flag.error = stopped = EngineStopped(reason)
        self.timers.close()
        self.tasks.clear()
        self.residency.clear()
        self.commits.stop(stopped)
        self.ends.fail(stopped)

    def _ring(self, run_id: str, key: str) -> None:
        if key == RETRY_TIMER:
            self.effects.make_retry(run_id)
        else:
            self.bring(run_id, TimerFired(key))

    def _release(self, decided: Decided) -> None:
        """Act on decisions that are durable now."""
        self._failures.note_success()
        if self._stop_flag.error is not None:
            return
        for run, decisions in decided:
            if (error := self._acting.act(run, decisions)) is not None:
                self._failures.fail_run(run, error)
        for run, _ in decided:
            self.residency.rest(run)

    def _lose(self, written: Written, error: WonderError) -> None:
        self._failures.lose(written, error)

    def _take_up(self, runs: Sequence[LiveRun], run_ids: Sequence[str]) -> None:
        self._resuming.take_up(runs, run_ids)

    async def _read(self, run_ids: Sequence[str]) -> list[LiveRun]:
        """Load runs out of their rows, if they are still ours: else another owner writes them while we read."""
        try:
            try:
                return await self.effects.load(run_ids)
            finally:
                await self.check_lease()
        except LeaseLost as error:
            self.stop(error)
            self.check_running()
            raise
