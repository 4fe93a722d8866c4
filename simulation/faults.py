"""Faults: what goes wrong, and at which operation or task; a plan by a seed, from which each can be taken out."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

FaultKind = Literal[
    "fails",
    "answer_lost",
    "slow",
    "crash_before",
    "crash_after",
    "paused",
    "taken_over",
    "clock_forward",
    "clock_back",
    "commit_fails",
    "commit_answer_lost",
    "commit_crash_before",
    "commit_crash_after",
    "result_late",
    "result_doubled",
    "result_after_cancel",
    "worker_lost",
    "down",
]
OF_OPERATIONS: Final[tuple[FaultKind, ...]] = (
    *("fails", "fails", "answer_lost", "answer_lost", "slow", "crash_before", "crash_before"),
    *("crash_after", "crash_after", "paused", "taken_over", "taken_over", "clock_forward", "clock_back"),
)
# Numbered by themselves: of all operations most are looks, and a fault at one of those hits no decision of a run.
OF_COMMITS: Final[tuple[FaultKind, ...]] = (
    *("commit_fails", "commit_answer_lost", "commit_crash_before", "commit_crash_after"),
)
OF_TASKS: Final[tuple[FaultKind, ...]] = ("result_late", "result_doubled", "result_after_cancel", "worker_lost")
# Only where there are schedules: their times are missed meanwhile, and nothing else minds.
OF_SCHEDULES: Final[tuple[FaultKind, ...]] = ("down", "down", "clock_forward", "crash_after", "commit_crash_after")
KINDS: Final = tuple(dict.fromkeys((*OF_OPERATIONS, *OF_COMMITS, *OF_TASKS, *OF_SCHEDULES)))
_FAULTS_MAX: Final = 8
_TASK_FAULTS_MAX: Final = 4
_LOST_IN_A_ROW: Final = 6
_OPERATIONS: Final = 160
_TASKS: Final = 12
_COMMITS: Final = 15
_COMMITS_OF_PLAYS: Final = 9


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong at the n-th operation of the store, or the n-th task that is given to a worker."""

    kind: FaultKind
    number: int
    milliseconds: int
    """How slow, how late, how long paused or down, or how far the clock jumps."""

    @property
    def of(self) -> str:
        """What its number counts."""
        return "task" if self.kind in OF_TASKS else "commit" if self.kind in OF_COMMITS else "operation"

    @property
    def does(self) -> str:
        """What happens, wherever it does."""
        return self.kind.removeprefix("commit_")

    def __str__(self) -> str:
        return f"{self.kind} at {self.of} {self.number} ({self.milliseconds} ms)"


def plan_faults(random: Random) -> list[Fault]:
    """Choose what goes wrong: as a rule a few things, sometimes nothing, sometimes much at once."""
    count = random.choice([0, 1, 1, 2, 2, 3, 5, _FAULTS_MAX])
    faults = list(_bursts(random, count))
    for _ in range(random.choice([0, 1, 1, 2])):
        faults.append(Fault(random.choice(OF_COMMITS), random.randint(1, _COMMITS), random.choice([0, 1, 2])))
    for _ in range(random.choice([0, 0, 1, 2, _TASK_FAULTS_MAX])):
        faults.append(_of_task(random, random.choice(OF_TASKS), random.randint(1, _TASKS)))
    if random.random() < 0.1:
        # One worker after another, until a task is given up.
        first = random.randint(1, _TASKS)
        faults += [_of_task(random, "worker_lost", number) for number in range(first, first + _LOST_IN_A_ROW)]
    return faults


def plan_schedule_faults(random: Random) -> list[Fault]:
    """Choose what else goes wrong where there are schedules: no engine runs for so long that times are missed."""
    faults = []
    for _ in range(random.choice([0, 1, 1, 2])):
        kind = random.choice(OF_SCHEDULES)
        number = random.randint(1, _COMMITS) if kind in OF_COMMITS else _operation(random)
        faults.append(Fault(kind, number, random.choice([65_000, 65_000, 90_000])))
    return faults


def plan_play_faults(random: Random) -> list[Fault]:
    """Choose what goes wrong while a sample is played: a play has few commits, and often one of them is hit."""
    faults = plan_faults(random)
    if random.random() < 0.6:
        faults.append(Fault(random.choice(OF_COMMITS), random.randint(1, _COMMITS_OF_PLAYS), random.choice([0, 1, 2])))
    return faults


def _of_task(random: Random, kind: FaultKind, number: int) -> Fault:
    return Fault(kind, number, random.choice([0, 5, 50, 700, 3_000] if kind == "worker_lost" else [5, 50, 700, 3_000]))


def _bursts(random: Random, count: int) -> Iterator[Fault]:
    number = 0
    for _ in range(count):
        # Often shortly after the one before: what goes wrong while something is being mended is worth a look.
        number = number + random.randint(1, 6) if number and random.random() < 0.4 else _operation(random)
        yield Fault(random.choice(OF_OPERATIONS), number, random.choice([1, 20, 200, 1_500, 5_000, 40_000]))


def _operation(random: Random) -> int:
    return 1 + int(_OPERATIONS * random.random() ** 1.5)
