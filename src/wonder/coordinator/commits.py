"""Group commit: while one commit is under way, the next batch fills with whatever all runs bring.

How a batch becomes durable, in the tables or in a journal first, is the writer's choice (storage/run_writer.py).
"""

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from wonder.clock import Clock
from wonder.coordinator.errors import CommitFailed
from wonder.coordinator.live import LiveRun
from wonder.coordinator.worker import TaskEnded
from wonder.engine.decisions import Decision
from wonder.errors import WonderError
from wonder.storage.logged_facts import LoggedFact
from wonder.storage.run_writer import ClosedBatch, RunWriter
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
        clock: Clock,
        release: Callable[[Decided], None],
        lose: Callable[["Written", WonderError], None],
        acted_on: Container[type[Decision]],
    ) -> None:
        self._release, self._lose, self._acted_on = release, lose, acted_on
        self.writer = RunWriter(store, lease, clock, self.settle, lambda: self.begin(to_tables=True))
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
        return self.writer.batch

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
        self.writer.add(run.record, decisions, now_ms, logged)
        # The others are rows now. Let go here, they leave their memory to the next run's, while it is in the cache.
        acted_on = self._acted_on
        self._decided.append((run, [one for one in decisions if type(one) in acted_on]))
        self._schedule()

    def note_outcome(self, run: LiveRun, ended: TaskEnded) -> None:
        """Note what a task has brought, just before what follows from it is added."""
        self._outcomes.append((run, ended))

    def keep(self, logged: LoggedFact) -> None:
        """Keep a fact that is logged, and whose rows are in the open batch."""
        self.writer.keep(logged)

    async def settle(self) -> None:
        """Have the rows of all that is logged in the tables, if that can be."""
        # What is logged while this waits is not waited for: a run that goes on quickly would keep others from reading.
        if self._committing is not None:
            await self._ended()
        if self.writer.has_logged:
            self.begin(to_tables=True)
            if self._committing is not None:
                await self._ended()

    def hold(self) -> None:
        """Wait a moment with the open batch, for what is about to come along, unless other runs are in it."""
        if self._held is None and len(self._runs) <= 1:
            self._held = asyncio.get_running_loop().call_later(_HELD_SECONDS, self._let_go)

    def touch(self) -> None:
        """Have the open batch committed."""
        self.writer.touch()
        self._schedule()

    def _schedule(self) -> None:
        if self._held is not None and len(self._runs) > 1:
            self._let_go()
        if not self._scheduled and self._committing is None and self._held is None:
            # After what is ready in the loop just now, so that it comes along.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_in_turn)

    def begin(self, *, to_tables: bool = False) -> None:
        """Commit the open batch now, not at the end of this turn of the loop; does nothing during another commit."""
        # One commit at a time: what is decided later may not be stored before what it stands on.
        if self._committing is not None or self._stopped is not None or self.writer.batch.is_empty:
            return
        self._forget_hold()
        try:
            closed = self.writer.commit(to_tables=to_tables)
        except WonderError as error:
            self.fail_open(error)
            return
        if closed is None:
            if self._decided or self._waiting:
                self._release_open()
            return
        decided, waiting, written = self._decided, self._waiting, Written(self._runs, closed.facts, self._outcomes)
        self._open()
        self._committing_for = waiting
        work = self._commit(closed, decided, written, waiting)
        self._committing = asyncio.get_running_loop().create_task(work)

    def _release_open(self) -> None:
        """Act on what is durable in the open batch, whose rows go to the tables later."""
        decided, waiting = self._decided, self._waiting
        self._outcomes, self._decided, self._waiting = [], [], []
        _tell(waiting)
        self._release(decided)

    def durable(self) -> "asyncio.Future[None]":
        """Give what is done once all that was added so far is durable, and fails if that can't be."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._stopped is not None:
            future.set_exception(self._stopped)
        elif not self.writer.is_durable:
            self._waiting.append(future)
            self._schedule()
        elif self._committing is not None:
            self._committing_for.append(future)
        else:
            future.set_result(None)
        return future

    async def drain(self) -> None:
        """Wait until nothing is open or under way, whether it could be stored or not."""
        while self._stopped is None and (self._committing is not None or not self.writer.batch.is_empty):
            await self._stored()

    async def _ended(self) -> None:
        """Wait for the commit that is under way, whatever becomes of it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._committing_for.append(future)
        await asyncio.wait([future])
        future.exception()  # Whoever loses something by it is told.

    async def _stored(self) -> None:
        """Wait until what is in the open batch is in the tables, or can't be."""
        if not self.writer.batch.is_empty:
            self.touch()
        done = self.durable()
        await asyncio.wait([done])
        done.exception()  # Whoever loses something by it is told.

    def fail_open(self, error: WonderError, *runs: LiveRun) -> None:
        """Give up the open batch, all that was decided since its beginning, and these runs."""
        lost, unheard = Written(self._runs.union(runs), self.writer.abandon(), self._outcomes), self._waiting
        self._open()
        _tell(unheard, error)
        self._lose(lost, error)

    def stop(self, error: WonderError) -> None:
        """Write nothing any more; whoever waits for something to be durable hears why."""
        self._stopped = error
        self._forget_hold()
        unheard = self._waiting
        self.writer.abandon()
        self._open()
        _tell(unheard, error)

    def _begin_in_turn(self) -> None:
        self._scheduled = False
        # What a lone run brings is durable by now: Tasks has begun its commit at once.
        if self._held is None and not self.writer.is_durable:
            self.begin()

    def _let_go(self) -> None:
        self._forget_hold()
        if not self.writer.batch.is_empty:
            self.touch()

    def _forget_hold(self) -> None:
        if self._held is not None:
            self._held.cancel()
            self._held = None

    def _open(self) -> None:
        self._decided, self._runs, self._waiting, self._outcomes = [], set(), [], []

    async def _commit(
        self,
        closed: ClosedBatch,
        decided: Decided,
        written: Written,
        waiting: list[asyncio.Future[None]],
    ) -> None:
        try:
            await closed.store()
        except Exception as error:
            self._committing = None
            told = error if isinstance(error, WonderError) else CommitFailed(error)
            # What was decided since stands on what was not stored: it goes as well.
            facts, outcomes = written.facts + self.writer.abandon(), written.outcomes + self._outcomes
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
