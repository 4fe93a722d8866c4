"""Resuming: how runs that were just loaded go on (RET-3, INV-4)."""

from collections.abc import Sequence

from wonder.coordinator.background import Background
from wonder.coordinator.effects import Effects
from wonder.coordinator.facts_log import FactsLog
from wonder.coordinator.failures import Failures
from wonder.coordinator.inbox import Inbox
from wonder.coordinator.live import LiveRun
from wonder.coordinator.loggable import working_token
from wonder.coordinator.residency import Residency
from wonder.coordinator.tasks import Tasks
from wonder.engine.decide import redispatch
from wonder.engine.facts import PauseRequested, ProcessLost, RunBroken, TurnContinued
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.records import QUARANTINED
from wonder.storage.store import Store


class Resuming:
    """Goes on with runs that were loaded."""

    def __init__(
        self,
        store: Store,
        background: Background,
        facts_log: FactsLog,
        residency: Residency,
        tasks: Tasks,
        failures: Failures,
        inbox: Inbox,
        effects: Effects,
    ) -> None:
        self._store, self._background, self._facts_log, self._residency = store, background, facts_log, residency
        self._tasks, self._failures, self._inbox, self._effects = tasks, failures, inbox, effects

    def take_up(self, runs: Sequence[LiveRun], run_ids: Sequence[str]) -> None:
        """Go on with runs that were loaded, of those that were asked for."""
        for run in runs:
            self._effects.note_status(run, run.state.status)
        self._tasks.note_inherited(runs, run_ids)
        broken = self._failures.take_broken(run_ids)
        self._take_logged_facts(runs)
        for run in runs:
            if run.dropped:
                continue
            if failure := broken.get(run.id):
                # Nothing is done again: it would lead to the same failure, and the world would see it each time.
                self._tasks.kept.discard([run.id])
                self._inbox.take(run, RunBroken(failure))
                self._residency.rest(run)
            elif run.id in self._residency.set_aside:
                self._inbox.take(run, PauseRequested(QUARANTINED))
                self._residency.rest(run)
            else:
                self.resume_work(run)
        if left := {*self._facts_log.untaken_of(run_ids), *self._tasks.kept.kept_of(run_ids)}:
            self._background.spawn(self._forget_ended(sorted(left)))

    def resume_work(self, run: LiveRun) -> None:
        """Dispatch again what workers had when the process that ran them ended (INV-4), and begin what can begin.

        What this process has under way, or knows the outcome of, is not dispatched again.
        """
        ended = self._tasks.kept.give_back(run)
        for token_id in run.tasks:
            self._tasks.show_if_long(run, token_id)
        # Before the outcomes: what they lead to is not durable yet.
        self._dispatch_again(run, frozenset((*run.tasks, *ended)))
        for outcome in ended.values():
            if not run.dropped:
                self._tasks.bring_outcome(run, outcome)
        if run.state.has_work and not run.dropped:
            self._inbox.take(run, TurnContinued())

    def _dispatch_again(self, run: LiveRun, kept: frozenset[str]) -> None:
        lost = [dispatch for dispatch in redispatch(run.state) if dispatch.token_id not in kept]
        is_new = run.inherited or any(dispatch.losses < 0 for dispatch in lost)
        if lost and is_new and self._tasks.are_here(run):
            # Durable before they run again, so that no attempt leaves the history without a trace.
            run.inherited = False
            self._inbox.take(run, ProcessLost(kept))
            return
        for dispatch in lost:
            self._tasks.dispatch(run, dispatch)

    def _take_logged_facts(self, runs: Sequence[LiveRun]) -> None:
        """Take the facts of runs whose rows never came to the tables."""
        # All are let go of first: those of one that fails below come back.
        for run, facts in [(run, self._facts_log.pop(run.id)) for run in runs]:
            for logged in facts:
                # Else the engine failed on the one before, or its rows were in the tables after all.
                if not run.dropped and working_token(run, logged.fact) is not None:
                    self._inbox.take_again(run, logged)
        self._facts_log.note_taken()

    async def _forget_ended(self, run_ids: Sequence[str]) -> None:
        """Forget the logged facts and the tasks of runs that were not loaded because they have ended."""
        headers = {header.id: header for header in await load_headers(self._store, run_ids)}
        ended = [run_id for run_id in run_ids if run_id not in headers or headers[run_id].has_ended]
        self._facts_log.forget(ended)
        self._tasks.kept.discard(ended)
