"""Connections to PostgreSQL cut, slowed and silenced by a proxy, while the engine lives (INV-1, INV-2).

Cuts come in the middle of what is asked or answered, and between a commit and its answer, where the engine can't know
whether it was made. A connection that falls silent is given up after three seconds here, instead of two minutes.
"""

import argparse
import asyncio
import random
import time
from math import inf
from typing import Final
from urllib.parse import quote

from proof.databases import folder_of_proof, nursery, postgres_server, url_of
from proof.postgres_kills import LivingEngine
from proof.proxy import Proxy
from proof.verdict import Verdict, keep, lines_of

_COMMAND_SECONDS: Final = 3.0
_HANGS_SECONDS: Final = 60.0


def main(arguments: list[str]) -> int:
    """Break so many connections, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof cuts", description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="connections that are cut, slowed or silenced")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=inf, help="begin nothing more after so long")
    given = parser.parse_args(arguments)
    return asyncio.run(_prove(given.count, given.seed, given.seconds))


async def _prove(count: int, seed: int, seconds: float) -> int:
    verdict, began = Verdict(), time.monotonic()
    with nursery() as makes, postgres_server() as server, folder_of_proof() as folder:
        url = url_of("postgresql", folder, server)
        engine = LivingEngine(makes, url, folder, command_seconds=_COMMAND_SECONDS)
        through = folder / "proxy"
        through.mkdir()
        proxy = Proxy(through, server.folder / "socket", engine.shared, random.Random(seed), engine.note_fault)
        await proxy.begin()
        engine.begin(f"{url.partition('?')[0]}?host={quote(str(through))}")
        if not await _goes_on(proxy, engine, count, began + seconds):
            verdict.violations.append(f"the engine did not go on within {_HANGS_SECONDS:.0f} seconds")
        proxy.calm = True
        await engine.goes_on()
        await engine.finish()
        await proxy.close()
        verdict.violations += engine.faults
        verdict.counts.update(proxy.counts)
        await verdict.look(url, lines_of(engine.log.path))
        verdict.counts["seconds"] = round(time.monotonic() - began)
        status = verdict.tell(f"python -m proof cuts --count {count} --seed {seed}")
        if status:
            keep(folder, lines_of(engine.log.path))
            print(f"what was left is in {folder}")
    return status


async def _goes_on(proxy: Proxy, engine: LivingEngine, count: int, until: float) -> bool:
    """Wait for so many broken connections, or until it is time; False if the engine commits nothing for long."""
    commits, since = 0, time.monotonic()
    while proxy.counts.total() < count and time.monotonic() < until:
        await asyncio.sleep(0.05)
        if engine.shared.commits != commits:
            commits, since = engine.shared.commits, time.monotonic()
        elif time.monotonic() - since > _HANGS_SECONDS:
            return False
    return True
