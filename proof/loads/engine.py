"""The engine process of the load: `python -m proof.loads.engine SETTINGS` opens a database and is its own clients.

With a line on its standard input it begins and loads for so many seconds; it goes on with nothing new until the input
ends, and then brings all to its end.
"""

import asyncio
import json
import logging
import random
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

import wonder
from proof.loads.clients import Clients, Mix
from proof.loads.functions import Functions
from proof.loads.measured import Latencies, tell
from proof.outside_log import OutsideLog
from wonder.app.application import Application
from wonder.app.engine import Runs

MIXED: Final = Path(__file__).parent / "mixed.yaml"
_LOOK_SECONDS: Final = 0.1
_UNDER_WAY_MAX: Final = 500
_SETTLE_SECONDS: Final = 120.0
# So many at once in the beginning: pools of threads and connections have their size then, and should keep it.
_BURST: Final = 60


class Settings(msgspec.Struct, frozen=True):
    """What a process of the load is to do."""

    url: str
    folder: str
    seconds: float
    rate: float
    seed: int
    every_seconds: float
    runs: Runs = "all"


async def work(settings: Settings) -> None:
    """Run the engine under load."""
    folder, latencies = Path(settings.folder), Latencies()
    log, chance = OutsideLog(folder / "log"), random.Random(f"{settings.seed} engine")
    functions = Functions(log, latencies, chance)
    async with wonder.open(settings.url, functions=functions.by_name(), runs=settings.runs) as opened:
        await opened.deploy(MIXED)
        clients = Clients(opened, log, latencies, chance, "engine")
        await clients.find_workflows()
        load = _Load(opened, clients, Mix(opened, clients, functions, latencies, chance), latencies)
        await load.burst()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        tending = asyncio.create_task(load.tend())
        telling = asyncio.create_task(tell(folder / "engine", settings.every_seconds, latencies, opened.engine))
        await load.run(settings.seconds, settings.rate, chance)
        telling.cancel()
        print("loaded", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        if not await load.settle():
            latencies.faults.append(f"not all had ended {_SETTLE_SECONDS:.0f} seconds after the load")
        log.note("at_rest", live=[])
        tending.cancel()
        await asyncio.wait([tending])
    print(json.dumps({"counts": latencies.counts, "faults": latencies.faults}), flush=True)


class _Load:
    def __init__(self, opened: Application, clients: Clients, mix: Mix, latencies: Latencies) -> None:
        self._wonder, self._clients, self._mix, self._latencies = opened, clients, mix, latencies
        self._under_way: set[asyncio.Task[None]] = set()

    async def burst(self) -> None:
        """Start many at once, and wait for their end."""
        await asyncio.gather(*[self._mix.fan() for _ in range(_BURST)], *[self._mix.chain() for _ in range(_BURST)])
        self._latencies.take()

    async def run(self, seconds: float, rate: float, chance: random.Random) -> None:
        """Be so many new clients a second, at moments by chance, whatever has become of those before."""
        began = due = time.monotonic()
        while (due := due + chance.expovariate(rate)) < began + seconds:
            await asyncio.sleep(due - time.monotonic())
            if len(self._under_way) >= _UNDER_WAY_MAX:
                # More would only wait in line; the table shows that there were too many.
                self._latencies.counts["put off"] += 1
                continue
            client = asyncio.create_task(self._mix.one())
            self._under_way.add(client)
            client.add_done_callback(self._over)
        await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))

    async def tend(self) -> None:
        """Answer the questions that are open, for ever."""
        asked: set[str] = set()
        while True:
            found = await self._wonder.store.query("SELECT id FROM inbox_items WHERE status = 'open'")
            open_items = {str(item_id) for (item_id,) in found}
            for item_id in open_items - asked:
                # The other process answers as well: of two answers one is accepted.
                self._under_way.add(client := asyncio.create_task(self._clients.answer(item_id)))
                client.add_done_callback(self._over)
            asked = open_items
            await asyncio.sleep(_LOOK_SECONDS)

    async def settle(self) -> bool:
        """Wait until all runs have ended, those of the other process too."""
        until = time.monotonic() + _SETTLE_SECONDS
        while time.monotonic() < until:
            if self._under_way:
                await asyncio.wait(self._under_way, timeout=1.0)
            store = self._wonder.store
            ((live,),) = await store.query("SELECT count(*) FROM runs WHERE completed_ms IS NULL")
            if not live and not self._under_way:
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return False

    def _over(self, client: "asyncio.Task[None]") -> None:
        self._under_way.discard(client)
        if not client.cancelled() and (error := client.exception()):
            self._latencies.faults.append(f"a client failed: {error!r}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(work(msgspec.json.decode(sys.argv[1], type=Settings)))
