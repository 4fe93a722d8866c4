"""Many seeds: each is simulated, counted, and, where it fails, told with the command that replays it."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from simulation.databases import CONSTRUCTS
from simulation.faults import KINDS, Fault
from simulation.plays import PLAYS
from simulation.scenario import (
    OF_RUNS,
    SCHEDULED,
    TRIGGERED,
    Outcome,
    Scenario,
    Simulator,
    describe,
    play_of,
    scenario_of,
)
from simulation.shrinking import replay_command, shrink

FAILURES_MAX: Final = 5
_MEMORY: Final = Path("/dev/shm")


@dataclass
class Totals:
    """What was simulated so far."""

    seeds: int = 0
    runs: int = 0
    events: int = 0
    operations: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    constructs: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one simulation."""
        self.seeds += 1
        self.runs += outcome.runs
        self.events += outcome.events
        self.operations += outcome.operations
        self.happened += outcome.happened
        self.seen += outcome.seen
        self.constructs += outcome.constructs

    def join(self, other: "Totals") -> None:
        """Count those of another."""
        self.seeds += other.seeds
        self.runs += other.runs
        self.events += other.events
        self.operations += other.operations
        self.happened += other.happened
        self.seen += other.seen
        self.constructs += other.constructs
        self.failures += other.failures

    def lines(self) -> Iterator[str]:
        """Say what was simulated."""
        yield f"{self.seeds} seeds, {self.runs} runs, {self.events} events checked, {self.operations} operations"
        yield "faults: " + ", ".join(f"{kind} {self.happened[kind]}" for kind in KINDS)
        yield f"plays that came to their end: {self.happened['played']}; cut short: {self.happened['cut short']}"
        yield "constructs: " + ", ".join(
            f"{name} {self.constructs[name]}" for name in [*CONSTRUCTS, *OF_RUNS, *TRIGGERED, *SCHEDULED]
        )
        yield "events: " + ", ".join(f"{type} {number}" for type, number in sorted(self.seen.items()))


def simulate(first: int, last: int, failures_max: int = FAILURES_MAX) -> Totals:
    """Simulate the seeds from the first to before the last; a failure is told with what replays it."""
    return simulate_all(map(scenario_of, range(first, last)), failures_max)


def play(pattern: int, rounds: int) -> Totals:
    """Play a pattern sample so often, each time with other faults."""
    return simulate_all(play_of(pattern, number * len(PLAYS) + pattern) for number in range(rounds))


def simulate_all(scenarios: Iterable[Scenario], failures_max: int = FAILURES_MAX) -> Totals:
    """Simulate scenarios; a failure is made smaller, and told with what replays it."""
    totals = Totals()
    with simulator() as simulation:
        for scenario in scenarios:
            outcome = simulation.run(scenario)
            totals.add(outcome)
            if outcome.violations:
                totals.failures.append(_told(simulation, scenario))
            if len(totals.failures) >= failures_max:
                break
    return totals


def crash_everywhere(seed: int) -> Totals:
    """Simulate a seed without its faults, once for a crash before each operation, and once for one after it."""
    totals, whole = Totals(), replace(scenario_of(seed), faults=())
    with simulator() as simulation:
        for number in range(1, simulation.run(whole).operations + 1):
            for when in ("before", "after"):
                outcome = simulation.run(replace(whole, faults=(crash_at(when, number),)))
                totals.add(outcome)
                if outcome.violations:
                    command = f"python -m simulation --seed {seed} --crash {when}:{number}"
                    totals.failures.append("\n  ".join([f"fails; replay: {command}", *outcome.violations[:10]]))
    return totals


def crash_at(when: str, number: int) -> Fault:
    """Make a crash before or after an operation."""
    return Fault("crash_before" if when == "before" else "crash_after", number, 0)


@contextmanager
def simulator() -> Iterator[Simulator]:
    """Give a simulator in a folder in memory, if there is such a thing, which is removed in the end."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Simulator(Path(folder))


def _told(simulation: Simulator, scenario: Scenario) -> str:
    smallest = shrink(scenario, lambda smaller: bool(simulation.run(smaller).violations))
    violations = simulation.run(smallest).violations
    shown = [f"  {violation}" for violation in violations[:10]]
    return "\n".join([f"seed {scenario.seed} fails; replay: {replay_command(smallest)}", *describe(smallest), *shown])
