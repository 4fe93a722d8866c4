"""A full disk on SQLite: under load the disk fills up, or the file may not grow, until there is room again.

`disk` is a small file system in memory, mounted for this, which needs the rights to do so; `limit` is the limit of the
operating system for the size of a file. What clients hear meanwhile must be clear, and all that was accepted ends once.
"""

import argparse
import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from proof.rooms import Room, room_of
from proof.sqlite_checking import check_file
from proof.sqlite_load import Line, Load
from wonder.app.application import Application
from wonder.errors import WonderError

FULLS_PER_DATABASE: Final = 5
RUNS_PER_FULL: Final = 10
SECONDS: Final = 60
_SLACK_MAX: Final = 200_000
# What a client may hear: SQLite tells a limit, and an index that can't grow, from a broken disk in no other way.
_CLEAR: Final = ("disk is full", "look at the disk's room, at quotas and at ulimit -f")
_PAUSE_SECONDS: Final = 0.02

Result = TypeVar("Result")


class EngineLog(logging.Handler):
    """Hears all that the engine logs: commits that failed, and errors that it did not foresee."""

    def __init__(self, on_failed_commit: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._on_failed_commit = on_failed_commit
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Tell, keep, or leave it."""
        if record.msg.startswith("a commit failed"):
            self._on_failed_commit()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, WonderError):
            self.found.append(f"the engine logged: {record.getMessage()}: {type(error).__name__}: {error}")


class Patience:
    """Does again what fails for want of room, and counts what it heard."""

    def __init__(self) -> None:
        self.heard: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self.heard_any = asyncio.Event()
        """Set when anything has failed for want of room."""

    async def __call__(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Try until it succeeds."""
        while True:
            try:
                return await attempt()
            except WonderError as error:
                self.hear(error)
            await asyncio.sleep(_PAUSE_SECONDS)

    def hear(self, error: WonderError) -> None:
        """Count what a client was told."""
        self.heard[error.code] += 1
        self.texts.setdefault(error.code, str(error))
        self.heard_any.set()


class Filling:
    """One database that runs out of room several times."""

    def __init__(self, room: Room, random: Random, counts: Counter[str]) -> None:
        self._room, self._random, self._counts = room, random, counts
        self._database = room.folder / "wonder.db"
        self._log: list[Line] = []
        self._load = Load(random, self._log.append)
        self._patience = Patience()

    async def run(self, fulls: int) -> list[str]:
        """Fill the place so often, and tell all that is wrong in the end."""
        heard = EngineLog(self._patience.heard_any.set)
        logger = logging.getLogger("wonder")
        logger.addHandler(heard)
        logger.propagate = False
        try:
            async with asyncio.timeout(SECONDS * fulls):
                for _ in range(fulls):
                    await self._fill_once()
        except TimeoutError:
            return ["all has room again, and not all runs have ended"]
        finally:
            self._room.grow()
            logger.propagate = True
            logger.removeHandler(heard)
        unclear = [
            f"unclear: {text}" for text in self._patience.texts.values() if not any(words in text for words in _CLEAR)
        ]
        self._counts.update({f"{code} heard": count for code, count in self._patience.heard.items()})
        self._log.append({"kind": "at_rest", "at": time.time_ns() // 1_000_000})
        return [*await check_file(self._database, self._log), *heard.found, *unclear]

    async def _fill_once(self) -> None:
        keys = self._load.plan(RUNS_PER_FULL, padding=self._random.choice([0, 1_000, 20_000]))
        async with self._load.open(self._database) as wonder:
            if self._random.random() < 0.5:
                await self._bring_to_end(wonder, [keys.pop()])
            self._room.shrink(self._random.randint(0, _SLACK_MAX))
            self._patience.heard_any.clear()
            working = asyncio.create_task(self._bring_to_end(wonder, keys))
            hearing = asyncio.create_task(self._patience.heard_any.wait())
            await asyncio.wait([working, hearing], return_when=asyncio.FIRST_COMPLETED)
            hearing.cancel()
            self._counts["fulls"] += self._patience.heard_any.is_set()
            await asyncio.sleep(self._random.random() * 0.3)
            if self._random.random() < 0.7:
                self._room.grow()
                await working
                return
            working.cancel()
            await asyncio.wait([working])
        self._counts["closed when full"] += 1
        self._note_loss()
        # Another process begins while there is no room, or can't.
        try:
            async with self._load.open(self._database):
                self._counts["opened when full"] += 1
        except WonderError as error:
            self._patience.hear(error)
        self._room.grow()
        async with self._load.open(self._database) as wonder:
            await self._bring_to_end(wonder, list(self._load.asked))

    async def _bring_to_end(self, wonder: Application, keys: list[str]) -> None:
        """Be the clients of some runs, until all of them have heard how these ended."""
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(self._ask(wonder, key)) for key in keys]
            while not all(task.done() for task in asking):
                await self._patience(lambda: self._load.finish(wonder))
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _ask(self, wonder: Application, key: str) -> None:
        run = await self._patience(lambda: self._load.ask(wonder, key))
        await self._patience(lambda: self._load.hear(wonder, run))

    def _note_loss(self) -> None:
        """Note that what was done and not stored may be done again, because a process ended (INV-4)."""
        self._log.append({"kind": "crash", "at": time.time_ns() // 1_000_000})


def main(arguments: list[str]) -> int:
    """Fill disks; give 1 if anything is violated."""
    parser = argparse.ArgumentParser(prog="python -m proof disk_full", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=FULLS_PER_DATABASE, help="how often the place is filled")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=["disk", "limit"], default="disk")
    given = parser.parse_args(arguments)
    return 1 if prove(given.count, given.seed, given.kind)["violations"] else 0


def prove(count: int, seed: int, kind: str) -> Counter[str]:
    """Fill a place so often, printing what is violated, and give the counts."""
    counts: Counter[str] = Counter(violations=0)
    began = time.monotonic()
    while counts["fulls"] < count:
        database = seed + counts["databases"]
        with room_of(kind) as room:
            filling = Filling(room, Random(f"{kind} {database}"), counts)
            found = asyncio.run(filling.run(min(FULLS_PER_DATABASE, count - counts["fulls"])))
        counts["databases"] += 1
        if found:
            counts["violations"] += len(found)
            print(*(f"  {one}" for one in found[:5]), sep="\n")
            print(f"again: python -m proof disk_full --kind {kind} --count {FULLS_PER_DATABASE} --seed {database}")
        shown = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
        print(f"{kind}: {shown} in {time.monotonic() - began:.0f} s", flush=True)
    return counts
