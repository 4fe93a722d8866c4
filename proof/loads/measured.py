"""What a process of the load says of itself: latencies, and how much it has in memory, in JSON lines for each while."""

import asyncio
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from wonder.app.engine import Engine

_COLLECTS_EVERY: Final = 8


class Latencies:
    """How long things took, since they were last taken."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How often clients did what, since the beginning."""
        self.faults: list[str] = []
        """What clients heard that they should not have."""
        self._milliseconds: dict[str, list[float]] = {}

    def add(self, name: str, seconds: float) -> None:
        """Note how long something took."""
        self._milliseconds.setdefault(name, []).append(round(seconds * 1_000, 2))

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Note how long this took, if it came to its end."""
        began = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - began)

    def take(self) -> dict[str, list[float]]:
        """Give all that were noted, and begin anew."""
        taken, self._milliseconds = self._milliseconds, {}
        return taken


async def tell(path: Path, every_seconds: float, latencies: Latencies, engine: Engine | None = None) -> None:
    """Append a line for each while, for ever."""
    with path.open("a") as file:
        for number in count(1):
            await asyncio.sleep(every_seconds)
            sizes = {} if engine is None else sizes_of(engine)
            sizes |= {"asyncio tasks": len(asyncio.all_tasks())}
            if number % _COLLECTS_EVERY == 0:
                # What is left then is held by somebody; before, it may be circles that nobody has looked for yet.
                gc.collect()
                sizes |= {"blocks": sys.getallocatedblocks()}
            line = {"at": time.monotonic(), "sizes": sizes, "latencies": latencies.take()}
            file.write(json.dumps(line) + "\n")
            file.flush()


def sizes_of(engine: Engine) -> dict[str, int]:
    """Count what an engine holds in memory, where something could be forgotten to be let go."""
    coordinator = engine.coordinator
    return {
        "live runs": len(coordinator.residency._live),
        "timers": len(coordinator.timers._due),
        "timers in line": len(coordinator.timers._heap),
        "waiting for ends": len(coordinator.ends._futures),
        "own runs": len(coordinator.tasks.mine or ()),
        "in background": len(coordinator.background),
        "tasks under way": engine.executor.under_way,
        "requests under way": engine.collaborators.orders.requests_under_way,
        "keys held": len(engine._idempotency._claims) + len(engine.collaborators.starter._starts._holders),
    }
