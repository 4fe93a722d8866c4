"""The log of facts: how runs go on by it (logged_facts.py), and how facts are taken again that the tables lack."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from wonder.clock import Clock
from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.live import LiveRun
from wonder.coordinator.logged_facts import (
    LoggedFact,
    LoggedIds,
    decode_facts,
    logged_fact,
    may_be_logged,
    working_token,
)
from wonder.engine.decisions import Decision
from wonder.engine.facts import Fact, TaskCompleted
from wonder.storage.runs.leases import Lease
from wonder.storage.store import NewId, Store

log = logging.getLogger("wonder.coordinator")

# So long the rows of facts wait for others to go to the tables with: others who read the database see them as late.
UNSETTLED_MS = 250


class Decider(Protocol):
    """What a coordinator does with facts."""

    clock: Clock
    new_id: NewId
    commits: GroupCommit

    def decide(
        self, run: LiveRun, fact: Fact, now_ms: int, new_id: NewId, over_time: Callable[[], bool] | None
    ) -> list[Decision] | None:
        """Let the engine decide; None if it fails, which fails the run."""

    def snapshot_if_due(self, run: LiveRun, was_ended: bool, now_ms: int) -> None:
        """Take a snapshot of a run if its project's policy asks for one now."""

    def fail_writing(self, run: LiveRun, fact: Fact, error: Exception) -> None:
        """Give up the open batch, and fail the run that could not be put into it."""


class FactsLog:
    """What a coordinator has logged, and what is left to be taken of what another has."""

    def __init__(self, decider: Decider, store: Store, lease: Lease) -> None:
        self._decider = decider
        self._commits = decider.commits
        self._has_log = store.has_log
        self._is_settling = False
        self._settle_ms = 0.0
        """When the rows of the first fact in the open batch have waited long enough, by the clock that measures."""
        self._untaken = decode_facts(lease.inherited)
        """Facts, by their run, whose rows never came to the tables: they are taken when the run is loaded."""
        self._commits.settles = not self._untaken
        self._commits.on_first_logged = self._settle_later
        store.settle_by(self._commits.settle)

    @property
    def untaken(self) -> list[str]:
        """The runs of which facts wait to be taken: before all else, when the owner before has ended (recovery)."""
        return list(self._untaken)

    def untaken_of(self, run_ids: Iterable[str]) -> list[str]:
        """Say which of these runs have facts that wait to be taken."""
        return [run_id for run_id in run_ids if run_id in self._untaken] if self._untaken else []

    def to_log(self, run: LiveRun, fact: Fact, now_ms: int) -> LoggedFact | None:
        """Say what has to be logged so that a run can go on, if that is enough."""
        if self._has_log and type(fact) is TaskCompleted and may_be_logged(run, fact):
            return logged_fact(run.id, now_ms, self._decider.new_id(), fact)
        return None

    def lose(self, facts: Sequence[LoggedFact]) -> None:
        """Have facts taken again whose rows went with a commit that failed."""
        for logged in facts:
            self._untaken.setdefault(logged.run_id, []).append(logged)
        self._commits.settles = not self._untaken

    def take_again(self, runs: Iterable[LiveRun]) -> None:
        """Take the facts of runs that were loaded whose rows never came to the tables."""
        # All are let go of first: those of one that fails below come back.
        for run, facts in [(run, self._untaken.pop(run.id, [])) for run in runs]:
            self._take_again(run, facts)
        self._commits.settles = not self._untaken

    def _take_again(self, run: LiveRun, facts: Iterable[LoggedFact]) -> None:
        for logged in facts:
            if run.dropped or working_token(run, logged.fact) is None:
                continue  # The engine failed on the one before, or its rows were in the tables after all.
            was_ended = run.state.ended
            ids = LoggedIds(logged.token_id, self._decider.new_id)
            decisions = self._decider.decide(run, logged.fact, logged.now_ms, ids, None)
            if decisions is None:
                continue
            try:
                self._commits.add(run, decisions, logged.now_ms)
                self._decider.snapshot_if_due(run, was_ended, logged.now_ms)
            except Exception as error:
                self._decider.fail_writing(run, logged.fact, error)
            else:
                self._commits.keep(logged)

    def forget(self, run_ids: Iterable[str]) -> None:
        """Forget the facts of runs that have ended, or are not there: nothing is left to be taken."""
        for run_id in run_ids:
            self._untaken.pop(run_id, None)
        self._commits.settles = not self._untaken

    def _settle_later(self) -> None:
        self._settle_ms = self._decider.clock.monotonic_ms() + UNSETTLED_MS
        if not self._is_settling:
            self._settle_in(UNSETTLED_MS)

    def _settle_in(self, milliseconds: float) -> None:
        self._is_settling = True
        self._decider.clock.after(milliseconds, self._settle)

    def _settle(self) -> None:
        self._is_settling = False
        if self._commits.has_logged:
            # Those for which this was meant may have gone with a commit long ago, and others be there since a moment.
            left_ms = self._settle_ms - self._decider.clock.monotonic_ms()
            if left_ms > 0:
                self._settle_in(left_ms)
            else:
                self._commits.begin(to_tables=True)
