"""The compiled wheel: rooms that only compute as machine code, made from the same source, judged by the same tests."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
CAN_COMPILE = shutil.which("cc") is not None and Path(sysconfig.get_path("include"), "Python.h").exists()
# Every rule of control flow, random runs and their rows on SQLite, contexts, values, paths and mappings, and facts that
# come back from the journal. Not the long search through contexts, which tries the same source in every test run.
JUDGES = (
    "tests/engine",
    "tests/context",
    "tests/storage/test_runs_recording.py",
    "tests/language/test_mappings.py",
    "tests/language/test_paths.py",
    "tests/language/test_redaction.py",
    "tests/language/test_refs.py",
    "tests/language/test_targets.py",
    "tests/language/test_values.py",
    "tests/coordinator/test_logged_facts.py",
)
CHOSEN = "not postgresql and not context_property"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The hook that compiles."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_engine_and_what_makes_rows_are_compiled_and_nothing_that_waits(hook: ModuleType) -> None:
    found = {str(path.relative_to(ROOT / "src" / "wonder")) for path in hook.compiled_modules()}
    assert {"engine/decide.py", "engine/state.py", "context/rows.py", "language/mappings.py"} <= found
    assert {"storage/runs/recording.py", "storage/runs/token_rows.py"} <= found
    assert not [path for path in found if path.startswith(("coordinator/", "executor/", "actions/"))]


@pytest.mark.parametrize(
    "source",
    [
        "class Fact(Struct): ...",
        "class Fact(msgspec.Struct): ...",
        "class Fact(TypedDict): ...",
        "class Fact(Base, frozen=True): ...",
        "@dataclass\nclass Fact: ...",
        "class Fact:\n    one = other = 1",
        "async def wait() -> None: ...",
        "value = cast(int, something)",
    ],
)
def test_modules_that_would_be_something_else_when_compiled_stay_as_they_are(
    hook: ModuleType, tmp_path: Path, source: str
) -> None:
    path = tmp_path / "module.py"
    path.write_text("class Plain:\n    one = 1\n")
    assert hook.is_compiled(path)
    path.write_text(source)
    assert not hook.is_compiled(path)


def install(target: Path, **settings: str) -> dict[str, str]:
    """Install a compiled wheel into a folder; gives an environment in which it is used."""
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--reinstall"]
    subprocess.run(
        [*command, "--no-build-isolation", "--target", target, ROOT],
        env=os.environ | {"WONDER_COMPILED": "1", "WONDER_COMPILED_LEVEL": "0"} | settings,
        check=True,
        timeout=1_800,
    )
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return given | {"PYTHONPATH": str(target)}


def judge(environment: dict[str, str], *tests: str) -> None:
    """Run tests with what an environment has installed."""
    judged = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", CHOSEN, *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_800,
    )
    assert judged.returncode == 0, judged.stdout[-5_000:]


@pytest.mark.takes_long
@pytest.mark.skipif(not CAN_COMPILE, reason="there is no C compiler, or Python has no headers")
def test_a_wheel_of_some_compiled_modules_passes_their_tests(tmp_path: Path) -> None:
    """All of them take minutes: see below."""
    environment = install(tmp_path / "compiled", WONDER_COMPILED_ONLY="language/paths")
    assert list((tmp_path / "compiled" / "wonder" / "language" / "paths").glob("*.so"))
    judge(environment, "tests/language/test_paths.py")


@pytest.mark.deep
@pytest.mark.skipif(not CAN_COMPILE, reason="there is no C compiler, or Python has no headers")
def test_a_compiled_wheel_passes_the_tests_of_what_is_compiled(tmp_path: Path) -> None:
    environment = install(tmp_path / "compiled")
    told = subprocess.run(
        [sys.executable, "-m", "wonder", "--version"], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.endswith(" (compiled)\n")
    judge(environment, *JUDGES)
