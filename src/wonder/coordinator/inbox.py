"""The inbox of facts: the engine decides on each, and what it decides joins the open batch.

This is the way from a fact to durable rows: `take` has the engine decide and adds the decisions to the batch
(commits.py); the store makes the batch durable; acting.py carries the decisions out.
"""

import logging
from collections.abc import Callable

from wonder.clock import Clock
from wonder.coordinator.background import Background
from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.effects import Effects
from wonder.coordinator.errors import CommitFailed, RunNotLive
from wonder.coordinator.facts_log import FactsLog
from wonder.coordinator.failures import Failures
from wonder.coordinator.live import LiveRun
from wonder.coordinator.loggable import LoggedIds
from wonder.coordinator.residency import Residency
from wonder.coordinator.stopping import StopFlag
from wonder.coordinator.tasks import Tasks
from wonder.engine.decide import decide
from wonder.engine.decisions import Decision
from wonder.engine.facts import CancelRequested, Fact, LimitReached, RunBroken, RunQueued, RunStarted
from wonder.engine.restore import take_snapshot
from wonder.storage.logged_facts import LoggedFact
from wonder.storage.store import NewId

# CTL-20: how long a run may go on with pure nodes before others have their turn.
_TURN_MS = 10.0
# Facts that end a run by themselves, and those before which it can't end: it has not begun.
_PAST_LIMITS = (LimitReached, CancelRequested, RunBroken, RunQueued, RunStarted)

log = logging.getLogger("wonder.coordinator")


class Inbox:
    """Takes facts, one at a time."""

    def __init__(
        self,
        clock: Clock,
        new_id: NewId,
        stop_flag: StopFlag,
        background: Background,
        commits: GroupCommit,
        facts_log: FactsLog,
        residency: Residency,
        tasks: Tasks,
        failures: Failures,
        effects: Effects,
    ) -> None:
        self._clock, self._new_id, self._stop_flag, self._background = clock, new_id, stop_flag, background
        self._commits, self._facts_log, self._residency = commits, facts_log, residency
        self._tasks, self._failures, self._effects = tasks, failures, effects

    def take(self, run: LiveRun, fact: Fact) -> None:
        """Let the engine decide on a fact, and put what follows into the open batch."""
        if self._stop_flag.error is not None:
            return
        if run.has_written_too_much and type(fact) not in _PAST_LIMITS:
            self.take(run, LimitReached("bytes_written", run.written_in_all, run.state.limits.bytes_written))
        now_ms, was_ended = self._clock.now_ms(), run.state.ended
        logged = self._facts_log.to_log(run, fact, now_ms)
        if logged is None:
            decisions = self._decide_in_parts(run, fact, now_ms)
        else:
            ids = LoggedIds(logged.token_id, self._new_id)
            decisions = self._decide(run, fact, now_ms, ids)
            if ids.count > 1:
                logged = None  # Taken once more, it would not give the same ids.
        if decisions is None:
            return
        try:
            self._commits.add(run, decisions, now_ms, logged)
            run.count_written()
            if run.program.workflow.has_transforms:
                self._tasks.begin_transforms(run, decisions)
            if run.is_due_for_snapshot(was_ended):
                self._commits.batch.snapshot(take_snapshot(run.state), now_ms)
        except Exception as error:
            self._failures.fail_writing(run, fact, error)

    def take_again(self, run: LiveRun, logged: LoggedFact) -> None:
        """Take a logged fact whose rows never came to the tables, with the same ids and the same time as before."""
        was_ended, ids = run.state.ended, LoggedIds(logged.token_id, self._new_id)
        decisions = self._decide(run, logged.fact, logged.now_ms, ids)
        if decisions is None:
            return
        try:
            self._commits.add(run, decisions, logged.now_ms)
            if run.is_due_for_snapshot(was_ended):
                self._commits.batch.snapshot(take_snapshot(run.state), logged.now_ms)
        except Exception as error:
            self._failures.fail_writing(run, logged.fact, error)
        else:
            self._commits.keep(logged)

    def bring(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, wherever it is; a run that has ended, or never was, does not hear of it."""
        if run := self._residency.find(run_id):
            self.take(run, fact)
        elif self._stop_flag.error is None:
            self._background.spawn(self._bring_parked(run_id, fact))

    async def bring_and_wait(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, and wait until it has taken it."""
        if run := self._residency.find(run_id):
            self.take(run, fact)
        else:
            await self._bring_parked(run_id, fact)

    async def _bring_parked(self, run_id: str, fact: Fact) -> None:
        if type(fact) is CancelRequested and await self._is_cancelled_unloaded(run_id, fact.reason):
            return
        run = await self._residency.insist_on(run_id)
        if run is not None:
            self.take(run, fact)
            self._residency.rest(run)

    async def _is_cancelled_unloaded(self, run_id: str, reason: str | None) -> bool:
        async def attempt() -> bool:
            try:
                return await self._effects.cancel_unloaded(run_id, reason)
            except RunNotLive:
                return True

        return await self._background.insist(f"run {run_id} can't be cancelled", attempt)

    def _decide_in_parts(self, run: LiveRun, fact: Fact, now_ms: int) -> list[Decision] | None:
        """Let the engine decide, and put the parts of a long turn into the open batch as they come; gives the rest."""
        is_partly_added = False

        def add(part: list[Decision]) -> None:
            nonlocal is_partly_added
            is_partly_added = True
            self._commits.add(run, part, now_ms)
            if run.program.workflow.has_transforms:
                self._tasks.begin_transforms(run, part)

        decisions = self._decide(run, fact, now_ms, self._new_id, self._over_time(), add)
        if decisions is None and is_partly_added:
            # Some of what the turn led to is in the open batch: none of it may be written.
            self._commits.fail_open(CommitFailed(RuntimeError("the engine failed in the middle of a turn")))
        return decisions

    def _decide(
        self,
        run: LiveRun,
        fact: Fact,
        now_ms: int,
        new_id: NewId,
        over_time: Callable[[], bool] | None = None,
        hand_on: Callable[[list[Decision]], None] | None = None,
    ) -> list[Decision] | None:
        """Let the engine decide; None if it fails, which fails the run."""
        if self._tasks.mine is not None:
            run.state.is_elsewhere = not self._tasks.are_here(run)
        try:
            return decide(run.state, fact, now_ms=now_ms, new_id=new_id, over_time=over_time, hand_on=hand_on)
        except Exception as error:
            log.exception("the engine failed on %s of run %s", type(fact).__name__, run.id, extra={"run_id": run.id})
            self._failures.fail_run(run, error, again=not isinstance(fact, RunBroken))
            return None

    def _over_time(self) -> Callable[[], bool]:
        started = self._clock.monotonic_ms()
        return lambda: self._clock.monotonic_ms() - started > _TURN_MS
