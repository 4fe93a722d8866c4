"""A clock that is put back and forth while timers are pending, and processes that are killed in between (INV-6).

Every process has a time of day that jumps by up to twenty seconds, several times a second, and begins with another one
than the process before it. What is promised then: by the clock of the process, no timer is early; by the true time, a
timer is early by no more than the clock was put forward while it was pending; nothing is lost, doubled or left hanging;
and leases are not concerned, because they go by the server's clock, or by a lock.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

from proof.databases import KINDS, folder_of_proof, nursery, postgres_server, url_of
from proof.kills import Killing
from proof.outside_log import Line, condensed, read_lines
from proof.verdict import Verdict, keep

# The sleeps of the workload, by the names of the actions before and after them.
_SLEEPS_MS: Final = {("before_120", "before_40"): 120, ("before_40", "after_40"): 40}
# An action is logged when it begins; the timer is set a little later.
_ROUNDING_MS: Final = 2


def main(arguments: list[str]) -> int:
    """Let so many processes live with a clock that jumps, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof clocks", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="processes, each killed after a while")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args(arguments)
    return asyncio.run(_prove(given.count, given.seed))


async def _prove(count: int, seed: int) -> int:
    verdict, began = Verdict(), time.monotonic()
    with nursery() as makes, postgres_server() as server, folder_of_proof() as folder:
        work = []
        for kind in KINDS:
            place = folder / kind
            place.mkdir()
            chance = random.Random(f"{seed} {kind}")
            killing = Killing(makes, url_of(kind, place, server), place, chance, clock_seed=seed, life_seconds=1.5)
            work.append(_prove_one(killing, -(-count // len(KINDS)), verdict))
        await asyncio.gather(*work)
        verdict.counts["seconds"] = round(time.monotonic() - began)
        status = verdict.tell(f"python -m proof clocks --count {count} --seed {seed}")
        if status:
            keep(folder, [])
            print(f"what was left is in {folder}")
    return status


async def _prove_one(killing: Killing, count: int, verdict: Verdict) -> None:
    await killing.prepare()
    for _ in range(count):
        await killing.kill_one()
    await killing.finish()
    verdict.violations += killing.faults
    lines = read_lines(killing.log.path)
    verdict.violations += early_timers(lines)
    verdict.counts["processes"] += count
    verdict.counts["jumps"] += sum(line["kind"] == "clock" for line in lines)
    verdict.counts["sleeps by true time"] += sum(1 for _ in _sleeps(lines))
    # What an action did by the true time can't be compared with events whose times are another clock's.
    await verdict.look(killing.url, condensed(line for line in lines if line["kind"] not in ("effect", "clock")))


def early_timers(lines: Iterable[Line]) -> Iterator[str]:
    """Look for sleeps that were shorter, by the true time, than the jumps of the clock can account for."""
    lines = list(lines)
    jumps = [(line["at"], line["offset"]) for line in lines if line["kind"] == "clock"]
    for run_id, asked_ms, began_ms, ended_ms in _sleeps(lines):
        before = [offset for at_ms, offset in jumps if at_ms <= began_ms][-1:] or [0]
        within = [offset for at_ms, offset in jumps if began_ms < at_ms <= ended_ms]
        offsets = before + within
        # The farthest that the clock came ahead of any time at which the timer may have been set.
        ahead_ms = max((later - min(offsets[: i + 1]) for i, later in enumerate(offsets)), default=0)
        slept_ms = ended_ms - began_ms
        if slept_ms + max(0, ahead_ms) + _ROUNDING_MS < asked_ms:
            yield f"timers: run {run_id}: a sleep of {asked_ms} ms took {slept_ms} ms, the clock went {ahead_ms} ahead"


def _sleeps(lines: Iterable[Line]) -> Iterator[tuple[str, int, int, int]]:
    """Give each sleep: its run, the milliseconds asked for, and between which true times it was."""
    acted: dict[tuple[str, Any], int] = {}
    for line in lines:
        if line["kind"] != "effect" or not isinstance(line["name"], str):
            continue
        run_id, name = line["run"], line["name"]
        for (first, second), asked_ms in _SLEEPS_MS.items():
            if name == second and (run_id, first) in acted and (run_id, second) not in acted:
                yield run_id, asked_ms, acted[run_id, first], line["at"]
        # The last time before the sleep: an action may act again after a crash.
        acted[run_id, name] = line["at"]
