"""`python -m simulation --seeds 0-20000`: simulate every seed; a failure is made smaller, and prints its replay."""

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import Final, TypeVar

from simulation.many import FAILURES_MAX, Totals, crash_at, crash_everywhere, simulate, simulator
from simulation.scenario import NODES_MAX, describe, scenario_of

_CHUNK: Final = 100
Item = TypeVar("Item")


def main(arguments: list[str] | None = None) -> int:
    """Simulate what the arguments name, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description="Simulate the engine under faults.")
    parser.add_argument("--seeds", default="0-1000", metavar="FIRST-LAST", help="simulate all of these")
    parser.add_argument("--seed", type=int, help="simulate this one, and say what is found")
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
    first, _, last = given.seeds.partition("-")
    return _simulate_all(int(first), int(last or int(first) + 1), given.processes)


def _replay(given: argparse.Namespace) -> int:
    whole = scenario_of(given.seed, given.nodes)
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
    totals, began = Totals(), time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        chunks = [pool.submit(simulate, at, min(at + _CHUNK, last)) for at in range(first, last, _CHUNK)]
        for done in as_completed(chunks):
            found = done.result()
            totals.join(found)
            for failure in found.failures:
                print(failure, flush=True)
            speed = totals.seeds / (time.monotonic() - began)
            print(f"{totals.seeds} of {last - first}: {speed:.0f} seeds/s, {len(totals.failures)} fail", flush=True)
            if len(totals.failures) >= FAILURES_MAX:
                for chunk in chunks:
                    chunk.cancel()
                break
    print(*totals.lines(), sep="\n")
    if totals.failures:
        print(f"{len(totals.failures)} seeds failed; each is told above, with the command that replays it")
    return 1 if totals.failures else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Otherwise sets of texts would be gone through in another order each time.
        os.execve(
            sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]], os.environ | {"PYTHONHASHSEED": "0"}
        )
    sys.exit(main())
