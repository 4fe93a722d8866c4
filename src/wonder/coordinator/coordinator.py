"""Coordinator: the one writer. Takes facts, lets the engine decide, commits, and only then acts (INV-3)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any

from wonder.backoff import Backoff
from wonder.clock import Clock
from wonder.coordinator.background import Background
from wonder.coordinator.commits import GroupCommit, Written
from wonder.coordinator.ends import Ends
from wonder.coordinator.errors import CommitFailed, EngineStopped, RunNotLive
from wonder.coordinator.facts_log import FactsLog
from wonder.coordinator.kept_tasks import KeptTasks
from wonder.coordinator.live import LiveRun
from wonder.coordinator.logged_facts import LoggedIds
from wonder.coordinator.programs import Programs
from wonder.coordinator.timers import NearTimers
from wonder.coordinator.worker import Dispatch, TaskEnded, Worker
from wonder.engine.decide import decide, redispatch
from wonder.engine.decisions import (
    AbortTask,
    AwaitEvent,
    CancelTimer,
    ContinueLater,
    ControlChild,
    Decision,
    DispatchTask,
    EndRun,
    FireTriggers,
    RetryRun,
    SetRunStatus,
    SetTimer,
    StartChild,
)
from wonder.engine.facts import (
    CancelRequested,
    ChildEnded,
    Fact,
    LimitReached,
    PauseRequested,
    RunBroken,
    TaskStarted,
    TimerFired,
    TurnContinued,
)
from wonder.engine.failure import Failure
from wonder.engine.restore import take_snapshot
from wonder.engine.state import DISPATCHED, EXECUTING
from wonder.errors import WonderError
from wonder.storage.errors import LeaseLost
from wonder.storage.runs.headers import QUARANTINED, load_headers
from wonder.storage.runs.leases import Lease
from wonder.storage.store import NewId, Store

# CTL-20: how long a run may go on with pure nodes before others have their turn.
_TURN_MS = 10.0
_WORKING = (DISPATCHED, EXECUTING)
# Facts that end a run by themselves.
_ENDING = (LimitReached, CancelRequested, RunBroken)
# CTL-1: a task that is under way for this long is shown as executing.
_SHOWN_AFTER_MS = 500
# After a commit that failed, the next one waits, longer each time: a full disk is not emptied by trying.

log = logging.getLogger("wonder.coordinator")


class Coordinator:
    """All runs of one database that this process owns."""

    def __init__(self, store: Store, lease: Lease, worker: Worker, clock: Clock, new_id: NewId) -> None:
        self.store, self.clock, self.new_id = store, clock, new_id
        self.programs = Programs(store)
        self.background = Background(clock)
        self.timers = NearTimers(clock, lambda run_id, key: self.bring(run_id, TimerFired(key)))
        self.ends = Ends()
        self.on_child: Callable[[LiveRun, StartChild], None] = _nobody
        """Starts a sub-workflow; given by whoever starts runs."""
        self.on_control: Callable[[LiveRun, ControlChild], None] = _nobody
        """Cancels, pauses or resumes a sub-workflow."""
        self.on_await: Callable[[LiveRun, AwaitEvent], None] = _nobody
        """Looks for an event that came before it was waited for."""
        self.on_triggers: Callable[[LiveRun, FireTriggers], None] = _nobody
        """Starts what the triggers of a run that has completed are to start."""
        self.on_retry: Callable[[LiveRun, RetryRun], None] = _nobody
        """Retries a triggered run that has failed."""
        self.on_status: Callable[[LiveRun, str], None] = lambda run, status: None
        """Hears which durable status a run has, or `lost` when it was given up and will be loaded again."""
        self.on_lost: Callable[[], Awaitable[None]] = _nothing
        """Does again what was to follow from durable decisions, and went with a commit that failed."""
        self.on_stop: Callable[[WonderError], None] = lambda error: None
        self.load: Callable[[Sequence[str]], Awaitable[list[LiveRun]]]
        """Loads parked runs out of their rows, without those that are not there or have ended."""
        self.cancel_unloaded: Callable[[str, str | None], Awaitable[bool]] = _not_so
        """Cancels a run by its rows alone if it is too large to be loaded, or set aside; False if it is neither."""
        self.set_aside: set[str] = set()
        """Runs that are about to be quarantined: of those, nothing is begun (`quarantine`)."""
        self.held_back: set[str] = set()
        """Runs that are not to be loaded for a while, because one of them may have killed its process."""
        self.released: set[str] = set()
        """Quarantined runs that a person has just resumed: they may be loaded."""
        self.mine: set[str] | None = None
        self.were_mine: set[str] = set()
        """Of its own runs that have ended, those that something may follow from, which is its own as well."""
        """The runs whose tasks are dispatched here, None for all; those of others are left to another engine."""
        self._worker, self._lease = worker, lease
        self.commits = GroupCommit(store, lease, self.release, self._lose, _ACTS.keys())
        self.facts_log = FactsLog(self, store, lease)
        self._live: dict[str, LiveRun] = {}
        self._loading: dict[str, asyncio.Task[dict[str, LiveRun]]] = {}
        self._kept = KeptTasks()
        self._broken: dict[str, Failure] = {}
        self._young: dict[str, tuple[int, LiveRun]] = {}
        """Tasks that are not shown as executing yet, oldest first: since when they are under way, and their run."""
        self._is_showing = False
        self._acts = _ACTS
        self._backoff = Backoff()
        self._stopped: EngineStopped | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that could bring a fact by itself."""
        return not self._live and not self.background

    def check_running(self) -> None:
        """Raise EngineStopped if this coordinator takes nothing any more."""
        if self._stopped is not None:
            raise self._stopped

    def adopt(self, run: LiveRun) -> None:
        """Take a run into memory."""
        self._live[run.id] = run

    def is_live(self, run_id: str) -> bool:
        """Say whether a run is in memory, or about to be."""
        return run_id in self._live or run_id in self._loading

    def is_in_memory(self, run_id: str) -> bool:
        """Say whether a run is in memory now."""
        return run_id in self._live

    @property
    def live_count(self) -> int:
        """How many runs are in memory."""
        return len(self._live)

    def in_memory(self, run_id: str) -> LiveRun | None:
        """Give a run that is in memory, ended or not."""
        return self._live.get(run_id)

    def will_tell_end(self, run_id: str) -> bool:
        """Say whether `ends` will be told how a run ends: it is in memory, and its end is not decided."""
        run = self._live.get(run_id)
        return run is not None and not run.state.ended and self._stopped is None

    def take(self, run: LiveRun, fact: Fact) -> None:
        """Let the engine decide on a fact, and put what follows into the open batch."""
        if self._stopped is not None:
            return
        if run.has_written_too_much and type(fact) not in _ENDING:
            self.take(run, LimitReached("bytes_written", run.record.written, run.state.limits.bytes_written))
        now_ms, was_ended = self.clock.now_ms(), run.state.ended
        logged = self.facts_log.to_log(run, fact, now_ms)
        if logged is None:
            decisions = self._decide_in_parts(run, fact, now_ms)
        else:
            ids = LoggedIds(logged.token_id, self.new_id)
            decisions = self.decide(run, fact, now_ms, ids, None)
            if ids.count > 1:
                logged = None  # Taken once more, it would not give the same ids.
        if decisions is None:
            return
        try:
            self.commits.add(run, decisions, now_ms, logged)
            if run.program.workflow.has_transforms:
                self._begin_transforms(run, decisions)
            self.snapshot_if_due(run, was_ended, now_ms)
        except Exception as error:
            self.fail_writing(run, fact, error)

    def _decide_in_parts(self, run: LiveRun, fact: Fact, now_ms: int) -> list[Decision] | None:
        """Let the engine decide, and put the parts of a long turn into the open batch as they come; gives the rest."""
        is_partly_added = False

        def add(part: list[Decision]) -> None:
            nonlocal is_partly_added
            is_partly_added = True
            self.commits.add(run, part, now_ms)
            if run.program.workflow.has_transforms:
                self._begin_transforms(run, part)

        decisions = self.decide(run, fact, now_ms, self.new_id, self._over_time(), add)
        if decisions is None and is_partly_added:
            # Some of what the turn led to is in the open batch: none of it may be written.
            self.commits.fail_open(CommitFailed(RuntimeError("the engine failed in the middle of a turn")))
        return decisions

    def _over_time(self) -> Callable[[], bool]:
        started = self.clock.monotonic_ms()
        return lambda: self.clock.monotonic_ms() - started > _TURN_MS

    def decide(
        self,
        run: LiveRun,
        fact: Fact,
        now_ms: int,
        new_id: NewId,
        over_time: Callable[[], bool] | None,
        hand_on: Callable[[list[Decision]], None] | None = None,
    ) -> list[Decision] | None:
        """Let the engine decide; None if it fails, which fails the run."""
        try:
            return decide(run.state, fact, now_ms=now_ms, new_id=new_id, over_time=over_time, hand_on=hand_on)
        except Exception as error:
            log.exception("the engine failed on %s of run %s", type(fact).__name__, run.id)
            self._break(run, error, again=not isinstance(fact, RunBroken))
            return None

    def snapshot_if_due(self, run: LiveRun, was_ended: bool, now_ms: int) -> None:
        """Take a snapshot of a run if its project's policy asks for one now."""
        if run.is_due_for_snapshot(was_ended):
            self.commits.batch.snapshot(take_snapshot(run.state), now_ms)

    def fail_writing(self, run: LiveRun, fact: Fact, error: Exception) -> None:
        """Give up the open batch, and fail the run that could not be put into it."""
        # Half of its rows may be in the batch: none of them may be written.
        log.exception("what %s of run %s led to can't be written", type(fact).__name__, run.id, exc_info=error)
        self._break(run, error, again=not isinstance(fact, RunBroken))
        self.commits.fail_open(CommitFailed(error))

    def bring(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, wherever it is; a run that has ended, or never was, does not hear of it."""
        if run := self._live.get(run_id):
            self.take(run, fact)
        elif self._stopped is None:
            self.spawn(self._bring_parked(run_id, fact))

    async def get(self, run_id: str) -> LiveRun | None:
        """Give a live run, loading it if it is parked; None if there is none or it has ended.

        It is in memory when this returns, and may be parked again whenever the caller waits for something;
        `rest` lets go of it.
        """
        while True:
            self.check_running()
            if run := self._live.get(run_id):
                return run
            under_way = self._loading.get(run_id)
            run = (await self._loaded(under_way or self._begin_loading([run_id]))).get(run_id)
            # A load that began before we asked may not have seen a run that was stored since: then we look ourselves.
            if run is None and under_way is None:
                return None

    async def hold(self, run_ids: Iterable[str]) -> list[LiveRun]:
        """Give several runs that stay in memory, all at once, until each is let go with `let_go`."""
        wanted = list(dict.fromkeys(run_ids))
        while True:
            await self.wake(wanted, rest=False)
            runs: list[LiveRun] = []
            try:
                for run_id in wanted:
                    if run := await self._pinned(run_id):
                        runs.append(run)  # noqa: PERF401  # one by one: those pinned so far are let go of
            except BaseException:
                for run in runs:
                    self.let_go(run)
                raise
            if not any(run.dropped for run in runs):
                return runs
            for run in runs:
                self.let_go(run)

    def let_go(self, run: LiveRun) -> None:
        """Say that a run was held long enough."""
        run.pins -= 1
        self.rest(run)

    async def wake(self, run_ids: Iterable[str], *, rest: bool = True) -> int:
        """Load many runs that are not in memory, and go on with them; gives how many there were."""
        wanted = [run_id for run_id in run_ids if not self.is_live(run_id)]
        if not wanted:
            return 0
        loaded = await self._loaded(self._begin_loading(wanted))
        if rest:
            for run in loaded.values():
                self.rest(run)
        return len(loaded)

    async def _pinned(self, run_id: str) -> LiveRun | None:
        run = await self.get(run_id)
        if run is not None:
            run.pins += 1
        return run

    def rest(self, run: LiveRun) -> None:
        """Let a run out of memory if it has nothing to do."""
        if run.may_park and self._live.get(run.id) is run:
            del self._live[run.id]

    async def check_lease(self) -> None:
        """Raise LeaseLost if this process has been replaced, and what it reads is being written by another."""
        await self._lease.check()

    async def durable(self) -> None:
        """Wait until all that was decided so far is durable."""
        await self.commits.durable()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside; what it raises is logged."""
        self.background.spawn(work)

    def resume_work(self, run: LiveRun) -> None:
        """Dispatch again what workers had when the process that ran them ended (INV-4), and begin what can begin.

        What this process has under way, or knows the outcome of, is not dispatched again.
        """
        ended = self._kept.give_back(run)
        for token_id in run.tasks:
            self._show_if_long(run, token_id)
        # Before the outcomes: what they lead to is not durable yet.
        for dispatch in redispatch(run.state):
            if dispatch.token_id not in ended:
                self._dispatch(run, dispatch)
        for outcome in ended.values():
            if not run.dropped:
                self._take_outcome(run, outcome)
        if run.state.has_work and not run.dropped:
            self.take(run, TurnContinued())

    def stop(self, error: WonderError) -> None:
        """Take and write nothing any more, because the lease is another's (INV-5)."""
        if self._stopped is not None:
            return
        log.error("the engine stops: %s", error)
        self._stop(str(error))
        self.on_stop(error)

    async def close(self) -> None:
        """Let go of everything; what was decided is made durable first, the rest goes on in the next engine."""
        self.timers.close()
        for run in self._live.values():
            _break_off(run)
        self._kept.discard_all()
        self._acts = _LAST_ACTS
        await self.commits.drain()
        self._stop("it was closed")
        await self.background.close()
        for loading in set(self._loading.values()):
            loading.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    def _stop(self, reason: str) -> None:
        self._stopped = EngineStopped(reason)
        self.timers.close()
        for run in self._live.values():
            run.dropped = True
            _break_off(run)
        self._kept.discard_all()
        self._live.clear()
        self._young.clear()
        self.commits.stop(self._stopped)
        self.ends.fail(self._stopped)

    def _begin_loading(
        self, run_ids: Sequence[str], first: Callable[[], Awaitable[None]] | None = None
    ) -> "asyncio.Task[dict[str, LiveRun]]":
        task = asyncio.get_running_loop().create_task(self._load(run_ids, first))
        for run_id in run_ids:
            self._loading[run_id] = task
        return task

    async def _loaded(self, loading: "asyncio.Task[dict[str, LiveRun]]") -> dict[str, LiveRun]:
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled():
                self.check_running()  # It was broken off because we close, which is no reason to cancel who waits.
            raise

    async def _load(self, run_ids: Sequence[str], first: Callable[[], Awaitable[None]] | None) -> dict[str, LiveRun]:
        task = asyncio.current_task()
        try:
            if first is not None:
                await first()
                runs = await self.background.insist("runs can't be loaded again", lambda: self._read(run_ids))
            else:
                runs = await self._read(run_ids)
        finally:
            for run_id in run_ids:
                if self._loading.get(run_id) is task:
                    del self._loading[run_id]
        self.check_running()
        # One that was started while we looked for it is ahead of its rows.
        runs = [run for run in runs if run.id not in self._live]
        for run in runs:
            self.adopt(run)
            self.on_status(run, run.state.status)
        broken = {run_id: self._broken.pop(run_id, None) for run_id in run_ids}
        self.facts_log.take_again(runs)
        for run in runs:
            if run.dropped:
                continue
            if failure := broken[run.id]:
                # Nothing is done again: it would lead to the same failure, and the world would see it each time.
                self._kept.discard([run.id])
                self.take(run, RunBroken(failure))
                self.rest(run)
            elif run.id in self.set_aside:
                self.take(run, PauseRequested(QUARANTINED))
                self.rest(run)
            else:
                self.resume_work(run)
        if left := {*self.facts_log.untaken_of(run_ids), *self._kept.kept_of(run_ids)}:
            self.spawn(self._forget_ended(sorted(left)))
        return {run.id: run for run in runs}

    async def _forget_ended(self, run_ids: Sequence[str]) -> None:
        """Forget the logged facts and the tasks of runs that were not loaded because they have ended."""
        headers = {header.id: header for header in await load_headers(self.store, run_ids)}
        ended = [run_id for run_id in run_ids if run_id not in headers or headers[run_id].has_ended]
        self.facts_log.forget(ended)
        self._kept.discard(ended)

    async def _read(self, run_ids: Sequence[str]) -> list[LiveRun]:
        """Load runs out of their rows, if they are still ours: else another owner writes them while we read."""
        try:
            return await self._read_and_check(run_ids)
        except LeaseLost as error:
            self.stop(error)
            self.check_running()
            raise

    async def _read_and_check(self, run_ids: Sequence[str]) -> list[LiveRun]:
        try:
            return await self.load(run_ids)
        finally:
            await self.check_lease()

    async def bring_and_wait(self, run_id: str, fact: Fact) -> None:
        """Bring a fact to a run, and wait until it has taken it."""
        if run := self._live.get(run_id):
            self.take(run, fact)
        else:
            await self._bring_parked(run_id, fact)

    async def _bring_parked(self, run_id: str, fact: Fact) -> None:
        if type(fact) is CancelRequested and await self._is_cancelled_unloaded(run_id, fact.reason):
            return
        run = await self._insist_on(run_id)
        if run is not None:
            self.take(run, fact)
            self.rest(run)

    async def _is_cancelled_unloaded(self, run_id: str, reason: str | None) -> bool:
        async def attempt() -> bool:
            try:
                return await self.cancel_unloaded(run_id, reason)
            except RunNotLive:
                return True

        return await self.background.insist(f"run {run_id} can't be cancelled", attempt)

    async def without_loading(self, run_id: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do something with the rows of a run, which nobody loads meanwhile; False if it is in memory, or about to be.

        What has to follow from it is durable when this returns.
        """
        self.check_running()
        if self.is_live(run_id):
            return False

        async def apart() -> dict[str, LiveRun]:
            try:
                await work()
            finally:
                # Whoever waited for it to be loaded looks again.
                if self._loading.get(run_id) is task:
                    del self._loading[run_id]
            return {}

        task = asyncio.get_running_loop().create_task(apart())
        self._loading[run_id] = task
        await self._loaded(task)
        return True

    async def _insist_on(self, run_id: str) -> LiveRun | None:
        return await self.background.insist(f"run {run_id} can't be loaded", lambda: self.get(run_id))

    def release(self, decided: Sequence[tuple[LiveRun, list[Decision]]]) -> None:
        """Act on decisions that are durable now."""
        self._backoff.reset()
        if self._stopped is not None:
            return
        acts = self._acts
        for run, decisions in decided:
            try:
                for decision in decisions:
                    if act := acts.get(type(decision)):
                        act(self, run, decision)
            except Exception as error:
                log.exception("what was decided for run %s can't be carried out", run.id)
                self._break(run, error, again=True)
        for run, _ in decided:
            self.rest(run)

    def _lose(self, written: Written, error: WonderError) -> None:
        """Forget runs whose commit failed: their rows are the truth, and they are loaded again from there.

        What is logged is true as well, and follows upon the rows. What tasks have brought is taken again, and what is
        under way goes on: only the end of this process is a reason to execute it again (INV-4).
        """
        runs = written.runs
        self.facts_log.lose(written.facts)
        if self._stopped is not None:
            return
        if isinstance(error, LeaseLost):
            self.stop(error)
            return
        pause_ms = self._backoff.next_ms()
        log.error("a commit failed, %d runs are loaded again in %d ms: %s", len(runs), pause_ms, error)
        lost = [run for run in runs if self._drop(run, keeps_tasks=True)]
        for run, ended in written.outcomes:
            if run in runs:
                self._kept.keep(run, ended)
        if lost:
            self._begin_loading([run.id for run in lost], lambda: self._until_writable(pause_ms))
        self.spawn(self._repair([run.id for run in lost], pause_ms))

    async def _until_writable(self, pause_ms: float) -> None:
        """Wait until something can be stored: runs are not loaded once per attempt."""
        await self.background.sleep(pause_ms)
        await self.background.insist("nothing can be stored", self._try_to_write)

    async def _try_to_write(self) -> None:
        self.check_running()
        try:
            await self._lease.try_to_write()
        except LeaseLost as error:
            self.stop(error)
            self.check_running()

    async def _repair(self, run_ids: Sequence[str], pause_ms: float) -> None:
        """Wait for runs to be loaded again, and do again what was to follow from what is durable."""
        await self.background.sleep(pause_ms)
        for run_id in run_ids:
            if run := await self._insist_on(run_id):
                self.rest(run)
            else:
                # Its end may have been stored by the very commit that failed, when the connection broke in the answer.
                self.ends.tell(run_id, None)
        await self.background.insist("what was lost can't be looked for", self.on_lost)

    def _break(self, run: LiveRun, error: Exception, *, again: bool) -> None:
        """Fail a run on which the engine itself has failed: what is in memory of it can't be trusted."""
        if not self._drop(run) or not again:
            return
        failure = Failure("ENGINE_ERROR", f"the engine failed: {type(error).__name__}: {error}; please report this")
        self._broken[run.id] = failure
        self.spawn(self._loaded(self._begin_loading([run.id], self._settled)))

    async def _settled(self) -> None:
        """Wait for what is decided already, which is right and will be in the rows, or be lost."""
        await asyncio.wait([self.commits.durable()])

    def _drop(self, run: LiveRun, *, keeps_tasks: bool = False) -> bool:
        if run.dropped:
            return False
        run.dropped = True
        if self._live.get(run.id) is run:
            del self._live[run.id]
        if keeps_tasks:
            self._kept.keep(run)
        else:
            _break_off(run)
        self.on_status(run, "lost")
        return True

    def _begin_transforms(self, run: LiveRun, decisions: Sequence[Decision]) -> None:
        """Begin transforms before they are durable, so that what they give comes along with the same commit (PHS-5).

        INV-3 does not suffer: nothing leaves this process, and what goes with a commit that fails is done again.
        """
        if self._acts is _LAST_ACTS:
            return
        begun = [one for one in decisions if type(one) is DispatchTask and _rides_along(run, one)]
        for order in begun:
            self._dispatch(run, order)
        if begun and run.tasks and len(self._live) == 1 and not any(_is_due(*one) for one in self.commits.decided):
            self.commits.hold()

    def _dispatch(self, run: LiveRun, order: DispatchTask) -> None:
        if dispatch := self._order(run, order):
            run.tasks[order.token_id] = self._worker.start(dispatch, lambda ended: self._task_ended(run, ended))
            self._show_if_long(run, order.token_id)

    def _show_if_long(self, run: LiveRun, token_id: str) -> None:
        self._young[token_id] = (self.clock.now_ms(), run)
        if not self._is_showing:
            self._show_later()

    def _order(self, run: LiveRun, order: DispatchTask) -> Dispatch | None:
        """Say what a worker is to do; None if there is nothing to do any more, or not here."""
        token = run.state.tokens.get(order.token_id)
        if token is None or run.dropped or order.token_id in run.tasks:
            return None
        if token.status not in _WORKING:
            return None  # a transform, which has ended before it was durable that it had begun
        if self.mine is not None and run.id not in self.mine:
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
        )

    def _task_ended(self, run: LiveRun, ended: TaskEnded) -> None:
        if run.dropped:
            # A commit failed meanwhile: it is kept until the run is loaded again, or is for the run that was.
            if self._kept.bring(run.id, ended) or run.id not in self._live:
                return
            run = self._live[run.id]
        if run.tasks.pop(ended.token_id, None) is None:
            return
        # Not kept until it would be shown: its run may be gone from memory long before.
        self._young.pop(ended.token_id, None)
        self._take_outcome(run, ended)
        if self._is_alone(run):
            self.commits.begin()

    def _take_outcome(self, run: LiveRun, ended: TaskEnded) -> None:
        self.commits.note_outcome(run, ended)
        self.take(run, ended)

    def _is_alone(self, run: LiveRun) -> bool:
        """Say whether nobody else has anything under way that could come along with the same commit."""
        return len(self._live) == 1 and not run.tasks

    def _show_executing(self) -> None:
        """Let tasks that take longer be seen as executing (CTL-1)."""
        self._is_showing = False
        now_ms, due = self.clock.now_ms(), list[tuple[str, int, LiveRun]]()
        for token_id, (started_ms, run) in self._young.items():
            if now_ms - started_ms < _SHOWN_AFTER_MS:
                break
            due.append((token_id, started_ms, run))
        for token_id, started_ms, run in due:
            self._young.pop(token_id, None)
            if token_id in run.tasks and not run.dropped:
                self.take(run, TaskStarted(token_id, started_ms))
        if self._young:
            self._show_later()

    def _show_later(self) -> None:
        self._is_showing = True
        self.clock.after(_SHOWN_AFTER_MS, self._show_executing)

    def _abort(self, run: LiveRun, order: AbortTask) -> None:
        self._young.pop(order.token_id, None)
        if work := run.tasks.pop(order.token_id, None):
            work.cancel()

    def _status(self, run: LiveRun, order: SetRunStatus) -> None:
        self.on_status(run, order.status)

    def _end(self, run: LiveRun, end: EndRun) -> None:
        self._tell_end(run, end)
        self.on_status(run, end.status)
        if self.mine is not None and run.id in self.mine:
            self.mine.discard(run.id)
            if run.program.workflow.triggers or run.origin is not None:
                self.were_mine.add(run.id)
        if run.parent_run_id is not None and run.parent_token_id is not None:
            fact = ChildEnded(run.parent_token_id, run.id, end.status, end.output, end.failure)
            self.bring(run.parent_run_id, fact)

    def _tell_end(self, run: LiveRun, end: EndRun) -> None:
        self.ends.tell(run.id, end)

    def _continue(self, run: LiveRun, _: ContinueLater) -> None:
        if not run.dropped:
            self.take(run, TurnContinued())


def _rides_along(run: LiveRun, order: DispatchTask) -> bool:
    return run.program.workflow.nodes[order.node_id].rides_along


def _is_due(run: LiveRun, decisions: Sequence[Decision]) -> bool:
    """Say whether anything but a transform waits for decisions to be durable."""
    return any(type(one) in _ACTS and not (type(one) is DispatchTask and _rides_along(run, one)) for one in decisions)


def _break_off(run: LiveRun) -> None:
    for work in run.tasks.values():
        work.cancel()
    run.tasks.clear()


async def _not_so(run_id: str, reason: str | None) -> bool:
    return False


async def _nothing() -> None:
    """Nothing has to be done again."""


def _nobody(run: LiveRun, decision: Any) -> None:
    raise AssertionError("nobody was given to carry this out")


_ACTS: dict[type, Callable[[Coordinator, LiveRun, Any], None]] = {
    DispatchTask: Coordinator._dispatch,
    AbortTask: Coordinator._abort,
    StartChild: lambda coordinator, run, decision: coordinator.on_child(run, decision),
    ControlChild: lambda coordinator, run, decision: coordinator.on_control(run, decision),
    AwaitEvent: lambda coordinator, run, decision: coordinator.on_await(run, decision),
    SetTimer: lambda coordinator, run, decision: coordinator.timers.set(run.id, decision.key, decision.due_ms),
    CancelTimer: lambda coordinator, run, decision: coordinator.timers.cancel(run.id, decision.key),
    SetRunStatus: Coordinator._status,
    EndRun: Coordinator._end,
    FireTriggers: lambda coordinator, run, decision: coordinator.on_triggers(run, decision),
    RetryRun: lambda coordinator, run, decision: coordinator.on_retry(run, decision),
    ContinueLater: Coordinator._continue,
}
# While it closes: what became durable is told, and nothing is begun with it.
_LAST_ACTS: dict[type, Callable[[Coordinator, LiveRun, Any], None]] = {EndRun: Coordinator._tell_end}
