"""Slices of all kinds of faults, each small enough that a soak comes round to all of them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from proof.crashes.scenarios import scenarios
from proof.rooms import room_of

_AGAIN: Final = re.compile(r"(?:again: |replay: |^\s+)(python -m (?:proof|simulation) .*)$", re.MULTILINE)
_TOLD: Final = re.compile(r"^(\d+) violations?$|\b(\d+) violations\b", re.MULTILINE)


@dataclass(frozen=True)
class Slice:
    """One program that tries one kind of fault so often."""

    kind: str
    of: str
    """What is counted."""
    count: int
    seed: int
    command: tuple[str, ...]
    counted: Callable[[str], int] | None = None
    """Reads the count out of what was printed, where it is not the one that was asked for."""
    hangs_seconds: float = 600.0
    """A program that takes longer than this hangs."""

    def count_in(self, printed: str) -> int:
        """Say how many there were."""
        return self.count if self.counted is None else self.counted(printed)

    def violations_in(self, printed: str) -> int:
        """Say how many violations a slice that failed has told of: at least one, whatever it printed."""
        told = [int(number) for found in _TOLD.findall(printed) for number in found if number]
        return max(1, *told[-1:], printed.count("VIOLATION"), printed.count("fails; replay: "))

    def again(self, printed: str) -> list[str]:
        """Give the commands that replay what failed: those that it printed, or its own."""
        return sorted(set(_AGAIN.findall(printed))) or [f"python -m {' '.join(self.command)}"]


def slices_of(seed: int, number: int, *, smallest: bool, only: Sequence[str]) -> Iterator[Slice]:
    """Give the slices of one round; some kinds take turns with what they are tried on."""
    for kind in KINDS:
        if kind in only:
            yield _MAKES[kind](seed, number, smallest)


def _proof(kind: str, of: str, usual: int, least: int) -> "_Make":
    """Make slices that take a count and a seed, and nothing else."""

    def make(seed: int, number: int, smallest: bool) -> Slice:
        times = least if smallest else usual
        return Slice(kind, of, times, seed, ("proof", kind, "--count", str(times), "--seed", str(seed)))

    return make


def _simulation(seed: int, number: int, smallest: bool) -> Slice:
    # Seeds of a round must not be those of the next one.
    times, first = 5 if smallest else 100, seed * 100
    return Slice("simulation", "seeds", times, first, ("simulation", "--seeds", f"{first}-{first + times}"))


def _crash_points(seed: int, number: int, smallest: bool) -> Slice:
    database = "postgresql" if number % 3 == 2 and not smallest else "sqlite"
    command = ["proof", "crash_points", "--database", database, "--reads", "never", "--seed", str(seed)]
    command += ["--count", "1" if smallest else "10", "--only"]
    command += ["everything"] if smallest else Random(seed).sample(sorted(scenarios()), 8)
    return Slice("crash_points", database, 0, seed, tuple(command), _points_played)


def _points_played(printed: str) -> int:
    sums = [line.split() for line in printed.splitlines() if line.startswith("all ")]
    return int(sums[-1][2]) if sums else 0


def _disk_full(seed: int, number: int, smallest: bool) -> Slice:
    kind = "disk" if number % 2 == 0 and _may_mount() else "limit"
    times = 1 if smallest else 6
    command = ("proof", "disk_full", "--kind", kind, "--count", str(times), "--seed", str(seed))
    return Slice("disk_full", kind, times, seed, command)


@cache
def _may_mount() -> bool:
    try:
        with room_of("disk"):
            return True
    except OSError:
        return False


def _load(seed: int, number: int, smallest: bool) -> Slice:
    database = "postgresql" if number % 2 else "sqlite"
    command = ["proof", "load", "--database", database, "--seed", str(seed), "--minutes", "0.1" if smallest else "1"]
    return Slice("load", database, 0, seed, (*command, *(["--rate", "20"] if smallest else [])), _runs_loaded)


def _runs_loaded(printed: str) -> int:
    found = re.search(r"\bruns (\d+)", printed)
    return int(found[1]) if found else 0


def _tests(seed: int, number: int, smallest: bool) -> Slice:
    """Have tests try ten times as much as in the suite, with other values than there."""
    chosen = (
        ["tests/language/test_targets.py"] if smallest else ["tests/language", "tests/definitions", "tests/context"]
    )
    command = ("pytest", "--deep", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", *chosen)
    return Slice("tests", "tests", 0, seed, command, _tests_passed, 1_800.0)


def _compiled(seed: int, number: int, smallest: bool) -> Slice:
    """Compile all that is compiled in a wheel, and run the tests of it, in the first round: nothing in it is random."""
    chosen = ["-k", "stay_as_they_are"] if smallest or number else []
    command = ("pytest", "--deep", "-p", "no:cacheprovider", "tests/compiled", *chosen)
    return Slice("compiled", "tests", 0, seed, command, _tests_passed, 3_600.0)


def _tests_passed(printed: str) -> int:
    found = re.search(r"\b(\d+) passed\b", printed)
    return int(found[1]) if found else printed.count(".")


_Make = Callable[[int, int, bool], Slice]
_MAKES: Final[dict[str, _Make]] = {
    "simulation": _simulation,
    "kills": _proof("kills", "kills", 30, 2),
    "crash_points": _crash_points,
    "power_loss": _proof("power_loss", "images", 40, 4),
    "zombies": _proof("zombies", "processes", 10, 1),
    "postgres_kills": _proof("postgres_kills", "kills", 6, 1),
    "cuts": _proof("cuts", "connections", 12, 2),
    "clocks": _proof("clocks", "processes", 8, 2),
    "disk_full": _disk_full,
    "load": _load,
    "tests": _tests,
    "compiled": _compiled,
}
KINDS: Final = tuple(_MAKES)
