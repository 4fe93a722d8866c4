"""A soak, with as little of each kind of fault as there can be: a small share of what `make soak` does."""

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from proof.slices import KINDS, Slice, slices_of

from proof import soak

ROOT = Path(__file__).parents[2]


def test_a_soak_goes_round_until_its_time_is_over_and_sums_up(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--minutes", "0.1", "--seed", "5", "--smallest", "--only", "simulation", "power_loss", "crash_points"]
    assert soak.main(arguments) == 0, capfd.readouterr().out
    printed = capfd.readouterr().out
    assert "no violation\n" in printed
    assert "Python 3" in printed
    assert "PostgreSQL 18" in printed
    assert "all of it again: python -m proof soak --minutes 0.1 --seed 5 --smallest --only simulation" in printed


def test_a_slice_that_fails_is_told_with_the_command_that_replays_it(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    printing = "print('3 violations'); print('again: python -m proof kills --count 30 --seed 8'); raise SystemExit(1)"
    (tmp_path / "fails.py").write_text(printing)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    slices = [Slice("kills", "kills", 30, 8, ("fails",)), Slice("cuts", "connections", 5, 8, ("nothing",))]
    assert soak.Soak(60).run(iter(slices), "once more") == 1
    printed = capfd.readouterr().out
    assert "2 slices failed" in printed
    assert "  python -m proof kills --count 30 --seed 8\n" in printed
    assert "  python -m nothing\n" in printed
    assert [line.split()[3] for line in printed.splitlines() if line.startswith("kills  ")] == ["3"]


def processes_with(mark: str) -> list[int]:
    """Find the processes in whose environment something stands."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in environment.read_bytes():
                found.append(int(environment.parent.name))
    return found


def test_ctrl_c_ends_what_is_under_way_and_prints_the_summary() -> None:
    command = [sys.executable, "-m", "proof", "soak", "--only", "kills", "--seed", "5"]
    mark = f"WONDER_SOAK={uuid.uuid4()}"
    environment = os.environ | dict([mark.split("=")])
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert "violations" in process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert "broken off" in printed
    assert "all of it again: " in printed
    ends = time.monotonic() + 60
    while (left := processes_with(mark)) and time.monotonic() < ends:
        time.sleep(0.1)
    assert not left


def test_every_round_has_all_kinds_with_seeds_of_its_own() -> None:
    first, second = (list(slices_of(5 + number, number, smallest=True, only=KINDS)) for number in range(2))
    assert [one.kind for one in first] == list(KINDS)
    assert not {(one.kind, one.seed) for one in first} & {(one.kind, one.seed) for one in second}
