"""The run writer: makes what runs decide durable, and chooses how: in the tables, or in the journal first.

Where a store has a journal and all that the open batch holds follows from facts that may be logged (logged_facts.py),
these are logged, and the batch stays open: its rows go to the tables later, together with those of others.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

from wonder.clock import Clock
from wonder.engine.decisions import Decision
from wonder.storage.logged_facts import LoggedFact, encode_facts
from wonder.storage.runs.leases import Lease
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Settle, Store

# So long the rows of facts wait for others to go to the tables with: others who read the database see them as late.
UNSETTLED_MS = 250


class ClosedBatch(NamedTuple):
    """A batch that goes to the tables: what stores it, and the logged facts whose rows are in it."""

    store: Callable[[], Coroutine[Any, Any, None]]
    facts: list[LoggedFact]


class RunWriter:
    """The open batch of a database, and how it becomes durable."""

    def __init__(
        self, store: Store, lease: Lease, clock: Clock, settle: Settle, want_tables: Callable[[], None]
    ) -> None:
        """Begin with an empty batch.

        `settle` brings the rows of all logged facts to the tables before others read them, and `want_tables` begins
        to do so when they have waited long enough. Both end in `commit(to_tables=True)`.
        """
        self._store, self._journal, self._fence, self._clock = store, store.journal, lease.fence, clock
        self._want_tables = want_tables
        self.settles = True
        """Whether a commit brings to the tables all that was logged: not while facts wait to be taken once more."""
        self._is_waiting, self._tables_at_ms = False, 0.0
        self.batch = Batch()
        # Of the open batch: facts that are logged, those that are not yet, and whether there is nothing else to store.
        self._logged: list[LoggedFact] = []
        self._fresh: list[LoggedFact] = []
        self._has_only_facts = True
        if self._journal is not None:
            self._journal.settle_by(settle)

    def add(self, record: Recorded, decisions: Sequence[Decision], now_ms: int, logged: LoggedFact | None) -> None:
        """Add the decisions of a run to the open batch; `logged` is the fact they follow from, if it may be logged."""
        self.batch.add(record, decisions, now_ms)
        if logged is None:
            self._has_only_facts = False
        else:
            self._fresh.append(logged)

    def keep(self, logged: LoggedFact) -> None:
        """Note that a fact, whose rows were just added, is logged already."""
        self._note_logged([logged])

    def touch(self) -> None:
        """Note that something was put into the open batch that follows from no fact."""
        self._has_only_facts = False

    @property
    def has_logged(self) -> bool:
        """Whether facts are logged whose rows are in the open batch."""
        return bool(self._logged)

    @property
    def is_durable(self) -> bool:
        """Whether the open batch holds nothing that is neither logged nor stored."""
        return not self._fresh and (self._has_only_facts or self.batch.is_empty)

    def commit(self, *, to_tables: bool = False) -> ClosedBatch | None:
        """Make the open batch durable.

        Returns None if logging made it durable; otherwise a ClosedBatch, which the caller must `store()`. Raises what
        kept it from being logged: then the open batch has to be given up (`abandon`).
        """
        if not to_tables and self._log():
            return None
        batch, facts, settles = self.batch, self._logged, self.settles
        self._reopen()
        # As it is for this batch: what is taken again before its commit begins is in the next one.
        return ClosedBatch(partial(self._store_batch, batch, settles), facts)

    def abandon(self) -> list[LoggedFact]:
        """Give up the open batch; returns the logged facts whose rows were in it."""
        facts = self._logged
        self._reopen()
        return facts

    async def _store_batch(self, batch: Batch, settles: bool) -> None:
        entries = batch.entries()
        independent = batch.is_independent(entries)
        journal = self._journal
        commit = self._store.commit if journal is None else partial(journal.commit, settles=settles)
        await commit(entries, fence=self._fence, independent=independent)

    def _log(self) -> bool:
        """Make facts durable without their rows; False if the batch has to go to the tables."""
        if self._journal is None or not (self._has_only_facts and self.settles and self.batch.only_goes_on):
            return False
        entry = encode_facts(self._fresh) if self._fresh else None
        if entry is None:
            return not self._fresh
        if not self._journal.log(entry, self._fence):
            return False
        self._note_logged(self._fresh)
        self._fresh = []
        return True

    def _note_logged(self, facts: list[LoggedFact]) -> None:
        if not self._logged:
            self._tables_at_ms = self._clock.monotonic_ms() + UNSETTLED_MS
            if not self._is_waiting:
                self._wait(UNSETTLED_MS)
        self._logged += facts

    def _wait(self, milliseconds: float) -> None:
        self._is_waiting = True
        self._clock.after(milliseconds, self._look)

    def _look(self) -> None:
        self._is_waiting = False
        if self._logged:
            # Those that this was meant for may have gone with a commit long ago, and others may be new.
            left_ms = self._tables_at_ms - self._clock.monotonic_ms()
            if left_ms > 0:
                self._wait(left_ms)
            else:
                self._want_tables()

    def _reopen(self) -> None:
        self.batch, self._logged, self._fresh, self._has_only_facts = Batch(), [], [], True
