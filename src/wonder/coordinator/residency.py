"""Residency: which runs are in memory, and how parked ones come back.

A run is in memory while something is under way with it. Otherwise it is parked: only its rows exist, and it is loaded
when a fact comes for it. A run is loaded once, however many ask for it at the same time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from wonder.coordinator.background import Background
from wonder.coordinator.live import LiveRun
from wonder.coordinator.stopping import StopFlag

Read = Callable[[Sequence[str]], Awaitable[list[LiveRun]]]
TakeUp = Callable[[Sequence[LiveRun], Sequence[str]], None]
Loading = asyncio.Task[dict[str, LiveRun]]


class Residency:
    """The runs in memory, and those that are being loaded."""

    def __init__(self, stop: StopFlag, background: Background, read: Read, take_up: TakeUp) -> None:
        """Make it empty; `read` gives runs from their rows, `take_up` goes on with those that were loaded."""
        self._stop, self._background, self._read, self._take_up = stop, background, read, take_up
        self._live: dict[str, LiveRun] = {}
        self._loading: dict[str, Loading] = {}
        self.set_aside: set[str] = set()
        """Runs that are about to be quarantined: nothing of them is begun (quarantine.py)."""
        self.held_back: set[str] = set()
        """Runs that are not loaded for a while, because one of them may have killed its process."""
        self.released: set[str] = set()
        """Quarantined runs that a person has just resumed: they may be loaded."""

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveRun]:
        return iter(self._live.values())

    def adopt(self, run: LiveRun) -> None:
        """Take a run into memory."""
        self._live[run.id] = run

    def has(self, run_id: str) -> bool:
        """Say whether a run is in memory now."""
        return run_id in self._live

    def is_live(self, run_id: str) -> bool:
        """Say whether a run is in memory, or about to be."""
        return run_id in self._live or run_id in self._loading

    def find(self, run_id: str) -> LiveRun | None:
        """Return a run that is in memory, ended or not."""
        return self._live.get(run_id)

    def is_only(self, run: LiveRun) -> bool:
        """Say whether no other run is in memory."""
        return len(self._live) == 1 and run.id in self._live

    async def get(self, run_id: str) -> LiveRun | None:
        """Return a live run, loading it if it is parked; None if there is none or it has ended.

        It is in memory when this returns, and may be parked again whenever the caller waits for something;
        `rest` lets go of it.
        """
        while True:
            self._stop.check()
            if run := self._live.get(run_id):
                return run
            under_way = self._loading.get(run_id)
            run = (await self.loaded(under_way or self.begin_loading([run_id]))).get(run_id)
            # A load that began before we asked may not have seen a run that was stored since: then we look ourselves.
            if run is None and under_way is None:
                return None

    async def insist_on(self, run_id: str) -> LiveRun | None:
        """Return a live run, however long the database keeps it from being loaded."""
        return await self._background.insist(f"run {run_id} can't be loaded", lambda: self.get(run_id))

    async def hold(self, run_ids: Iterable[str]) -> list[LiveRun]:
        """Return several runs that stay in memory, all at once, until each is let go with `let_go`."""
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
        """Load many runs that are not in memory, and go on with them; returns how many there were."""
        wanted = [run_id for run_id in run_ids if not self.is_live(run_id)]
        if not wanted:
            return 0
        loaded = await self.loaded(self.begin_loading(wanted))
        if rest:
            for run in loaded.values():
                self.rest(run)
        return len(loaded)

    def rest(self, run: LiveRun) -> None:
        """Park a run if it has nothing to do."""
        if run.may_park and self._live.get(run.id) is run:
            del self._live[run.id]

    def drop(self, run: LiveRun) -> bool:
        """Give up what is in memory of a run, whose rows are the truth now; False if that was done before."""
        if run.dropped:
            return False
        run.dropped = True
        if self._live.get(run.id) is run:
            del self._live[run.id]
        return True

    async def without_loading(self, run_id: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do something with the rows of a run, which nobody loads meanwhile; False if it is in memory, or about to be.

        What has to follow from it is durable when this returns.
        """
        self._stop.check()
        if self.is_live(run_id):
            return False

        async def apart() -> dict[str, LiveRun]:
            try:
                await work()
            finally:
                # Those who wait for it to be loaded look again.
                if self._loading.get(run_id) is task:
                    del self._loading[run_id]
            return {}

        task = asyncio.get_running_loop().create_task(apart())
        self._loading[run_id] = task
        await self.loaded(task)
        return True

    def begin_loading(self, run_ids: Sequence[str], first: Callable[[], Awaitable[None]] | None = None) -> Loading:
        """Begin to load runs: at once, or as often as it takes after `first` is done."""
        task = asyncio.get_running_loop().create_task(self._load(run_ids, first))
        for run_id in run_ids:
            self._loading[run_id] = task
        return task

    async def loaded(self, loading: Loading) -> dict[str, LiveRun]:
        """Wait for runs that are being loaded."""
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled():
                self._stop.check()  # It was broken off because we close, which is no reason to cancel who waits.
            raise

    def clear(self) -> None:
        """Give up all runs: this process writes nothing any more."""
        for run in self._live.values():
            run.dropped = True
        self._live.clear()

    async def close(self) -> None:
        """Break off all loading."""
        for loading in set(self._loading.values()):
            loading.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    async def _load(self, run_ids: Sequence[str], first: Callable[[], Awaitable[None]] | None) -> dict[str, LiveRun]:
        task = asyncio.current_task()
        try:
            if first is not None:
                await first()
                runs = await self._background.insist("runs can't be loaded again", lambda: self._read(run_ids))
            else:
                runs = await self._read(run_ids)
        finally:
            for run_id in run_ids:
                if self._loading.get(run_id) is task:
                    del self._loading[run_id]
        self._stop.check()
        # One that was started while we looked for it is ahead of its rows.
        runs = [run for run in runs if run.id not in self._live]
        for run in runs:
            self.adopt(run)
        self._take_up(runs, run_ids)
        return {run.id: run for run in runs}

    async def _pinned(self, run_id: str) -> LiveRun | None:
        run = await self.get(run_id)
        if run is not None:
            run.pins += 1
        return run
