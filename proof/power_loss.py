"""Power loss on SQLite: what a disk may hold after a cut at any moment is opened and checked, and some of it finished.

The writes of a real load are recorded. Each image of the disk is made from a part of them; the next load begins with
one of these, so that recovery is cut off as well.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from proof.sqlite_checking import check_file
from proof.sqlite_images import Disk, Files
from proof.sqlite_load import Line, Load
from proof.sqlite_writes import Entry, Truncate, Write, recorded
from wonder.errors import WonderError
from wonder.storage.sqlite import connection as sqlite_connection

IMAGES_PER_LOAD: Final = 100
LOADS_PER_DATABASE: Final = 2
RUNS_PER_LOAD: Final = 8
FINISH_SECONDS: Final = 30
_NAME: Final = "wonder.db"
# The fastest disk there is: that power is lost is only played, so nothing has to be kept.
_MEMORY: Final = Path("/dev/shm")
_KEPT: Final = Path(".cache/proof")
_SYNCHRONOUS: Final = {"full": 2, "normal": 1}


class Cut(msgspec.Struct):
    """A load that was recorded: enough to make each of its images again."""

    seed: str
    first: Files
    entries: list[Entry]
    told: list[tuple[int, Line]]
    """What clients were told, each with the length of the record at that time."""
    asked: dict[str, tuple[str, dict[str, Any]]]

    def place(self, number: int) -> int:
        """Choose where an image cuts: anywhere, when something was just told, or while the log is moved to the file."""
        random = self.random(number, "place")
        chosen = random.random()
        moved = [place for place, entry in enumerate(self.entries) if self._is_of_database(entry)]
        if chosen < 0.3 and self.told:
            return random.choice(self.told)[0]
        if chosen < 0.6 and moved:
            return min(random.choice(moved) + random.randint(1, 3), len(self.entries))
        return random.randint(0, len(self.entries))

    def random(self, number: int, what: str) -> Random:
        """Give what chooses something for an image."""
        return Random(f"{self.seed} {number} {what}")

    def log(self, place: int) -> list[Line]:
        """Give what had been told when the record was so long, and that the power was cut then."""
        told = [line for at, line in self.told if at <= place]
        return [*told, {"kind": "crash", "at": time.time_ns() // 1_000_000}]

    def _is_of_database(self, entry: Entry) -> bool:
        # The file itself is the first that there is.
        return isinstance(entry, Write | Truncate) and entry.file == 0


def main(arguments: list[str]) -> int:
    """Make images and check them; give 1 if anything is violated."""
    parser = argparse.ArgumentParser(prog="python -m proof power_loss", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=IMAGES_PER_LOAD, help="how many images")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--synchronous", choices=_SYNCHRONOUS, default="full", help="what SQLite is told to sync")
    parser.add_argument(
        "--finish", type=float, default=0.1, help="the share of images whose runs are brought to an end"
    )
    parser.add_argument("--record", type=Path, help="a record that was kept, to look at one of its images again")
    parser.add_argument("--image", type=int, default=0, help="the number of that image")
    given = parser.parse_args(arguments)
    if given.record:
        cut = msgspec.msgpack.decode(given.record.read_bytes(), type=Cut)
        found = check_image(cut, given.image, finish=True)
        print(*found or ["no violation"], sep="\n")
        return 1 if found else 0
    counts = prove(given.count, given.seed, synchronous=given.synchronous, finish=given.finish)
    return 1 if counts["violations"] else 0


def prove(count: int, seed: int, *, synchronous: str = "full", finish: float = 0.1) -> Counter[str]:
    """Check so many images, printing what is violated, and give the counts."""
    counts: Counter[str] = Counter()
    began = time.monotonic()
    cut: Cut | None = None
    while counts["images"] < count:
        number = counts["loads"]
        follows = (cut, IMAGES_PER_LOAD) if cut and number % LOADS_PER_DATABASE else None
        cut = make_load(f"{seed} {number}", follows, synchronous)
        counts["loads"] += 1
        counts["writes"] += len(cut.entries)
        for image in range(min(IMAGES_PER_LOAD, count - counts["images"])):
            is_finished = cut.random(image, "finish").random() < finish
            found = check_image(cut, image, finish=is_finished, counts=counts)
            counts["images"] += 1
            counts["finished"] += is_finished
            if found:
                counts["violations"] += len(found)
                counts["bad images"] += 1
                _tell(cut, image, found)
        print(f"{_shown(counts)} in {time.monotonic() - began:.0f} s", flush=True)
    return counts


def make_load(seed: str, follows: tuple[Cut, int] | None = None, synchronous: str = "full") -> Cut:
    """Run a load on a new database, or on an image of another load, and record all that is written."""
    files, before, asked = ({}, [], {}) if follows is None else _left(*follows)
    told = [(0, line) for line in before]
    kept = sqlite_connection.FULL
    sqlite_connection.FULL = _SYNCHRONOUS[synchronous]
    try:
        with _folder() as folder, recorded(_lay_out(files, Path(folder))) as record:
            load = Load(Random(seed), lambda line: told.append((record.place, line)))
            load.asked.update(asked)
            asyncio.run(_work(load, record.database))
            return Cut(seed, record.first, record.entries, told, load.asked)
    finally:
        sqlite_connection.FULL = kept


def check_image(cut: Cut, number: int, *, finish: bool, counts: Counter[str] | None = None) -> list[str]:
    """Make one image, open it, and tell all that is wrong; with `finish`, also after all of its runs have ended."""
    log = cut.log(cut.place(number))
    with _folder() as folder:
        database = _lay_out(_files(cut, number, counts), Path(folder))
        try:
            found = asyncio.run(check_file(database, log))
            if finish and not found:
                load = Load(cut.random(number, "load"), log.append)
                load.asked.update(cut.asked)
                asyncio.run(_finish(load, database))
                log.append({"kind": "at_rest", "at": time.time_ns() // 1_000_000})
                found = asyncio.run(check_file(database, log))
        except (WonderError, TimeoutError) as error:
            return [f"the image can't be used: {type(error).__name__}: {error}"]
    return found


async def _work(load: Load, database: Path) -> None:
    """Ask, hear and cancel in one session, and finish all of it in a second one."""
    async with load.open(database) as wonder:
        load.plan(RUNS_PER_LOAD)
        runs = [await load.ask(wonder, key) for key in load.asked]
        hearing = [asyncio.create_task(load.hear(wonder, run)) for run in runs]
        await load.cancel(wonder, runs[-1])
        await asyncio.wait(hearing, timeout=0.05)
        for task in hearing:
            task.cancel()
        await asyncio.wait(hearing)
    async with load.open(database) as wonder:
        runs += [await load.ask(wonder, key) for key in load.plan(RUNS_PER_LOAD // 2)]
        await load.finish(wonder)
        for run in runs:
            await load.hear(wonder, run)


async def _finish(load: Load, database: Path) -> None:
    async with asyncio.timeout(FINISH_SECONDS), load.open(database) as wonder:
        # Clients that were cut off ask for all of them once more.
        runs = [await load.ask(wonder, key) for key in load.asked]
        await load.finish(wonder)
        for run in runs:
            await load.hear(wonder, run)


def _left(cut: Cut, number: int) -> tuple[Files, list[Line], dict[str, tuple[str, dict[str, Any]]]]:
    """Give what a power cut left of a load: files, and what clients were told and have asked for."""
    return _files(cut, number), cut.log(cut.place(number)), cut.asked


def _files(cut: Cut, number: int, counts: Counter[str] | None = None) -> Files:
    disk = Disk(cut.first)
    disk.advance(cut.entries[: cut.place(number)])
    if counts is not None:
        cached = disk.cached
        counts["with an unsynced log"] += cached.get(f"{_NAME}-wal", 0) > 0
        counts["with an unsynced file"] += cached.get(_NAME, 0) > 0
    return disk.image(cut.random(number, "image"))


def _lay_out(files: Files, folder: Path) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / _NAME


def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="proof-", dir=_MEMORY if _MEMORY.is_dir() else None)


def _tell(cut: Cut, image: int, found: list[str]) -> None:
    _KEPT.mkdir(parents=True, exist_ok=True)
    path = _KEPT / f"power_loss-{cut.seed.replace(' ', '-')}.record"
    path.write_bytes(msgspec.msgpack.encode(cut))
    print(*(f"  {one}" for one in found[:5]), sep="\n")
    print(f"again: python -m proof power_loss --record {path} --image {image}", file=sys.stdout, flush=True)


def _shown(counts: Counter[str]) -> str:
    shown = [f"{count:,} {name}" for name, count in counts.items() if name != "violations"]
    return ", ".join([*shown, f"{counts['violations']} violations"])
