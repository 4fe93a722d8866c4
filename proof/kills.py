"""SIGKILL of real processes, at moments spread over their work: no run is lost, doubled or left hanging.

A process runs the engine with a workload and is killed after a while; the next one goes on with the same database. The
process tells by a byte of shared memory where it is, so that the hits before, during and after a commit are known. What
it was asked and told is in a log that outlives it; in the end the checker compares both
(INV-1 to INV-4).
"""

import argparse
import asyncio
import os
import random
import signal
import time
from collections import Counter
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Final

from proof.databases import KINDS, folder_of_proof, nursery, postgres_server, url_of
from proof.nursery import Nursery
from proof.outside_log import OutsideLog
from proof.phases import Phase, SharedPhase
from proof.verdict import Verdict, keep, lines_of

LEASE_MS: Final = 300
_BEGIN_SECONDS: Final = 30.0
LIFE_SECONDS: Final = 0.3
_AIM_SECONDS: Final = 0.02
_AIMED: Final = (Phase.BEFORE, Phase.DURING, Phase.AFTER, Phase.AFTER)


def main(arguments: list[str]) -> int:
    """Kill so many processes on each database, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof kills", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills in all, half of them on each database")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=inf, help="begin nothing more after so long")
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    given = parser.parse_args(arguments)
    kinds = KINDS if given.database == "both" else (given.database,)
    return asyncio.run(_prove(kinds, given.count, given.seed, given.seconds))


async def _prove(kinds: tuple[str, ...], count: int, seed: int, seconds: float) -> int:
    verdict, began = Verdict(), time.monotonic()
    with nursery() as makes, ExitStack() as stack, folder_of_proof() as folder:
        server = stack.enter_context(postgres_server()) if "postgresql" in kinds else None
        work = []
        for kind in kinds:
            place = folder / kind
            place.mkdir()
            url = url_of(kind, place, server)
            killing = Killing(makes, url, place, random.Random(f"{seed} {kind}"))
            work.append(_prove_one(kind, killing, -(-count // len(kinds)), began + seconds, verdict))
        await asyncio.gather(*work)
        replay = f"python -m proof kills --count {count} --seed {seed}"
        verdict.counts["seconds"] = round(time.monotonic() - began)
        status = verdict.tell(replay + (f" --database {kinds[0]}" if len(kinds) == 1 else ""))
        if status:
            keep(folder, [line for kind in kinds for line in lines_of(folder / kind / "log")])
            print(f"what was left is in {folder}")
    return status


async def _prove_one(kind: str, killing: "Killing", most: int, until: float, verdict: Verdict) -> None:
    await killing.prepare()
    while killing.hits.total() < most and time.monotonic() < until:
        await killing.kill_one()
        if killing.hits.total() % 50 == 0:
            print(f"{kind}: {killing.hits.total()} kills", flush=True)
    await killing.finish()
    count = killing.hits.total()
    hits = " ".join(f"{phase.name.lower()} {killing.hits[phase]}" for phase in Phase)
    print(f"{kind}: {count} kills: {hits}", flush=True)
    verdict.violations += killing.faults
    verdict.counts[f"{kind} kills"] += count
    if count >= 100:
        missed = [phase.name for phase in (Phase.BEFORE, Phase.DURING, Phase.AFTER) if not killing.hits[phase]]
        verdict.violations += [f"{kind}: no kill hit {name}" for name in missed]
    await verdict.look(killing.url, lines_of(killing.log.path))


class Killing:
    """One database, whose processes are killed one after the other."""

    def __init__(
        self,
        makes: Nursery,
        url: str,
        folder: Path,
        chance: random.Random,
        *,
        clock_seed: int | None = None,
        life_seconds: float = LIFE_SECONDS,
    ) -> None:
        self.url, self.log = url, OutsideLog(folder / "log")
        self.hits: Counter[Phase] = Counter()
        self.faults: list[str] = []
        self._nursery, self._folder, self._random = makes, folder, chance
        self._clock_seed, self._life_seconds = clock_seed, life_seconds
        self._shared = SharedPhase(folder / "phase")
        self._number = 0

    async def prepare(self) -> None:
        """Make the database."""
        self._check_ended(await self._nursery.ended(self._start("prepare")))

    async def kill_one(self) -> None:
        """Let a process begin, and kill it somewhere."""
        self._number += 1
        self._shared.forget()
        process_id = self._start("load")
        if self._random.random() < 0.15:
            # Also where it has only begun, and where it goes on with what it found.
            await asyncio.sleep(self._random.random() * 0.2)
        elif not await self._has_committed(process_id):
            self._fault(f"process {self._number} has committed nothing in {_BEGIN_SECONDS:.0f} seconds")
        else:
            await asyncio.sleep(self._random.random() * self._life_seconds)
            self._aim()
        os.kill(process_id, signal.SIGKILL)
        status = self._nursery.wait(process_id)
        if status != -signal.SIGKILL:
            self._fault(f"process {self._number} ended by itself, with {status}")
        self.hits[self._shared.phase] += 1
        self.log.note("crash")

    async def finish(self) -> None:
        """Let everything come to its end."""
        self._number += 1
        self._check_ended(await self._nursery.ended(self._start("finish")))

    def _start(self, mode: str) -> int:
        settings = {"url": self.url, "log": str(self.log.path), "phase": str(self._folder / "phase")}
        return self._nursery.start(
            self._folder / "printed",
            **settings,
            mode=mode,
            number=self._number,
            lease_ms=LEASE_MS,
            clock_seed=None if self._clock_seed is None else self._clock_seed + self._number,
        )

    async def _has_committed(self, process_id: int) -> bool:
        until = time.monotonic() + _BEGIN_SECONDS
        while not self._shared.commits and not self._nursery.is_over(process_id):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(0.002)
        return True

    def _aim(self) -> None:
        """Wait for one of the short phases: by chance alone, few kills would hit them."""
        missed = [phase for phase in _AIMED if not self.hits[phase]]
        wanted = self._random.choice(missed or _AIMED)
        until = time.monotonic() + _AIM_SECONDS
        while self._shared.phase is not wanted and time.monotonic() < until:
            pass

    def _check_ended(self, status: int) -> None:
        if status:
            self._fault(f"a process ended with {status}")

    def _fault(self, message: str) -> None:
        printed = (self._folder / "printed").read_text(errors="replace")[-2_000:]
        self.faults.append(f"{message}; it printed: {printed}")
