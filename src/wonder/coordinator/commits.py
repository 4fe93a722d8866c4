"""Group commit: while one commit is under way, the next batch fills with whatever all runs bring.

Where all that a batch holds follows from facts that may be logged (logged_facts.py), these are logged, and the batch
stays open for more rows until it goes to the tables.
"""

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from wonder.coordinator.errors import CommitFailed
from wonder.coordinator.live import LiveRun
from wonder.coordinator.logged_facts import LoggedFact, encode_facts
from wonder.coordinator.worker import TaskEnded
from wonder.engine.decisions import Decision
from wonder.errors import WonderError
from wonder.storage.runs.leases import Lease
from wonder.storage.runs.recording import Batch
from wonder.storage.store import Store

# So long a batch waits for a transform: most take a tenth of that, and a commit takes about as long.
_HELD_SECONDS = 0.005

Decided = Sequence[tuple[LiveRun, list[Decision]]]


class Written(NamedTuple):
    """What a batch holds: decisions of runs, facts that are logged, and outcomes of tasks that are not."""

    runs: set[LiveRun]
    facts: list[LoggedFact]
    outcomes: list[tuple[LiveRun, TaskEnded]]


class GroupCommit:
    """Writes decisions down, and hands them on once they are durable (INV-3)."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        release: Callable[[Decided], None],
        lose: Callable[["Written", WonderError], None],
        acted_on: Container[type[Decision]],
    ) -> None:
        self._store, self._lease, self._release, self._lose = store, lease, release, lose
        self._acted_on = acted_on
        self.settles = True
        """Whether a commit brings to the tables all that was logged: not while facts wait to be taken once more."""
        self._batch = Batch()
        self.on_first_logged: Callable[[], None] = lambda: None
        """Hears of the first fact that is durable while its rows are in the open batch: they go to the tables later."""
        # Of the open batch: facts that are logged, those that are not yet, and whether there is nothing else to store.
        self._logged: list[LoggedFact] = []
        self._fresh: list[LoggedFact] = []
        self._has_only_logged = True
        # Of the open batch: what tasks have brought that is neither logged nor stored, to be taken again if it is lost.
        self._outcomes: list[tuple[LiveRun, TaskEnded]] = []
        self._decided: list[tuple[LiveRun, list[Decision]]] = []
        self._runs: set[LiveRun] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._committing_for: list[asyncio.Future[None]] = []
        self._committing: asyncio.Task[None] | None = None
        self._scheduled = False
        self._held: asyncio.TimerHandle | None = None
        self._stopped: WonderError | None = None

    @property
    def batch(self) -> Batch:
        """The open batch, for what is not a decision; `touch` has it committed."""
        return self._batch

    @property
    def decided(self) -> Decided:
        """What is in the open batch, and is to be acted on once it is durable."""
        return self._decided

    def add(self, run: LiveRun, decisions: list[Decision], now_ms: int, logged: LoggedFact | None = None) -> None:
        """Put the decisions of a run into the open batch; it is stored as soon as the writer is free.

        `logged` is the fact that they follow from, if it is enough to log that.
        """
        if not decisions:
            return
        if run not in self._runs:
            self._runs.add(run)
            run.uncommitted += 1
        self._batch.add(run.record, decisions, now_ms)
        # The others are rows now. Let go here, they leave their memory to the next run's, while it is in the cache.
        acted_on = self._acted_on
        self._decided.append((run, [one for one in decisions if type(one) in acted_on]))
        if logged is None:
            self._has_only_logged = False
        else:
            self._fresh.append(logged)
        self._schedule()

    def note_outcome(self, run: LiveRun, ended: TaskEnded) -> None:
        """Note what a task has brought, just before what follows from it is added."""
        self._outcomes.append((run, ended))

    def keep(self, logged: LoggedFact) -> None:
        """Keep a fact that is logged, and whose rows are in the open batch."""
        if not self._logged:
            self.on_first_logged()
        self._logged.append(logged)

    @property
    def has_logged(self) -> bool:
        """Whether facts are logged whose rows are in the open batch."""
        return bool(self._logged)

    async def settle(self) -> None:
        """Have the rows of all that is logged in the tables, if that can be."""
        # What is logged while this waits is not waited for: a run that goes on quickly would keep others from reading.
        if self._committing is not None:
            await self._ended()
        if self._logged:
            self.begin(to_tables=True)
            if self._committing is not None:
                await self._ended()

    def hold(self) -> None:
        """Wait a moment with the open batch, for what is about to come along, unless other runs are in it."""
        if self._held is None and len(self._runs) <= 1:
            self._held = asyncio.get_running_loop().call_later(_HELD_SECONDS, self._let_go)

    def touch(self) -> None:
        """Have the open batch committed."""
        self._has_only_logged = False
        self._schedule()

    def _schedule(self) -> None:
        if self._held is not None and len(self._runs) > 1:
            self._let_go()
        if not self._scheduled and self._committing is None and self._held is None:
            # After what is ready in the loop just now, so that it comes along.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_in_turn)

    def begin(self, *, to_tables: bool = False) -> None:
        """Store the open batch now, unless a commit is under way; for who knows that nothing more is about to come."""
        # One commit at a time: what is decided later may not be stored before what it stands on.
        if self._committing is not None or self._stopped is not None or self._batch.is_empty:
            return
        self._forget_hold()
        if not to_tables and self._log():
            return
        batch, decided, waiting = self._batch, self._decided, self._waiting
        written = Written(self._runs, self._logged, self._outcomes)
        self._open()
        self._committing_for = waiting
        # As it is for this batch: what is taken again before its commit begins is in the next one.
        work = self._commit(batch, decided, written, waiting, self.settles)
        self._committing = asyncio.get_running_loop().create_task(work)

    def _log(self) -> bool:
        """Make facts durable without their rows, and act on them; False if the batch has to go to the tables."""
        if not (self._has_only_logged and self.settles and self._batch.only_goes_on):
            return False
        entry = encode_facts(self._fresh) if self._fresh else None
        if entry is None:
            return not self._fresh
        try:
            if not self._store.log(entry, self._lease.fence):
                return False
        except WonderError as error:
            self.fail_open(error)
            return True
        if not self._logged:
            self.on_first_logged()
        self._logged += self._fresh
        decided, waiting = self._decided, self._waiting
        self._fresh, self._outcomes, self._decided, self._waiting = [], [], [], []
        _tell(waiting)
        self._release(decided)
        return True

    def durable(self) -> "asyncio.Future[None]":
        """Give what is done once all that was added so far is durable, and fails if that can't be."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._stopped is not None:
            future.set_exception(self._stopped)
        elif self._fresh or not (self._has_only_logged or self._batch.is_empty):
            self._waiting.append(future)
            self._schedule()
        elif self._committing is not None:
            self._committing_for.append(future)
        else:
            future.set_result(None)
        return future

    async def drain(self) -> None:
        """Wait until nothing is open or under way, whether it could be stored or not."""
        while self._stopped is None and (self._committing is not None or not self._batch.is_empty):
            await self._stored()

    async def _ended(self) -> None:
        """Wait for the commit that is under way, whatever becomes of it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._committing_for.append(future)
        await asyncio.wait([future])
        future.exception()  # Whoever loses something by it is told.

    async def _stored(self) -> None:
        """Wait until what is in the open batch is in the tables, or can't be."""
        if not self._batch.is_empty:
            self.touch()
        done = self.durable()
        await asyncio.wait([done])
        done.exception()  # Whoever loses something by it is told.

    def fail_open(self, error: WonderError, *runs: LiveRun) -> None:
        """Give up the open batch, all that was decided since its beginning, and these runs."""
        lost, unheard = Written(self._runs.union(runs), self._logged, self._outcomes), self._waiting
        self._open()
        _tell(unheard, error)
        self._lose(lost, error)

    def stop(self, error: WonderError) -> None:
        """Write nothing any more; whoever waits for something to be durable hears why."""
        self._stopped = error
        self._forget_hold()
        unheard = self._waiting
        self._open()
        _tell(unheard, error)

    def _begin_in_turn(self) -> None:
        self._scheduled = False
        if self._held is None:
            self.begin()

    def _let_go(self) -> None:
        self._forget_hold()
        if not self._batch.is_empty:
            self.touch()

    def _forget_hold(self) -> None:
        if self._held is not None:
            self._held.cancel()
            self._held = None

    def _open(self) -> None:
        self._batch, self._decided, self._runs, self._waiting = Batch(), [], set(), []
        self._logged, self._fresh, self._outcomes, self._has_only_logged = [], [], [], True

    async def _commit(
        self,
        batch: Batch,
        decided: Decided,
        written: Written,
        waiting: list[asyncio.Future[None]],
        settles: bool,
    ) -> None:
        try:
            await batch.commit(self._store, fence=self._lease.fence, settles=settles)
        except Exception as error:
            self._committing = None
            told = error if isinstance(error, WonderError) else CommitFailed(error)
            # What was decided since stands on what was not stored: it goes as well.
            facts, outcomes = written.facts + self._logged, written.outcomes + self._outcomes
            lost, unheard = Written(written.runs | self._runs, facts, outcomes), waiting + self._waiting
            self._open()
            _tell(unheard, told)
            self._lose(lost, told)
        else:
            self._committed(decided, written, waiting)
        # What was added meanwhile has waited for this.
        self.begin()

    def _committed(self, decided: Decided, written: Written, waiting: list[asyncio.Future[None]]) -> None:
        self._committing = None
        for run in written.runs:
            run.uncommitted -= 1
        _tell(waiting)
        # Those that had only logged facts in it may rest now as well.
        acting = {run for run, _ in decided}
        self._release([*decided, *[(run, []) for run in written.runs if run not in acting]])


def _tell(waiting: Sequence["asyncio.Future[None]"], error: WonderError | None = None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
