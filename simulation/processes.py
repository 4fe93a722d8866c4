"""Processes: the real claim with its real engine, each on a loop, a store and a connection of its own."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from simulation.faults import Fault
from simulation.loop import SimulatedLoop
from simulation.store import SimulatedStore, open_connection
from simulation.world import World
from wonder.actions import registry
from wonder.actions.functions.functions import FunctionRegistry
from wonder.app import engine
from wonder.app.application import Application
from wonder.app.engine import Engine
from wonder.app.engine_claim import EngineClaim
from wonder.coordinator.live import LiveRun
from wonder.engine import limits
from wonder.errors import WonderError
from wonder.executor.environment import SystemEnvironment
from wonder.executor.executor import TaskUnderWay
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Fence, Row
from wonder.storage.tenancy import Home

# Every engine looks through all installed packages, which takes longer than most simulations.
_POINTS = cache(registry.entry_points)  # type: ignore[attr-defined]
# At ten looks a second, half of all operations would be looks for requests, and as many of the faults would meet them.
_REQUESTS_SECONDS: Final = 0.4
_RESTART_MS: Final = (0, 1, 5, 50, 500)
_ENDED_SINGLY_MAX: Final = 3
_AGAIN_SECONDS: Final = 0.1
_SLOW_TURN_MS: Final = 11.0


@contextmanager
def same_order() -> Iterator[None]:
    """Have sets gone through in the same order each time: by addresses, which are their hashes, it would be another.

    Engines also begin faster here, look for requests less often, and end very few tokens as they else end very many.
    """
    kinds: tuple[Any, ...] = (LiveRun, TaskUnderWay)
    for kind in kinds:
        kind.__hash__ = lambda self: 0
    before = registry.entry_points, engine._REQUESTS_SECONDS  # type: ignore[attr-defined]
    registry.entry_points, engine._REQUESTS_SECONDS = _POINTS, _REQUESTS_SECONDS  # type: ignore[attr-defined,assignment]
    singly_max, limits.ended_singly_max = limits.ended_singly_max, _ENDED_SINGLY_MAX
    try:
        yield
    finally:
        limits.ended_singly_max = singly_max
        registry.entry_points, engine._REQUESTS_SECONDS = before  # type: ignore[attr-defined]
        for kind in kinds:
            del kind.__hash__


class SimulatedEnvironment(SystemEnvironment):
    """Time and chance of the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lag_ms = 0.0

    def now_ms(self) -> int:
        """Return the time of day, which jumps."""
        return self._world.wall_ms()

    def monotonic_ms(self) -> float:
        """Return a time that never goes back; now and then the machine is slow, so that a turn takes too long."""
        if self._world.random.random() < 0.01:
            self._lag_ms += _SLOW_TURN_MS
        return self._world.now_ms + self._lag_ms

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._world.random.random()


class SimulatedClaim(EngineClaim):
    """A claim that only the process makes that the world has appointed, as a lock or a deadline sees to outside."""

    def __init__(self, process: "Process") -> None:
        super().__init__(process.store, process.machine.functions, process.world.new_id)
        self._process = process

    async def _try(self) -> None:
        if self._process.is_appointed:
            await super()._try()

    def _new_engine(self, lease: Lease) -> Engine:
        process = self._process
        process.world.note("claimed", owner=lease.owner_id, epoch=lease.epoch)
        environment = SimulatedEnvironment(process.world)
        made = Engine(process.store, lease, self.functions, self._new_id, environment=environment)
        process.machine.on_engine(process, made)
        return made

    def bury(self) -> None:
        """Let go of the lock of a process that is gone."""
        if self._lease:
            self._lease.abandon()


class Process:
    """One process; without functions it is one that runs no engine, and hands its wishes in as requests."""

    is_appointed = True
    """Whether it may run the engine."""
    is_mortal = True
    """Whether it crashes and pauses."""

    def __init__(self, machine: "Machine", name: str) -> None:
        self.machine, self.world, self.name = machine, machine.world, name
        self.loop = SimulatedLoop(self.world, name)  # type: ignore[abstract]
        self.world.add(self.loop)
        self.loop.on_error = machine.on_error
        self.has_fast_disk = self.world.random.random() < 0.5
        self.sends_after_death = False
        self._connection = open_connection(machine.path)
        self.store = SimulatedStore(self, machine.path, self._connection, machine.reader)
        self.wonder = Application(self.store, machine.home, self._clock, self.world.new_id)
        self.wonder.claim = self.claim = SimulatedClaim(self)

    def _clock(self) -> str:
        seen = datetime.fromtimestamp(self.world.wall_ms() / 1_000, UTC)
        return seen.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Do something in this process."""
        return self.loop.create_task(work)

    def begin(self) -> None:
        """Run the engine."""
        self.spawn(self._begin())

    async def _begin(self) -> None:
        # As a program would that is started again whenever it could not begin.
        try:
            await self.claim.take()
        except Exception as error:
            self.world.tell(f"{self.name} can't begin: {error}")
            self.machine.look_at(error)
            self.loop.call_later(_AGAIN_SECONDS, self.begin)

    def wrote(self, rows: Sequence[Row], fence: Fence) -> None:
        """Note the events that a commit of this process has written."""
        for run_id, first, last, *_ in rows:
            self.world.events += int(str(last)) - int(str(first)) + 1
            self.world.note("wrote", run=run_id, sequence=last, epoch=fence.parameters[2])

    def suffer_before(self, fault: Fault) -> bool:
        """Have a fault of the process come before an operation; False if it is not carried out."""
        if not self.is_mortal:
            return True
        if fault.does in ("crash_before", "down"):
            if self.loop.is_dead:
                return False
            self.world.hit(fault)
            self.machine.crash(self, fault.milliseconds if fault.kind == "down" else None)
            return False
        if fault.kind in ("paused", "taken_over"):
            self.world.hit(fault)
            self.machine.pause(self, fault.milliseconds, take_over=fault.kind == "taken_over")
        elif fault.kind in ("clock_forward", "clock_back"):
            self.world.hit(fault)
            self.world.note("clock_set")
            self.world.jump_ms += fault.milliseconds if fault.kind == "clock_forward" else -fault.milliseconds
        return True

    def suffer_after(self, fault: Fault) -> bool:
        """Have a crash come after an operation; False if its answer is never heard."""
        if fault.does == "crash_after" and self.is_mortal:
            self.world.hit(fault)
            self.machine.crash(self)
            return False
        return True

    def die(self) -> None:
        """End without any clean-up; what its connection has begun is rolled back."""
        self.loop.die()
        # A whole commit may have been sent already, and is carried out later; what has only begun is not.
        self.sends_after_death = not self._connection.in_transaction and self.world.random.random() < 0.5
        self.disconnect()

    def disconnect(self) -> None:
        """Roll back what is open, as the end of a process does."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def bury(self) -> None:
        """Let go of all that is left of it."""
        self.store.bury()
        self.claim.bury()
        self.loop.bury()
        self._connection.close()


class Machine:
    """Where the processes run: starts a new one when one is gone."""

    def __init__(self, world: World, path: Path, home: Home, functions: FunctionRegistry) -> None:
        self.world, self.path, self.home, self.functions = world, path, home, functions
        self.reader: apsw.Connection = open_connection(path, only_reads=True)
        self.processes: list[Process] = []
        self.on_engine: Callable[[Process, Engine], None] = lambda process, engine: None
        """Told of every engine before it begins."""
        self.errors: list[str] = []
        self._count = 0

    @property
    def current(self) -> Process:
        """The process that runs the engine, or is about to."""
        return self.processes[-1]

    def start(self) -> None:
        """Start a process that takes over."""
        if self.processes:
            self.processes[-1].is_appointed = False
        self._count += 1
        self.world.tell(f"process {self._count} starts")
        process = Process(self, f"p{self._count}")
        self.processes.append(process)
        process.begin()

    def crash(self, process: Process, down_ms: int | None = None) -> None:
        """End a process; another one starts soon, or after so long, unless it did already."""
        self.world.note("crash")
        process.die()
        if process is self.current:
            restart_ms = self.world.random.choice(_RESTART_MS) if down_ms is None else down_ms
            self.world.after(restart_ms, lambda: self._start_after(process))

    def _start_after(self, process: Process) -> None:
        if process is self.current:
            self.start()

    def pause(self, process: Process, milliseconds: int, *, take_over: bool) -> None:
        """Let a process stand still for a time, in which another one may take over."""
        process.loop.is_paused = True
        self.world.after(milliseconds, process.loop.go_on)
        if take_over:
            # What it did may be done again by the one that takes over.
            self.world.note("crash")
            self.world.after(self.world.random.randint(0, milliseconds), lambda: self._start_after(process))

    def on_error(self, context: dict[str, Any]) -> None:
        """Hear of an error that nobody has taken."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.look_at(error, context.get("message", ""))
        else:
            self.errors.append(str(context.get("message")))

    def look_at(self, error: BaseException, where: str = "") -> None:
        """Keep an error that no fault explains."""
        if not isinstance(error, (WonderError, asyncio.CancelledError)):
            self.errors.append(f"{where} {type(error).__name__}: {error}".strip())

    def bury(self) -> None:
        """Let go of all processes."""
        for process in self.processes:
            process.bury()
        self.reader.close()
