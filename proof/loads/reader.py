"""The other process of the load: it reads, and asks the engine's process for what it can't do itself (CMD-5)."""

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

import wonder
from proof.loads.clients import Clients
from proof.loads.engine import Settings
from proof.loads.measured import Latencies, tell
from proof.outside_log import OutsideLog
from wonder.app.application import Application
from wonder.storage.postgresql.reader_role import grant_reader, url_of_role
from wonder.storage.reading import read_only_query
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import events_of_run

# What it asks for, for each client of the engine's process.
_SHARE: Final = 0.15
_NEWEST: Final = (
    "SELECT status, count(*) FROM (SELECT status FROM runs ORDER BY id DESC LIMIT 200) AS r GROUP BY status"
)
_ALL: Final = "SELECT status, count(*) FROM run_log GROUP BY status"
_ALL_EVERY: Final = 200
_BURST: Final = 40


async def work(settings: Settings) -> None:
    """Read and ask."""
    folder, latencies = Path(settings.folder), Latencies()
    log, chance = OutsideLog(folder / "log"), random.Random(f"{settings.seed} reader")
    async with wonder.open(settings.url, runs="none") as opened:
        clients = Clients(opened, log, latencies, chance, "reader")
        await clients.find_workflows()
        reading = _Reading(await _query_url(settings.url, opened), opened, clients, latencies, chance)
        await asyncio.gather(*[clients.attempt(reading.one()) for _ in range(_BURST)])
        latencies.take()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        telling = asyncio.create_task(tell(folder / "reader", settings.every_seconds, latencies))
        until = time.monotonic() + settings.seconds
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < until:
                group.create_task(clients.attempt(reading.one()))
                await asyncio.sleep(chance.expovariate(settings.rate * _SHARE))
        telling.cancel()
    print(json.dumps({"counts": latencies.counts, "faults": latencies.faults}), flush=True)


async def _query_url(url: str, opened: Application) -> str:
    """Give the address for queries: a server's superuser may not run them."""
    if opened.store.dialect == "sqlite":
        return url
    reader = await grant_reader(opened.store, new_password=True)
    assert reader.password
    return url_of_role(url, reader.role, reader.password)


class _Reading:
    def __init__(
        self, url: str, opened: Application, clients: Clients, latencies: Latencies, chance: random.Random
    ) -> None:
        self._url, self._wonder, self._clients, self._latencies, self._random = url, opened, clients, latencies, chance
        self._queries = 0
        # One at a time: on SQLite each is a process, and how many files are open is watched.
        self._querying = asyncio.Lock()

    def one(self) -> Callable[[], Awaitable[None]]:
        """Choose what to do next."""
        return self._random.choice([self.list, self.query, self.start, self.answer, self.hear, self.cancel, self.pause])

    async def list(self) -> None:
        """List the newest runs, and look at the events of one."""
        with self._latencies.of("runs list"):
            page = await list_runs(self._wonder.store, self._wonder.home.project_id)
        await events_of_run(self._wonder.store, self._random.choice(page.items).id)

    async def query(self) -> None:
        """Count runs by SQL."""
        self._queries += 1
        async with self._querying:
            await read_only_query(self._url, _NEWEST if self._queries % _ALL_EVERY else _ALL)

    async def start(self) -> None:
        """Have a run started, and wait for its end."""
        name = self._random.choice(("chain", "nap", "call"))
        with self._latencies.of("request"):
            run = await self._clients.start(name, keyed=self._random.random() < 0.1)
        await self._clients.end(run)

    async def answer(self) -> None:
        """Answer a question that is open."""
        rows = await self._wonder.store.query("SELECT id FROM inbox_items WHERE status = 'open' LIMIT 3")
        if rows:
            await self._clients.answer(str(self._random.choice(rows)[0]))

    async def hear(self) -> None:
        """Send an event to a run that it had started."""
        key = self._clients.new_key()
        run = await self._clients.start("hear", key=key)
        await self._clients.send(key)
        await self._clients.end(run)

    async def cancel(self) -> None:
        """Have a run cancelled that acts just now."""
        run = await self._clients.start("long")
        await self._clients.cancel(run.id)
        await self._clients.end(run)

    async def pause(self) -> None:
        """Have a run paused and resumed."""
        run = await self._clients.start("nap")
        await self._clients.attempt(lambda: self._clients.pause(run.id, 0.1))
        await self._clients.end(run)


if __name__ == "__main__":
    asyncio.run(work(msgspec.json.decode(sys.argv[1], type=Settings)))
