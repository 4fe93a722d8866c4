"""Group commit: while one commit is under way, the next batch fills with whatever all runs bring."""

import asyncio
from collections.abc import Callable, Container, Coroutine, Sequence
from typing import Any

from wonder.coordinator import at_once
from wonder.coordinator.errors import CommitFailed
from wonder.coordinator.live import LiveRun
from wonder.engine.decisions import Decision
from wonder.errors import WonderError
from wonder.storage.runs.leases import Lease
from wonder.storage.runs.recording import Batch
from wonder.storage.store import Store

# So long a batch waits for a transform: most take a tenth of that, and a commit takes about as long.
_HELD_SECONDS = 0.005

Decided = Sequence[tuple[LiveRun, list[Decision]]]


class GroupCommit:
    """Writes decisions down, and hands them on once they are durable (INV-3)."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        release: Callable[[Decided], None],
        lose: Callable[[set[LiveRun], WonderError], None],
        acted_on: Container[type[Decision]],
    ) -> None:
        self._store, self._lease, self._release, self._lose = store, lease, release, lose
        self._acted_on = acted_on
        self._batch = Batch()
        self._decided: list[tuple[LiveRun, list[Decision]]] = []
        self._runs: set[LiveRun] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._committing_for: list[asyncio.Future[None]] = []
        self._committing: asyncio.Task[None] | Coroutine[Any, Any, None] | None = None
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

    def add(self, run: LiveRun, decisions: list[Decision], now_ms: int) -> None:
        """Put the decisions of a run into the open batch; it is committed as soon as the writer is free."""
        if not decisions:
            return
        if run not in self._runs:
            self._runs.add(run)
            run.uncommitted += 1
        self._batch.add(run.record, decisions, now_ms)
        # The others are rows now. Let go here, they leave their memory to the next run's, while it is in the cache.
        acted_on = self._acted_on
        self._decided.append((run, [one for one in decisions if type(one) in acted_on]))
        self.touch()

    def hold(self) -> None:
        """Wait a moment with the open batch, for what is about to come along, unless other runs are in it."""
        if self._held is None and len(self._runs) <= 1:
            self._held = asyncio.get_running_loop().call_later(_HELD_SECONDS, self._let_go)

    def touch(self) -> None:
        """Have the open batch committed."""
        if self._held is not None and len(self._runs) > 1:
            self._let_go()
        if not self._scheduled and self._committing is None and self._held is None:
            # After what is ready in the loop just now, so that it comes along.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_in_turn)

    def begin(self) -> None:
        """Commit the open batch now, unless a commit is under way; for who knows that nothing more is about to come."""
        # One commit at a time: what is decided later may not be stored before what it stands on.
        if self._committing is not None or self._stopped is not None or self._batch.is_empty:
            return
        self._forget_hold()
        batch, decided, runs, waiting = self._batch, self._decided, self._runs, self._waiting
        self._open()
        self._committing_for = waiting
        work = self._committing = self._commit(batch, decided, runs, waiting)
        rest = at_once.begin(work) if self._store.commits_at_once else work
        if rest is not None:
            self._committing = asyncio.get_running_loop().create_task(self._finish(rest))

    def durable(self) -> "asyncio.Future[None]":
        """Give what is done once all that was added so far is durable, and fails if that can't be."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._stopped is not None:
            future.set_exception(self._stopped)
        elif not self._batch.is_empty:
            self._waiting.append(future)
            self.touch()
        elif self._committing is not None:
            self._committing_for.append(future)
        else:
            future.set_result(None)
        return future

    async def drain(self) -> None:
        """Wait until nothing is open or under way, whether it could be stored or not."""
        while self._stopped is None and (self._committing is not None or not self._batch.is_empty):
            await asyncio.wait([self.durable()])

    def fail_open(self, error: WonderError) -> None:
        """Give up the open batch, and all that was decided since its beginning."""
        lost, unheard = self._runs, self._waiting
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

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        await work
        # What was added meanwhile has waited for this.
        self.begin()

    def _open(self) -> None:
        self._batch, self._decided, self._runs, self._waiting = Batch(), [], set(), []

    async def _commit(
        self, batch: Batch, decided: Decided, runs: set[LiveRun], waiting: list[asyncio.Future[None]]
    ) -> None:
        try:
            await batch.commit(self._store, fence=self._lease.fence)
        except Exception as error:
            self._committing = None
            told = error if isinstance(error, WonderError) else CommitFailed(error)
            # What was decided since stands on what was not stored: it goes as well.
            lost, unheard = runs | self._runs, waiting + self._waiting
            self._open()
            _tell(unheard, told)
            self._lose(lost, told)
            return
        self._committing = None
        for run in runs:
            run.uncommitted -= 1
        for future in waiting:
            if not future.done():
                future.set_result(None)
        self._release(decided)


def _tell(waiting: Sequence["asyncio.Future[None]"], error: WonderError) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(error)
