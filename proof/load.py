"""A mixed load for minutes: memory, descriptors, threads, sizes and latencies stay flat, and nothing is violated.

An engine process (`wonder.open`) is under a steady load of all kinds: chains, fan-outs in threads, races, events,
questions answered twice or wrongly, sleeps, tasks that fail and are retried, sub-workflows, cancels, pauses, retries
and forks of runs that have ended, starts that are repeated, long texts. Another process reads and sends requests. In
the end the checker looks at the whole database and at what the outside saw.
"""

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from proof.databases import KINDS, folder_of_proof, postgres_server, url_of
from proof.loads.flatness import HEAD
from proof.loads.sampling import DatabaseSizes
from proof.loads.watching import Watch
from proof.nursery import ROOT
from proof.outside_log import Line
from proof.verdict import Verdict, keep, lines_of
from wonder.storage.opening import open_store

# New clients a second that keep the engine at 30 to 50 % of a core here.
RATE: Final = 60.0
# As servers are that run for long: otherwise tables fill with dead rows, and queries are planned as if they were empty.
_TIDY: Final = {"autovacuum": "on", "autovacuum_naptime": "15s"}
_SAMPLES: Final = 120
_END_SECONDS: Final = 240.0


def main(arguments: list[str]) -> int:
    """Load an engine for so many minutes, say what was measured, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--rate", type=float, default=RATE, help=f"new clients a second (default {RATE:g})")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--runs", choices=("all", "own"), default="all", help="whose tasks the engine runs")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server(**_TIDY)) if given.database == "postgresql" else None
        folder = stack.enter_context(folder_of_proof())
        return asyncio.run(Load(given, folder, url_of(given.database, folder, server)).prove())


class Load:
    """One load of one database."""

    def __init__(self, given: argparse.Namespace, folder: Path, url: str) -> None:
        self._given, self._folder, self._url = given, folder, url
        self._seconds = given.minutes * 60
        # Often enough for a plot, and seldom enough that there is something to see between two samples.
        self._every = max(0.5, min(5.0, self._seconds / _SAMPLES))
        self._told: Counter[str] = Counter()
        self._faults: list[str] = []

    async def prove(self) -> int:
        """Load, watch, judge."""
        with self._process("engine") as engine:
            is_ready = await self._says(engine, "engine", "ready")
            with self._process("reader") as reader:
                if not is_ready or not await self._says(reader, "reader", "ready"):
                    print(*self._faults, sep="\n")
                    return 1
                for process in (engine, reader):
                    print("go", file=process.stdin, flush=True)
                watch = await self._watch(engine.pid, reader.pid)
                self._end(reader, "reader")
            await self._says(engine, "engine", "loaded")
            assert engine.stdin
            engine.stdin.close()
            self._end(engine, "engine")
        # First, because looking at every run may take as long as the load did.
        is_flat = self._print(watch)
        verdict, lines = Verdict(), lines_of(self._folder / "log")
        verdict.violations += self._faults
        await verdict.look(self._url, lines)
        verdict.violations += await self._told_to_nobody(lines)
        replay = f"python -m proof load --minutes {self._given.minutes:g} --database {self._given.database}"
        status = verdict.tell(f"{replay} --rate {self._given.rate:g} --seed {self._given.seed}")
        if status:
            keep(self._folder, lines)
            print(f"what was left is in {self._folder}")
        return status if is_flat else 1

    async def _watch(self, engine: int, reader: int) -> Watch:
        sizes = await DatabaseSizes.open(self._url)
        watch = Watch(self._given.database, self._folder, engine, reader, sizes, seconds=self._seconds)
        until = time.monotonic() + self._seconds - self._every / 2
        try:
            while time.monotonic() < until:
                await watch.sample()
                await asyncio.sleep(self._every)
        except (FileNotFoundError, ProcessLookupError):
            self._faults.append("a process has ended before its time")
        finally:
            await sizes.close()
        watch.hear()
        return watch

    @contextlib.contextmanager
    def _process(self, name: str) -> "Iterator[subprocess.Popen[str]]":
        given = self._given
        settings = {"url": self._url, "folder": str(self._folder), "seconds": self._seconds, "rate": given.rate}
        settings |= {"seed": given.seed, "every_seconds": self._every, "runs": given.runs}
        command = [sys.executable, "-m", f"proof.loads.{name}", json.dumps(settings)]
        with (self._folder / f"{name}-printed").open("w") as errors:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
                try:
                    yield process
                finally:
                    process.kill()

    async def _says(self, process: "subprocess.Popen[str]", name: str, word: str) -> bool:
        assert process.stdout
        said = await asyncio.to_thread(process.stdout.readline)
        if said.strip() != word:
            self._faults.append(f"the {name} did not say {word!r}: {said} {self._printed(name)}")
        return said.strip() == word

    def _end(self, process: "subprocess.Popen[str]", name: str) -> None:
        """Wait for a process to end, and take what it says last."""
        assert process.stdout
        try:
            said = process.stdout.read() if process.wait(_END_SECONDS) == 0 else ""
        except subprocess.TimeoutExpired:
            said = ""
        if not said:
            self._faults.append(f"the {name} did not end well: {self._printed(name)}")
            return
        last = json.loads(said.splitlines()[-1])
        self._told.update(last["counts"])
        self._faults += last["faults"]
        if printed := self._printed(name):
            self._faults.append(f"the {name} printed: {printed}")

    def _printed(self, name: str) -> str:
        return (self._folder / f"{name}-printed").read_text(errors="replace")[-2_000:]

    async def _told_to_nobody(self, lines: list[Line]) -> list[str]:
        """Look for runs of which no client was told: no process died, so every start was answered."""
        accepted = {line["run"] for line in lines if line["kind"] == "accepted"}
        store = await open_store(self._url, create=False)
        try:
            rows = await store.query("SELECT id FROM runs WHERE parent_run_id IS NULL")
        finally:
            await store.close()
        return [
            f"accepted: run {id!s} is there, and nobody was told of it" for (id,) in rows if str(id) not in accepted
        ]

    def _print(self, watch: Watch) -> bool:
        print(HEAD)
        for measure in watch.measures.values():
            print(measure)
        print("clients: " + ", ".join(f"{name} {number}" for name, number in sorted(self._told.items())))
        bent = [measure.name for measure in watch.measures.values() if not measure.is_flat]
        print(f"not flat: {'; '.join(bent)}" if bent else "flat", flush=True)
        return not bent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
