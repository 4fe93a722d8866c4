"""The outside world: what actions do there, by the seed, and how workers bring results late or twice."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from simulation.processes import Process
from simulation.world import World
from wonder.actions.functions import FunctionRegistry
from wonder.actions.protocol import ActionFailed
from wonder.actions.python import current_context
from wonder.app.engine import Engine
from wonder.coordinator.worker import Dispatch, TaskEnded, Work

FUNCTION: Final = "simulation:act"
PATTERN_FUNCTIONS: Final = ("functions:work", "functions:take_long", "functions:use_machine")

_TOKEN: ContextVar[str] = ContextVar("simulated_token")
_HANGS_SECONDS: Final = 3_600.0
_TIMES_MS: Final = (0, 0, 1, 5, 20, 100, 600, 1_500)


class OutsideWorld:
    """Where actions act: each by chance succeeds, fails, hangs, or does not let itself be cancelled."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.fails = True
        self.functions = FunctionRegistry()
        self.functions.register(FUNCTION, self._act)
        for name in PATTERN_FUNCTIONS:
            self.functions.register(name, self._work)

    def connect(self, process: Process, engine: Engine) -> None:
        """Stand between a process and its worker."""
        inner = engine.worker.start

        def start(dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> Work:
            _TOKEN.set(dispatch.token_id)
            return inner(dispatch, self._delivering(process, on_done))

        engine.worker.start = start  # type: ignore[method-assign,assignment]

    def _delivering(self, process: Process, on_done: Callable[[TaskEnded], None]) -> Callable[[TaskEnded], None]:
        fault = self._world.fault_at_task()
        if fault is None:
            return on_done

        def deliver(ended: TaskEnded) -> None:
            self._world.hit(fault)
            if fault.kind != "result_late":
                on_done(ended)
            if fault.kind != "result_after_cancel" or self._world.random.random() < 0.5:
                process.loop.call_later(fault.milliseconds / 1_000, on_done, ended)

        return deliver

    async def _act(self, what: str = "", **given: Any) -> Any:
        """Act in the world, somehow."""
        origin, random = current_context().origin, self._world.random
        self._world.note("effect", run=origin.run_id, token=_TOKEN.get())
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
        return {"n": random.randint(0, 4), "what": what}

    async def _ignore_cancellation(self) -> None:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(self._world.random.choice([0, 0.2, 3]))

    async def _work(self, what: Any = None) -> Any:
        """Do what the pattern samples want done."""
        self._world.note("effect", run=current_context().origin.run_id, token=_TOKEN.get())
        await asyncio.sleep(self._world.random.choice(_TIMES_MS) / 1_000)
        return what
