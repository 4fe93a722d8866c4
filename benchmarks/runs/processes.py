"""What is measured from outside: the start of a process, its memory, and what comes after kill -9."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.runs.databases import Database
from benchmarks.runs.noop import HOLD

_ROOT = Path(__file__).parent.parent.parent
_SECONDS = 120


def measure_first_run(database: Database, rounds: int = 5) -> dict[str, float]:
    """Seconds from the start of a process to the end of its first run, in a new database."""
    seconds = []
    with tempfile.TemporaryDirectory(prefix="wonder-bench-") as folder:
        # Bytecode that was kept, as after every first start, also where a machine is set to keep none.
        kept = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(rounds + 1):
            url, began = database.new_url(), perf_counter()
            with _launch("first-run", url, **kept) as process:
                _await_line(process, "done")
                seconds.append(perf_counter() - began)
    del seconds[0]
    return {"seconds": statistics.median(seconds), "best_seconds": min(seconds)}


def measure_recovery(database: Database) -> dict[str, float]:
    """Seconds from kill -9, with 1,000 runs at the first of their 5 nodes, until another process has ended them all."""
    url = database.new_url()
    with _launch("begin-runs", url, **{HOLD: "1"}) as process:
        _await_line(process, "under way")
        process.kill()
        began = perf_counter()
    with _launch("end-runs", url) as process:
        _await_line(process, "done")
        return {"seconds": perf_counter() - began}


def measure_parked(database: Database) -> dict[str, float]:
    """What 10,000 parked runs take, in a process that does nothing else."""
    with _launch("park-runs", database.new_url()) as process:
        assert process.stdout is not None
        found: dict[str, float] = json.loads(process.stdout.readline())
        return found


def _launch(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.runs.program", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env=os.environ | environment,
    )


def _await_line(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    found = process.stdout.readline().strip()
    assert found == line, f"the measured process ended with {process.wait(_SECONDS)}"
