"""Watching a load: samples from outside and what the processes tell of themselves become measures over time."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from proof.loads.flatness import (
    Measure,
    Point,
    Rule,
    at_most,
    grows_less_than,
    grows_steadily,
    not_higher,
    percentile,
    shown,
)
from proof.loads.sampling import DatabaseSizes, ProcessSample, sample_process, told_lines

_SHOWN: Final = shown()
_MEMORY: Final = grows_less_than(256, 1_024)
_SHORT_MEMORY: Final = grows_less_than(256, 8_192)
# One object that stays for each of some four thousand runs a minute is far above this; caches that fill are below.
_BLOCKS: Final = grows_less_than(1_000, 3_000)
_SHORT_BLOCKS: Final = grows_less_than(1_000, 30_000)
_LATENCY: Final = at_most(1.5, 10)
_CPU: Final = at_most(1.3, 5)
_SIZE: Final = at_most(1.5, 25)
_SIZES: Final = ("asyncio tasks", "live runs", "timers", "waiting for ends", "in background")
_EACH_AT_LEAST: Final = 5
_WINDOWS: Final = 24
_SHORT_SECONDS: Final = 150.0


class Watch:
    """The measures of one load."""

    def __init__(
        self, kind: str, folder: Path, engine: int, reader: int, sizes: DatabaseSizes, *, seconds: float
    ) -> None:
        self.measures: dict[str, Measure] = {}
        self._is_short = seconds < _SHORT_SECONDS
        self._kind, self._folder, self._engine, self._reader, self._sizes = kind, folder, engine, reader, sizes
        self._began = time.monotonic()
        self._last: tuple[float, ProcessSample] | None = None

    async def sample(self) -> None:
        """Look once."""
        now, engine, reader = time.monotonic(), sample_process(self._engine), sample_process(self._reader)
        if self._last:
            before, last = self._last
            share = (engine.cpu_seconds - last.cpu_seconds) / (now - before) * 100
            self._add("CPU of the engine, % of a core", self._unless_short(_CPU), now, share)
        self._last = now, engine
        memory = self._unless_short(_MEMORY, _SHORT_MEMORY)
        self._add("memory of the engine, KiB", memory, now, engine.memory_kib)
        self._add("file descriptors of the engine", not_higher(), now, engine.descriptors)
        self._add("threads of the engine", not_higher(), now, engine.threads)
        self._add("memory of the reader, KiB", memory, now, reader.memory_kib)
        self._add("file descriptors of the reader", not_higher(2), now, reader.descriptors)
        database, log = await self._sizes.sample()
        # PostgreSQL keeps as much of its log as it is told to, and fills that first.
        log_rule = at_most(1.5, 4_096) if self._kind == "sqlite" else _SHOWN
        self._add("write-ahead log, KiB", log_rule, now, log)
        self._add("database, KiB", grows_steadily(1.5, 2_048), now, database)

    def hear(self) -> None:
        """Add what the processes have told of themselves."""
        for process in ("engine", "reader"):
            lines = list(told_lines(self._folder / process))
            for line in lines if process == "engine" else ():
                self._add_sizes(line["at"], line["sizes"])
            size = max(1, len(lines) // _WINDOWS)
            for begin in range(0, len(lines) - size + 1, size):
                self._add_latencies(process, lines[begin : begin + size])

    def _add_latencies(self, process: str, lines: Sequence[dict[str, Any]]) -> None:
        at, gathered = lines[-1]["at"], dict[str, list[float]]()
        for line in lines:
            for name, milliseconds in line["latencies"].items():
                gathered.setdefault(name, []).extend(milliseconds)
        for name, milliseconds in gathered.items():
            # In a window with few of them the slowest one says nothing about the others.
            if len(milliseconds) >= _EACH_AT_LEAST and (process == "engine" or name != "start accepted"):
                rule = self._unless_short(_LATENCY)
                self._add(f"{name}, p50 ms", rule, at, percentile(milliseconds, 0.5))
                self._add(f"{name}, p99 ms", rule, at, percentile(milliseconds, 0.99))

    def _add_sizes(self, at: float, sizes: dict[str, int]) -> None:
        for name, value in sizes.items():
            if name in _SIZES:
                self._add(name, self._unless_short(_SIZE), at, value)
        # Those that were cancelled stay in line until they would have been due, a minute at the most.
        self._add("timers, cancelled ones too", _SHOWN, at, sizes["timers in line"])
        self._add("own runs remembered", _SIZE, at, sizes["own runs"])
        if "blocks" in sizes:
            self._add("blocks, after a collection", self._unless_short(_BLOCKS, _SHORT_BLOCKS), at, sizes["blocks"])

    def _unless_short(self, rule: Rule, for_short: Rule = _SHOWN) -> Rule:
        """Judge a short load otherwise: caches still fill, and a few seconds of a busy machine must not decide."""
        return for_short if self._is_short else rule

    def _add(self, name: str, rule: Rule, at: float, value: float) -> None:
        measure = self.measures.setdefault(name, Measure(name, rule))
        measure.points.append(Point((at - self._began) / 60, value))
