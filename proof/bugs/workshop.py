"""A workshop: a copy of the project in which a bug is planted and looked for; the project itself stays whole."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from proof.bugs.bug import ROOT, SOURCE, Bug

# What the catchers need of the project.
_PARTS = ("src", "tests", "samples", "simulation", "proof", "docs", "benchmarks", "pyproject.toml", "README.md")
# Catchers take seconds: what is not over by then hangs.
LIMIT_SECONDS = 120.0
_PYTEST = ("pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\w+)", re.MULTILINE)
_SEED = re.compile(r"--seed (\d+)")


class Verdict(NamedTuple):
    """What a catcher says: who has noticed something, if anybody, and whether it could look at all."""

    caught_by: str | None
    seconds: float
    output: str
    broken: bool = False


@contextmanager
def workshop() -> Iterator[Path]:
    """Copy the project as it is now; copies of this copy are what bugs are planted in."""
    with tempfile.TemporaryDirectory(prefix="wonder-planted-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "whole"
        root.mkdir()
        for part in _PARTS:
            place = ROOT / part
            if place.is_dir():
                shutil.copytree(place, root / part)
            elif place.exists():
                shutil.copy2(place, root / part)
        _check_import(root)
        yield root


@contextmanager
def planted(whole: Path, bug: Bug) -> Iterator[Path]:
    """Give a copy with one bug in it."""
    root = whole.with_name(bug.name)
    shutil.copytree(whole, root)
    try:
        bug.plant(root)
        _check_import(root)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def run_catcher(root: Path, catcher: str | Sequence[str], limit_seconds: float = LIMIT_SECONDS) -> Verdict:
    """Run the tests of a catcher, or the simulation, on a copy."""
    simulates = isinstance(catcher, str) and catcher.startswith("simulation ")
    tests = [catcher] if isinstance(catcher, str) else list(catcher)
    words = tests[0].split() if simulates else [*_PYTEST, *tests]
    began = time.monotonic()
    # A group of its own, so that all that a hanging test has started ends with it.
    program = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=root,
        env=_environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = program.communicate(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        output, _ = program.communicate()
        return Verdict(f"timeout: {tests[0]}", time.monotonic() - began, output)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
    seconds = time.monotonic() - began
    if program.returncode == 0:
        return Verdict(None, seconds, output)
    found = (_SEED if simulates else _FAILED).search(output)
    # Other exit statuses say that the catcher itself is broken: that is no catch.
    if program.returncode != 1 or found is None:
        return Verdict(None, seconds, output, broken=True)
    return Verdict(f"simulation, seed {found[1]}" if simulates else found[1], seconds, output)


def _environment(root: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return {**kept, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}


def _check_import(root: Path) -> None:
    """See to it that the copy is what is imported, and not the installed package."""
    command = [sys.executable, "-c", "import wonder; print(wonder.__file__)"]
    told = subprocess.run(command, cwd=root, env=_environment(root), capture_output=True, text=True, check=True)
    assert Path(told.stdout.strip()) == root / SOURCE / "__init__.py", f"{told.stdout.strip()} is no copy in {root}"
