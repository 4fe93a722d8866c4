"""PostgreSQL killed with SIGKILL in the middle of its work and started again, while the engine lives (INV-1, INV-2).

The engine is not started again: it loses every connection, goes on by itself once the server is back, and nothing that
anybody was told is lost or doubled. The server writes durably (`fsync` is on) and recovers from its log each time.
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

from proof.databases import Server, folder_of_proof, nursery, postgres_server, url_of
from proof.nursery import Nursery
from proof.outside_log import OutsideLog
from proof.phases import Phase, SharedPhase
from proof.verdict import Verdict, keep, lines_of

_SERVERS: Final = 3
_BACK_SECONDS: Final = 40.0
_AIM_SECONDS: Final = 0.05


def main(arguments: list[str]) -> int:
    """Kill the server so many times, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof postgres_kills", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="how often the server is killed")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=inf, help="begin nothing more after so long")
    given = parser.parse_args(arguments)
    return asyncio.run(_prove(given.count, given.seed, given.seconds))


async def _prove(count: int, seed: int, seconds: float) -> int:
    verdict, began = Verdict(), time.monotonic()
    servers = min(_SERVERS, count)
    with nursery() as makes, folder_of_proof() as folder, ExitStack() as stack:
        work = []
        for number in range(servers):
            place = folder / str(number)
            place.mkdir()
            server = stack.enter_context(postgres_server())
            engine = LivingEngine(makes, url_of("postgresql", place, server), place)
            chance = random.Random(f"{seed} {number}")
            work.append(_prove_one(server, engine, chance, (count + number) // servers, began + seconds, verdict))
        await asyncio.gather(*work)
        verdict.counts["seconds"] = round(time.monotonic() - began)
        status = verdict.tell(f"python -m proof postgres_kills --count {count} --seed {seed}")
        if status:
            keep(folder, [])
            print(f"what was left is in {folder}")
    return status


async def _prove_one(
    server: Server, engine: "LivingEngine", chance: random.Random, count: int, until: float, verdict: Verdict
) -> None:
    engine.begin()
    hits = Counter[Phase]()
    for _ in range(count):
        if time.monotonic() > until or not await engine.goes_on():
            break
        hits[await _kill(server, engine.shared, chance)] += 1
        engine.note_fault()
    await engine.goes_on()
    await engine.finish()
    told = " ".join(f"{phase.name.lower()} {hits[phase]}" for phase in Phase)
    print(f"{hits.total()} kills of the server, while the engine was: {told}", flush=True)
    verdict.violations += engine.faults
    verdict.counts["server kills"] += hits.total()
    await verdict.look(engine.url, lines_of(engine.log.path))


async def _kill(server: Server, shared: SharedPhase, chance: random.Random) -> Phase:
    """Kill the server somewhere in a commit or between two, and start it again after a while; say where it hit."""
    await asyncio.sleep(chance.random() * 0.3)
    wanted = chance.choice([Phase.BEFORE, Phase.DURING, Phase.DURING, Phase.AFTER])
    until = time.monotonic() + _AIM_SECONDS
    while shared.phase is not wanted and time.monotonic() < until:
        pass
    hit = shared.phase
    server.kill()
    await asyncio.sleep(chance.choice([0, 0, 0.1, 0.3]))
    # Not in a thread: the server ends with the thread that started it.
    server.start_again()
    return hit


class LivingEngine:
    """One process that runs the engine all the time."""

    def __init__(self, makes: Nursery, url: str, folder: Path, *, command_seconds: float = 120.0) -> None:
        self.log = OutsideLog(folder / "log")
        self.faults: list[str] = []
        self.shared = SharedPhase(folder / "phase")
        self.url = url
        self._nursery, self._folder = makes, folder
        self._command_seconds = command_seconds
        self._process_id = 0

    def begin(self, url: str | None = None) -> None:
        """Make the database, and start the process, which sees the server at this address."""
        if status := self._nursery.wait(self._start("prepare", self.url)):
            self._fault(f"the database can't be prepared: {status}")
        self._process_id = self._start("load", url or self.url)

    async def goes_on(self) -> bool:
        """Wait until the engine has made another few commits; False if it does not."""
        before, until = self.shared.commits, time.monotonic() + _BACK_SECONDS
        while self.shared.commits < before + 3:
            if self._nursery.is_over(self._process_id) or time.monotonic() > until:
                self._fault(f"the engine did not go on within {_BACK_SECONDS:.0f} seconds")
                return False
            await asyncio.sleep(0.005)
        return True

    async def finish(self) -> None:
        """End the process, and let everything come to its end in another one."""
        if not self._nursery.is_over(self._process_id):
            os.kill(self._process_id, signal.SIGKILL)
        self._nursery.wait(self._process_id)
        self.log.note("crash")
        if status := await self._nursery.ended(self._start("finish", self.url)):
            self._fault(f"the last process ended with {status}")

    def note_fault(self) -> None:
        """Write down that something was broken, after which actions may act again."""
        self.log.note("crash")

    def _start(self, mode: str, url: str) -> int:
        return self._nursery.start(
            self._folder / "printed",
            url=url,
            log=str(self.log.path),
            phase=str(self._folder / "phase"),
            mode=mode,
            number=1 + (mode == "finish"),
            lease_ms=1_000,
            command_seconds=self._command_seconds,
            # It lives long, and the checker looks at every run.
            under_way=2,
        )

    def _fault(self, message: str) -> None:
        printed = (self._folder / "printed").read_text(errors="replace")[-3_000:]
        self.faults.append(f"{message}; it printed: {printed}")
