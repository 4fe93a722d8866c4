"""Crash points, exhaustively: each reference workflow, with its process ending at each operation of the store.

`python -m proof crash_points` plays every point of every scenario on both databases; `--only` and `--database` choose,
`--count N` plays so many points of each, chosen by the seed, `--reads once` leaves out crashes after operations that
only read (nothing durable tells them from those before), `--reads never` those before them too, and `--twice` lets the
process that recovers end as well.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from proof.crashes.databases import KINDS, Databases, open_databases
from proof.crashes.playing import Played, play, warm_up
from proof.crashes.scenarios import Scenario, scenarios
from proof.crashes.store import Point

_OF_READS: Final = {"never": (), "once": ("before",), "twice": ("before", "after")}
_SHOWN: Final = 3
_HEAD: Final = (
    f"{'workflow':<48}{'database':<12}{'operations':>10}{'points':>8}{'reached':>9}{'violations':>12}{'s':>8}"
)


class Row(NamedTuple):
    """What came of all points of one scenario on one database."""

    scenario: str
    database: str
    operations: int
    points: int
    reached: int
    failures: list[str]
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.operations:>10}{self.points:>8}{self.reached:>9}{len(self.failures):>12}{self.seconds:>8.1f}"
        return f"{self.scenario:<48}{self.database:<12}{counts}"


def main(arguments: list[str]) -> int:
    """Play crash points, print a table, and give the exit status."""
    options = _parser().parse_args(arguments)
    options.until = time.monotonic() + options.seconds
    chosen = [scenario for name, scenario in scenarios().items() if name in (options.only or scenarios())]
    rows: list[Row] = []
    print(_HEAD)
    for kind in options.database:
        with open_databases(kind, chosen) as databases:
            warm_up(databases, chosen[0])
            for row in _play_all(databases, chosen, options):
                rows.append(row)
                print(row, *row.failures[:_SHOWN], sep="\n", flush=True)
    print(_sum(rows))
    return 1 if any(row.failures for row in rows) else 0


def _sum(rows: Sequence[Row]) -> Row:
    failures = [failure for row in rows for failure in row.failures]
    operations, points, reached = (sum(numbers) for numbers in zip(*(row[2:5] for row in rows), strict=True))
    return Row("all", "", operations, points, reached, failures, sum(row.seconds for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m proof crash_points")
    parser.add_argument("--only", nargs="+", metavar="WORKFLOW", choices=list(scenarios()))
    parser.add_argument("--database", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--count", type=int, help="how many points of each workflow; all, if it is not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reads", choices=("never", "once", "twice"), default="twice")
    parser.add_argument("--twice", action="store_true", help="end the process that recovers as well")
    parser.add_argument("--at", action="append", metavar="POINT", help="play this point; again for the next process")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="play no further points after so long")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser


def _play_all(databases: Databases, chosen: Sequence[Scenario], options: argparse.Namespace) -> Iterator[Row]:
    """Play several scenarios at a time, each in a process that has no threads and so may fork."""
    context = multiprocessing.get_context("fork")
    with context.Pool(min(options.processes, len(chosen)), _take, (databases, options)) as pool:
        yield from pool.imap_unordered(_play_scenario, [scenario.name for scenario in chosen])


def _take(databases: Databases, options: argparse.Namespace) -> None:
    global _DATABASES, _OPTIONS
    _DATABASES, _OPTIONS = databases, options


_DATABASES: Databases
_OPTIONS: argparse.Namespace


def _play_scenario(name: str) -> Row:
    began, scenario, options = time.monotonic(), scenarios()[name], _OPTIONS
    # Twice, because how many commits there are is a matter of time too.
    good = [play(_DATABASES, scenario, []) for _ in range(2)]
    failures = [
        f"  {name} on {_DATABASES.kind} without a crash: {line}" for played in good for line in played.violations
    ]
    if good[0].outcome != good[1].outcome:
        failures.append(f"  {name} on {_DATABASES.kind} ends in two ways: {good[0].outcome} and {good[1].outcome}")
    operations = {key: max(played.counts.get(key, 0) for played in good) for one in good for key in one.counts}
    if options.at:
        plans = [[Point.parse(text) for text in options.at]]
    elif options.twice:
        plans = _plans_of_two(scenario, operations, good[0].writes, options)
    else:
        plans = [[point] for point in _points(operations, good[0].writes, options.reads)]
    if options.count is not None and len(plans) > options.count:
        plans = Random(f"{options.seed} {name}").sample(plans, options.count)  # replayed by its seed
    points = reached = 0
    for plan in plans if not failures else []:
        if time.monotonic() > options.until:
            break
        played = play(_DATABASES, scenario, plan)
        points += 1
        reached += played.reached == len(plan)
        failures += _failures(scenario, plan, played, good[0])
    seconds = time.monotonic() - began
    return Row(name, _DATABASES.kind, sum(operations.values()), points, reached, failures, seconds)


def _points(operations: dict[str, int], writes: Sequence[str], reads: str) -> list[Point]:
    return [
        Point(name, number, when)
        for name, count in operations.items()
        for number in range(1, count + 1)
        for when in (("before", "during", "after") if name in writes else _OF_READS[reads])
    ]


def _plans_of_two(
    scenario: Scenario, operations: dict[str, int], writes: Sequence[str], options: argparse.Namespace
) -> list[list[Point]]:
    """Let the first process end after each of its commits, and the one that recovers at each operation."""
    plans = []
    for number in range(1, operations.get("commit", 0) + 1):
        first = Point("commit", number, "after")
        recovered = play(_DATABASES, scenario, [first])
        plans += [[first, second] for second in _points(recovered.counts, writes, options.reads)]
    return plans


def _failures(scenario: Scenario, plan: Sequence[Point], played: Played, good: Played) -> list[str]:
    found = list(played.violations)
    if played.outcome and played.outcome != good.outcome:
        found.append(f"outcome: {played.outcome}, and without a crash {good.outcome}")
    at = " ".join(f"--at '{point}'" for point in plan)
    replay = f"python -m proof crash_points --database {_DATABASES.kind} --only {scenario.name} {at}"
    return [f"  {line}\n    {replay}" for line in found]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
