"""Crashes at operations of the store: a small share of what `python -m proof crash_points` plays."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A fan-out, a question, a timer, a sub-workflow and an event; clients that cancel; an action with an idempotency key.
WORKFLOWS = ["everything", "cancelled", "charges"]


# So many of each, chosen by the seed; all of them take a minute.
@pytest.mark.parametrize(("database", "count"), [("sqlite", 12), ("postgresql", 8)])
def test_a_run_ends_the_same_way_whichever_write_its_process_ends_with(database: str, count: int) -> None:
    """INV-1, INV-2, INV-3, INV-4, CTL-16, RET-4: before, during or after an operation that writes."""
    # A program of its own: it forks, which a process of tests with its threads should not.
    command = [sys.executable, "-m", "proof", "crash_points", "--reads", "never", "--count", str(count)]
    chosen = ["--database", database, "--only", *WORKFLOWS]
    finished = subprocess.run([*command, *chosen], cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    rows = [line.split() for line in finished.stdout.splitlines()]
    reached = {row[0]: int(row[4]) for row in rows if len(row) == 7 and row[0] in WORKFLOWS}
    assert set(reached) == set(WORKFLOWS)
    assert min(reached.values()) >= 6
