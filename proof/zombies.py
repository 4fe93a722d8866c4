"""Zombies: an owner that is stopped beyond its lease, replaced, and woken again writes nothing any more (INV-5).

On PostgreSQL two processes take turns: the one that runs the engine is stopped with SIGSTOP until the other has taken
over, then it goes on and has to find out. The server says when each commit was made, so that what a zombie wrote after
the other's claim is seen whatever it was told. On SQLite the operating system keeps the lock for a process that is
stopped: nobody takes over until it is killed. With `--without-fence` commits do not ask whose the lease is, and the
proof has to fail.
"""

import argparse
import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Final

from proof.commit_times import with_commit_times
from proof.databases import folder_of_proof, nursery, postgres_server, url_of
from proof.nursery import Nursery
from proof.outside_log import OutsideLog, condensed, read_lines
from proof.phases import Phase, SharedPhase
from proof.verdict import Verdict, keep

LEASE_MS: Final = 1_000
_PAIRS: Final = 3
_SECONDS: Final = 40.0
# On SQLite: how long a process that is stopped is watched, in which another one tries twenty times to take over.
_WATCHED_SECONDS: Final = 1.2


def main(arguments: list[str]) -> int:
    """Make so many zombies, nine of ten on PostgreSQL, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof zombies", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="processes to stop beyond their lease")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=inf, help="begin nothing more after so long")
    parser.add_argument("--without-fence", action="store_true", help="show that the proof sees what the fence prevents")
    given = parser.parse_args(arguments)
    return asyncio.run(_prove(given.count, given.seed, given.seconds, fenced=not given.without_fence))


async def _prove(count: int, seed: int, seconds: float, *, fenced: bool) -> int:
    verdict, began = Verdict(), time.monotonic()
    of_sqlite = count // 10 if fenced else 0
    pairs = min(_PAIRS, count - of_sqlite)
    with nursery() as makes, postgres_server() as server, folder_of_proof() as folder:
        work = []
        for number in range(pairs):
            place = folder / str(number)
            place.mkdir()
            url = url_of("postgresql", place, server)
            pair = Pair(makes, url, place, random.Random(f"{seed} {number}"), fenced=fenced)
            share = (count - of_sqlite + number) // pairs
            work.append(_prove_on_postgres(pair, share, began + seconds, verdict))
        if of_sqlite:
            place = folder / "sqlite"
            place.mkdir()
            pair = Pair(makes, url_of("sqlite", place, None), place, random.Random(f"{seed} sqlite"))
            work.append(_prove_on_sqlite(pair, of_sqlite, began + seconds, verdict))
        await asyncio.gather(*work)
        verdict.counts["seconds"] = round(time.monotonic() - began)
        status = verdict.tell(
            f"python -m proof zombies --count {count} --seed {seed}{'' if fenced else ' --without-fence'}"
        )
        if status and fenced:
            keep(folder, [])
            print(f"what was left is in {folder}")
    return status


async def _prove_on_postgres(pair: "Pair", count: int, until: float, verdict: Verdict) -> None:
    await pair.prepare()
    for _ in range(count):
        if time.monotonic() > until or not await pair.stop_and_replace():
            break
    await pair.finish()
    lines = condensed(await with_commit_times(pair.url, read_lines(pair.log.path)), by_lease=True)
    _tell("postgresql", pair, verdict)
    await verdict.look(pair.url, lines)


async def _prove_on_sqlite(pair: "Pair", count: int, until: float, verdict: Verdict) -> None:
    await pair.prepare()
    for number in range(count):
        if time.monotonic() > until or not await pair.stop_and_watch(ends=number % 2 == 1):
            break
    await pair.finish()
    _tell("sqlite", pair, verdict)
    await verdict.look(pair.url, condensed(read_lines(pair.log.path)))


def _tell(kind: str, pair: "Pair", verdict: Verdict) -> None:
    hits = " ".join(f"{phase.name.lower()} {pair.hits[phase]}" for phase in Phase if pair.hits[phase])
    print(f"{kind}: {pair.hits.total()} stopped: {hits}; commits of zombies refused: {pair.refused}", flush=True)
    verdict.counts[f"{kind} zombies"] += pair.hits.total()
    verdict.counts["refused commits"] += pair.refused
    verdict.violations += pair.faults


class Pair:
    """Two processes with one database: one runs the engine, the other one would like to."""

    def __init__(self, makes: Nursery, url: str, folder: Path, chance: random.Random, *, fenced: bool = True) -> None:
        self.url, self.log = url, OutsideLog(folder / "log")
        self.hits: Counter[Phase] = Counter()
        self.refused = 0
        self.faults: list[str] = []
        self._nursery, self._folder, self._random, self._fenced = makes, folder, chance, fenced
        self._processes = [0, 0]
        self._shared = [SharedPhase(folder / "phase0"), SharedPhase(folder / "phase1")]
        self._owner = 0
        self._number = 0

    async def prepare(self) -> None:
        """Make the database, and let one process have the engine before the other begins."""
        self._nursery.wait(self._start(0, "prepare"))
        self._processes[0] = self._start(0, "load")
        await self._until(lambda: self._shared[0].commits > 0, "the first process has no engine")
        self._processes[1] = self._start(1, "load")

    async def stop_and_replace(self) -> bool:
        """Stop the owner until the other one has taken over and written, and let it go on; False if that failed."""
        old, new = self._owner, 1 - self._owner
        await self._stop(old)
        written, refused = self._shared[new].commits, self._shared[old].refused
        taken = await self._until(lambda: self._shared[new].commits > written + 3, "nobody took over")
        self._owner = new
        self.log.note("crash")
        await asyncio.sleep(self._random.random() * 0.2)
        os.kill(self._processes[old], signal.SIGCONT)
        # Time enough to find out, by a commit that is refused or when it renews its lease.
        await asyncio.sleep(LEASE_MS / 3_000 + 0.2)
        self.refused += self._shared[old].refused - refused
        return taken

    async def stop_and_watch(self, *, ends: bool) -> bool:
        """Stop the owner and see that nobody takes over while it lives; kill it or let it go on."""
        old, new = self._owner, 1 - self._owner
        await self._stop(old)
        written = self._shared[new].commits
        await asyncio.sleep(_WATCHED_SECONDS)
        if self._shared[new].commits != written:
            self.faults.append("a process took over from one that was only stopped")
        if not ends:
            written = self._shared[old].commits
            os.kill(self._processes[old], signal.SIGCONT)
            return await self._until(lambda: self._shared[old].commits > written, "the owner does not go on")
        os.kill(self._processes[old], signal.SIGKILL)
        self._nursery.wait(self._processes[old])
        self.log.note("crash")
        taken = await self._until(lambda: self._shared[new].commits > written, "nobody took over from the dead")
        self._owner = new
        self._shared[old].forget()
        self._processes[old] = self._start(old, "load")
        return taken

    async def finish(self) -> None:
        """End both, and let everything come to its end."""
        for process_id in self._processes:
            os.kill(process_id, signal.SIGKILL)
            self._nursery.wait(process_id)
            self.log.note("crash")
        if status := await self._nursery.ended(self._start(0, "finish")):
            self._fault(f"the last process ended with {status}")

    async def _stop(self, place: int) -> None:
        await asyncio.sleep(self._random.random() * 0.2)
        wanted = self._random.choice([Phase.BETWEEN, Phase.BEFORE, Phase.DURING, Phase.AFTER])
        until = time.monotonic() + 0.01
        while self._shared[place].phase is not wanted and time.monotonic() < until:
            pass
        os.kill(self._processes[place], signal.SIGSTOP)
        await asyncio.sleep(0.001)
        self.hits[self._shared[place].phase] += 1

    def _start(self, place: int, mode: str) -> int:
        self._number += 1
        return self._nursery.start(
            self._folder / f"printed{place}",
            url=self.url,
            log=str(self.log.path),
            phase=str(self._folder / f"phase{place}"),
            mode=mode,
            number=self._number,
            lease_ms=LEASE_MS,
            fenced=self._fenced or mode == "finish",
            # A zombie that was stopped inside a transaction holds the lease's row until the server ends it.
            idle_seconds=2.0,
            under_way=5,
            # What two writers have spoiled does not settle however long one waits.
            settle_seconds=90.0 if self._fenced else 3.0,
        )

    async def _until(self, look: Callable[[], bool], fault: str) -> bool:
        until = time.monotonic() + _SECONDS
        while not look():
            if time.monotonic() > until:
                self._fault(fault)
                return False
            await asyncio.sleep(0.005)
        return True

    def _fault(self, message: str) -> None:
        printed = [(self._folder / f"printed{place}") for place in (0, 1)]
        said = "".join(path.read_text(errors="replace")[-1_500:] for path in printed if path.exists())
        self.faults.append(f"{message}; they printed: {said}")
