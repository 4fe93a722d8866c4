"""The outside world: what actions do there, by the seed, and how workers bring results late or twice."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from simulation.faults import Fault
from simulation.processes import Process
from simulation.schedules import FUNCTION as KEEP_TIME
from simulation.world import World
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.protocol import ActionFailed
from wonder.actions.python.kind import current_context
from wonder.app.engine import Engine
from wonder.coordinator.worker import Dispatch, TaskEnded, Work
from wonder.engine.facts import WorkerLost

FUNCTION: Final = "simulation:act"

_HANGS_SECONDS: Final = 3_600.0
_TIMES_MS: Final = (0, 0, 1, 5, 20, 100, 600, 1_500)


class OutsideWorld:
    """Where actions act: each by chance succeeds, fails, hangs, or does not let itself be cancelled."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.fails = True
        self.functions = FunctionRegistry()
        self.functions.register(FUNCTION, self._act)
        self.functions.register(KEEP_TIME, self._keep_time)
        for name in ("functions:work", "functions:use_machine"):
            self.functions.register(name, self._work)
        self.functions.register("functions:take_long", self._take_long)

    def connect(self, process: Process, engine: Engine) -> None:
        """Stand between a process and its worker."""
        begin = engine.worker.start

        def start(dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> Work:
            fault = self._world.fault_at_task()
            if fault is None:
                return begin(dispatch, on_done)
            if fault.kind == "worker_lost":
                return _LostWork(process, fault, dispatch, begin, on_done)
            return begin(dispatch, self._delivering(process, fault, on_done))

        engine.worker.start = start  # type: ignore[method-assign,assignment]

    def _delivering(
        self, process: Process, fault: Fault, on_done: Callable[[TaskEnded], None]
    ) -> Callable[[TaskEnded], None]:
        def deliver(ended: TaskEnded) -> None:
            self._world.hit(fault)
            if fault.kind != "result_late":
                on_done(ended)
            if fault.kind != "result_after_cancel" or self._world.random.random() < 0.5:
                process.loop.call_later(fault.milliseconds / 1_000, on_done, ended)

        return deliver

    async def _act(self, what: str = "", **given: Any) -> Any:
        """Act in the world, somehow."""
        origin = current_context().origin
        self._world.note("effect", run=origin.run_id, token=origin.token_id)
        return {"n": await self._behave(), "what": what}

    async def _keep_time(self, schedule: str, planned: int, more: int = 0) -> None:
        """Act for the time that a schedule has planned, somehow."""
        origin = current_context().origin
        self._world.note("effect", run=origin.run_id, token=origin.token_id)
        self._world.note("scheduled", run=origin.run_id, schedule=schedule, planned=planned)
        await self._behave()

    async def _behave(self) -> int:
        random = self._world.random
        chance = random.random() if self.fails else 0.0
        await asyncio.sleep(random.choice(_TIMES_MS) / 1_000)
        if chance > 0.97:
            await self._ignore_cancellation()
        elif chance > 0.94:
            await asyncio.sleep(_HANGS_SECONDS)
        elif chance > 0.88:
            raise ActionFailed("BROKEN", "it broke for good")
        elif chance > 0.78:
            raise ConnectionError("try again")
        return random.randint(0, 4)

    async def _ignore_cancellation(self) -> None:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(self._world.random.choice([0, 0.2, 3]))

    async def _work(self, what: Any = None) -> Any:
        """Do what the pattern samples want done."""
        origin = current_context().origin
        self._world.note("effect", run=origin.run_id, token=origin.token_id)
        await asyncio.sleep(self._world.random.choice(_TIMES_MS) / 1_000)
        return what

    async def _take_long(self, what: Any = None) -> Any:
        """Do what takes so long that it is always cancelled."""
        origin = current_context().origin
        self._world.note("effect", run=origin.run_id, token=origin.token_id)
        await asyncio.sleep(_HANGS_SECONDS)
        return what


class _LostWork:
    """A task whose worker gets lost: nobody ever hears its result, and perhaps it acts on for a while."""

    def __init__(
        self,
        process: Process,
        fault: Fault,
        dispatch: Dispatch,
        begin: Callable[[Dispatch, Callable[[TaskEnded], None]], Work],
        on_done: Callable[[TaskEnded], None],
    ) -> None:
        self._process, self._fault, self._token_id, self._on_done = process, fault, dispatch.token_id, on_done
        self._is_over = False
        # Lost in telling its result, or at its time, whichever comes first.
        self._work = begin(dispatch, lambda ended: self._lose())
        process.loop.call_later(fault.milliseconds / 1_000, self._lose)

    def cancel(self) -> None:
        """Abort it."""
        self._is_over = True
        self._work.cancel()

    def _lose(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        world = self._process.world
        world.hit(self._fault)
        if world.random.random() < 0.5:
            self._work.cancel()
        # What the coordinator is told by its worker is how tasks end; that a worker was lost is no other news to it.
        self._on_done(WorkerLost(self._token_id))  # type: ignore[arg-type]
