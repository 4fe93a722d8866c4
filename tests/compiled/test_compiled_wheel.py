"""The compiled wheel: hot modules as machine code, made from the same source, judged by the same tests."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CAN_COMPILE = shutil.which("cc") is not None and Path(sysconfig.get_path("include"), "Python.h").exists()
# Every rule of control flow, random runs and their rows on both databases, tasks with all that can go wrong in them,
# and commits that fail or go to the journal.
JUDGES = (
    "tests/engine",
    "tests/storage/test_runs_recording.py",
    "tests/storage/test_journal_settling.py",
    "tests/storage/test_processors.py",
    "tests/storage/test_sqlite_commits.py",
    "tests/storage/test_sqlite_journal.py",
    "tests/executor",
    "tests/context",
    "tests/coordinator/test_at_once.py",
    "tests/coordinator/test_commit_order.py",
    "tests/coordinator/test_durable_first.py",
    "tests/coordinator/test_failing_commits.py",
    "tests/coordinator/test_logged_facts.py",
    "tests/coordinator/test_shared_reads.py",
    "tests/coordinator/test_tasks_of_runs.py",
    "tests/language/test_mappings.py",
    "tests/language/test_paths.py",
    "tests/language/test_redaction.py",
    "tests/language/test_schema_validators.py",
    "tests/language/test_targets.py",
    "tests/language/test_values.py",
)


def compiled_modules() -> list[Path]:
    """Read which modules are compiled; the hook itself can only be imported where wheels are built."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text())
    named = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED"
    )
    return [ROOT / "src" / room / f"{name}.py" for room, names in named.items() for name in names]


@pytest.mark.parametrize("path", compiled_modules(), ids=lambda path: f"{path.parent.stem}-{path.stem}")
def test_compiled_modules_have_nothing_that_would_be_something_else_when_compiled(path: Path) -> None:
    """See hatch_build.py for what that is."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    casts = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "typing.cast")]
    assert not casts
    assert not [node for node in nodes if isinstance(node, ast.ClassDef) and node.keywords]
    caught = [node for node in nodes if isinstance(node, ast.ExceptHandler)]
    left = [one for node in nodes if isinstance(node, ast.Try) for one in node.finalbody]
    waits = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
    assert not [node for place in (*caught, *left) for node in ast.walk(place) if isinstance(node, waits)]
    assert not [node for node in nodes if isinstance(node, ast.AsyncWith)]


@pytest.mark.takes_minutes
@pytest.mark.skipif(not CAN_COMPILE, reason="there is no C compiler, or Python has no headers")
def test_a_compiled_wheel_passes_the_tests_of_what_is_compiled(tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    target = tmp_path / "compiled"
    install = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--reinstall"]
    environment = os.environ | {"PYTHONPATH": str(target)}
    subprocess.run(
        [*install, "--no-build-isolation", "--target", target, ROOT],
        env=os.environ | {"WONDER_COMPILED": "1", "WONDER_COMPILED_LEVEL": "0"},
        check=True,
        timeout=900,
    )
    told = subprocess.run(
        [sys.executable, "-m", "wonder", "--version"], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.endswith(" (compiled)\n")
    judged = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *JUDGES],
        cwd=ROOT,
        env={name: value for name, value in environment.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert judged.returncode == 0, judged.stdout[-5_000:]
