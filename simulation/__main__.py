"""`python -m simulation --seeds 0-20000`: simulate every seed; a failure is made smaller, and prints its replay.

`--patterns 20` plays each of the 43 pattern samples twenty times instead.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from simulation.many import FAILURES_MAX, Totals, crash_at, crash_everywhere, play, simulate, simulator
from simulation.plays import PLAYS
from simulation.scenario import NODES_MAX, describe, play_of, scenario_of

_CHUNK: Final = 100
Item = TypeVar("Item")


def main(arguments: list[str] | None = None) -> int:
    """Simulate what the arguments name, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description="Simulate the engine under faults.")
    parser.add_argument("--seeds", default="0-1000", metavar="FIRST-LAST", help="simulate all of these")
    parser.add_argument("--seed", type=int, help="simulate this one, and say what is found")
    parser.add_argument("--patterns", type=int, metavar="ROUNDS", help="play every pattern sample so often")
    parser.add_argument("--pattern", type=int, metavar="NUMBER", help="play this one, so often or with this seed")
    parser.add_argument("--trace", action="store_true", help="print all that happens with --seed")
    parser.add_argument("--nodes", type=int, default=NODES_MAX, help="how many nodes a workflow may have")
    parser.add_argument("--wishes", help="only these wishes of clients, by number, or none")
    parser.add_argument("--faults", help="only these faults, by number, or none")
    parser.add_argument(
        "--crash", metavar="before:N", help="one crash, before or after an operation, and no other fault"
    )
    parser.add_argument("--everywhere", action="store_true", help="one crash before and after each operation, in turn")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return _crash_everywhere(given.seed) if given.everywhere else _replay(given)
    if given.patterns is not None:
        patterns = sorted(PLAYS) if given.pattern is None else [given.pattern]
        return _share([partial(play, pattern, given.patterns) for pattern in patterns], given.processes)
    first, _, last = given.seeds.partition("-")
    return _simulate_all(int(first), int(last or int(first) + 1), given.processes)


def _replay(given: argparse.Namespace) -> int:
    whole = scenario_of(given.seed, given.nodes) if given.pattern is None else play_of(given.pattern, given.seed)
    scenario = replace(whole, wishes=_kept(whole.wishes, given.wishes), faults=_kept(whole.faults, given.faults))
    if given.crash:
        when, _, number = given.crash.partition(":")
        scenario = replace(scenario, faults=(crash_at(when, int(number)),))
    print(*describe(scenario), sep="\n")
    with simulator() as simulation:
        outcome = simulation.run(scenario, print if given.trace else None)
    print(*outcome.violations, sep="\n")
    found = f"{len(outcome.violations)} violations" if outcome.violations else "no violation"
    print(f"{outcome.runs} runs, {outcome.events} events, {outcome.operations} operations: {found}")
    return 1 if outcome.violations else 0


def _crash_everywhere(seed: int) -> int:
    totals = crash_everywhere(seed)
    print(*totals.failures, *totals.lines(), sep="\n")
    return 1 if totals.failures else 0


def _kept(items: tuple[Item, ...], numbers: str | None) -> tuple[Item, ...]:
    if numbers is None:
        return items
    return () if numbers == "none" else tuple(items[int(number)] for number in numbers.split(","))


def _simulate_all(first: int, last: int, processes: int) -> int:
    return _share([partial(simulate, at, min(at + _CHUNK, last)) for at in range(first, last, _CHUNK)], processes)


def _share(parts: Sequence[Callable[[], Totals]], processes: int) -> int:
    """Simulate all parts, as many at a time as there are processes, and tell what was found."""
    totals, began = Totals(), time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        chunks = [pool.submit(part) for part in parts]
        for number, done in enumerate(as_completed(chunks), 1):
            found = done.result()
            totals.join(found)
            for failure in found.failures:
                print(failure, flush=True)
            speed = totals.seeds / (time.monotonic() - began)
            said = f"{totals.seeds} simulated, {number} of {len(parts)} parts"
            print(f"{said}: {speed:.0f} a second, {len(totals.failures)} fail", flush=True)
            if len(totals.failures) >= FAILURES_MAX:
                for chunk in chunks:
                    chunk.cancel()
                break
    print(*totals.lines(), sep="\n")
    if totals.failures:
        print(f"{len(totals.failures)} failed; each is told above, with the command that replays it")
    return 1 if totals.failures else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Otherwise sets of texts would be gone through in another order each time.
        os.execve(
            sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]], os.environ | {"PYTHONHASHSEED": "0"}
        )
    sys.exit(main())
