"""Scenarios: one simulation from its seed to what the checkers say of it."""

import gc
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final
from unittest import mock

from simulation.clients import Clients, Wish, plan_schedule_wishes, plan_wishes
from simulation.databases import Template, Templates
from simulation.definitions import pattern_of
from simulation.faults import Fault, plan_faults, plan_play_faults, plan_schedule_faults
from simulation.outside import OutsideWorld
from simulation.playing import Playing
from simulation.processes import Machine, same_order
from simulation.schedules import random_schedules
from simulation.store import DirectStore, at_once, open_connection
from simulation.world import World
from wonder.checker.checking import Count, check_runs
from wonder.checker.outside import check_log
from wonder.engine import limits, turn
from wonder.errors import WonderError
from wonder.observe.verify import verify_run

NODES_MAX: Final = 12
OF_RUNS: Final = ("parent_run_id", "retry_of_run_id", "forked_from_run_id")
TRIGGERED: Final = {"triggered": "attempt = 0", "retried by a trigger": "attempt > 0"}
SCHEDULED: Final = {
    "scheduled": "started",
    "skipped by a schedule": "skipped",
    "missed by a schedule": "last_missed_ms IS NOT NULL",
}
# Seeds that follow one another share a definition, which takes as long to make as a simulation.
_SHARE: Final = 4
_PERIOD_MS: Final = 6_000
_SETTLED_AFTER_MS: Final = 300_000
_EVENTS_MAX: Final = 2_500
_LOOK_MS: Final = 500
_STEPS_MAX: Final = 150_000
# More than one, because a client may be about to ask for something.
_QUIET_LOOKS: Final = 2
_COLLECT_EVERY: Final = 10


@dataclass(frozen=True)
class Scenario:
    """What happens in a simulation, each part of which may be left out to make it smaller."""

    seed: int
    nodes_max: int
    wishes: tuple[Wish, ...]
    faults: tuple[Fault, ...]
    pattern: int | None = None
    """The pattern sample that is played, instead of anything that is wished for."""


@dataclass
class Outcome:
    """What came of a simulation."""

    violations: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    """Types of events."""
    constructs: Counter[str] = field(default_factory=Counter)
    """What the definitions have, and which runs came of others."""
    runs: int = 0
    events: int = 0
    operations: int = 0


def scenario_of(seed: int, nodes_max: int = NODES_MAX) -> Scenario:
    """Give the scenario of a seed; of those with a pattern sample, every other one plays it."""
    pattern = pattern_of(seed // _SHARE)
    if pattern is not None and seed % 2:
        return play_of(pattern, seed)
    random = Random(f"scenario {seed}")
    wishes, faults = plan_wishes(random), plan_faults(random)
    if pattern is None and random_schedules(seed // _SHARE):
        wishes += plan_schedule_wishes(random)
        faults += plan_schedule_faults(random)
    return Scenario(seed, nodes_max, tuple(wishes), tuple(faults))


def play_of(pattern: int, seed: int) -> Scenario:
    """Give the scenario in which a pattern sample is played, with the faults of a seed."""
    return Scenario(seed, NODES_MAX, (), tuple(plan_play_faults(Random(f"play {seed}"))), pattern)


class Simulator:
    """Runs scenarios, one after another, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._templates = Templates(folder)
        self._count = 0

    def run(self, scenario: Scenario, trace: Callable[[str], None] | None = None) -> Outcome:
        """Run a scenario to its end, and look at what is there."""
        seed = scenario.seed
        if scenario.pattern is None:
            template = self._templates.get(seed // _SHARE, scenario.nodes_max, queues=seed % 5 == 0)
        else:
            template = self._templates.get_played(scenario.pattern)
        for old in self._folder.glob("simulated.db*"):
            old.unlink()
        path = self._folder / "simulated.db"
        path.write_bytes(template.content)
        self._count += 1
        gc.disable()
        try:
            with same_order(), bounds_of(scenario):
                return _Simulation(scenario, template, path, trace).run()
        finally:
            if self._count % _COLLECT_EVERY == 0:
                with _quiet():
                    # What is left of simulations is all young: looking at everything would take longer than one.
                    gc.collect(1)
            gc.enable()


@contextmanager
def bounds_of(scenario: Scenario) -> Iterator[None]:
    """Give runs in every third simulation of random workflows bounds that only large runs would reach.

    Their workers get few tasks at a time, and even a short turn is handed on in parts.
    """
    seed = scenario.seed
    with ExitStack() as patches:
        if scenario.pattern is None and seed % 3 == 0:
            patches.enter_context(mock.patch.object(limits, "TASKS_MAX", 1 + seed % 5))
            patches.enter_context(mock.patch.object(turn, "PART", 1 + seed % 7))
        yield


class _Simulation:
    def __init__(self, scenario: Scenario, template: Template, path: Path, trace: Callable[[str], None] | None) -> None:
        self._scenario, self._path = scenario, path
        self._world = World(scenario.seed, scenario.faults)
        self._world.trace = trace
        outside = OutsideWorld(self._world)
        self._outside = outside
        self._machine = Machine(self._world, path, template.home, outside.functions)
        self._machine.on_engine = outside.connect
        self._clients = Clients(self._machine, template)
        self._template = template

    def run(self) -> Outcome:
        outcome = Outcome()
        heard = _Listener(self._machine.errors, self._world)
        logger = logging.getLogger("wonder")
        logger.addHandler(heard)
        was = logger.propagate, logger.level
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        try:
            self._play()
            outcome.violations += self._machine.errors
        finally:
            logger.removeHandler(heard)
            logger.propagate = was[0]
            logger.setLevel(was[1])
            self._world.trace = None
            with _quiet():
                self._clients.bury()
                self._machine.bury()
        self._check(outcome)
        outcome.constructs.update(self._template.constructs)
        outcome.happened = self._world.happened
        outcome.operations = self._world.operations
        return outcome

    def _play(self) -> None:
        world, pattern = self._world, self._scenario.pattern
        self._machine.start()
        playing = pattern and Playing(self._machine, self._clients.visitor, self._template, pattern)
        for wish in self._scenario.wishes:
            world.after(wish.at_ms, lambda wish=wish: self._clients.begin(wish))  # type: ignore[misc]
        last_ms = max((wish.at_ms for wish in self._scenario.wishes), default=0)
        while world.now_ms < _PERIOD_MS and (world.now_ms < last_ms + _LOOK_MS or self._is_busy()):
            self._go_on(_LOOK_MS)
        world.has_faults = False
        self._outside.fails = False
        world.tell("from here on nothing fails")
        quiet, until_ms = 0, world.now_ms + _SETTLED_AFTER_MS
        while quiet < _QUIET_LOOKS and world.now_ms < until_ms and world.steps < _STEPS_MAX:
            if not playing or playing.is_over:
                self._clients.settle()
            self._go_on(1_000)
            quiet = 0 if self._is_busy() or (playing and not playing.is_over) else quiet + 1
        world.note("at_rest", at=world.wall_ms())

    def _is_busy(self) -> bool:
        clients, current = self._clients, self._machine.current.loop
        is_moving = clients.have_requests or clients.have_triggers or clients.have_schedules
        return current.is_paused or bool(clients.live_runs()) or is_moving

    def _go_on(self, milliseconds: int) -> None:
        world, until_ms = self._world, self._world.now_ms + milliseconds
        while world.now_ms < until_ms and world.steps < _STEPS_MAX and world.step():
            if world.events > _EVENTS_MAX and self._scenario.pattern is None:
                # So much that it would go on for hours; a play ends by itself, and has to end as it should.
                world.events = 0
                world.happened["cut short"] += 1
                self._clients.cancel_all()

    def _check(self, outcome: Outcome) -> None:
        connection = open_connection(self._path)
        try:
            at_once(self._look(DirectStore(self._path, connection), outcome))
        finally:
            connection.close()

    async def _look(self, store: DirectStore, outcome: Outcome) -> None:
        count = Count()
        jumped = any(line["kind"] == "clock_set" for line in self._world.log)
        async for violation in check_runs(store, count, trusts_clock=not jumped):
            outcome.violations.append(str(violation))
        async for violation in check_log(store, self._world.log):
            outcome.violations.append(str(violation))
        for (run_id,) in await store.query("SELECT id FROM runs ORDER BY id"):
            outcome.violations += [f"verify: run {run_id!s}: {fault}" for fault in await verify_run(store, str(run_id))]
        for code, run_id in await store.query(
            "SELECT error, id FROM runs WHERE error LIKE '%ENGINE_ERROR%' OR error LIKE '%RUN_STUCK%'"
        ):
            outcome.violations.append(f"run {run_id!s} failed by a fault of ours: {code!s}")
        outcome.runs, outcome.events = count.runs, count.events
        for column in OF_RUNS:
            ((number,),) = await store.query(f"SELECT count({column}) FROM runs")
            outcome.constructs[column] += int(str(number))
        for name, wanted in TRIGGERED.items():
            ((number,),) = await store.query(f"SELECT count(*) FROM triggered_runs WHERE {wanted}")
            outcome.constructs[name] += int(str(number))
        for name, wanted in SCHEDULED.items():
            ((number,),) = await store.query(f"SELECT coalesce(sum({wanted}), 0) FROM schedule_states")
            outcome.constructs[name] += int(str(number))
        for type, number in await store.query("SELECT type, count(*) FROM events GROUP BY type"):
            outcome.seen[str(type)] += int(str(number))


@contextmanager
def _quiet() -> Iterator[None]:
    """Hear nothing of what dead processes say when they are taken away."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    logging.disable()
    try:
        with warnings.catch_warnings():
            # One that had not begun yet says so.
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        logging.disable(logging.NOTSET)
        sys.unraisablehook = hook


class _Listener(logging.Handler):
    """Hears what is logged: an exception that is none of Wonder's own is a fault of ours."""

    def __init__(self, errors: list[str], world: World) -> None:
        super().__init__()
        self._errors, self._world = errors, world

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        self._world.tell(f"log: {record.getMessage()}")
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, WonderError):
            self._errors.append(f"logged: {record.getMessage()}: {type(error).__name__}: {error}")


def describe(scenario: Scenario) -> Sequence[str]:
    """Say in words what happens in a scenario."""
    return [
        *([f"pattern {scenario.pattern} is played"] if scenario.pattern else []),
        *(f"wish {n}: {wish}" for n, wish in enumerate(scenario.wishes)),
        *(f"fault {n}: {fault}" for n, fault in enumerate(scenario.faults)),
    ]
