"""Compiles the hot modules to machine code where a wheel is built with WONDER_COMPILED=1; else a wheel is pure Python.

mypyc compiles them from the same source: what they do is the same, in about half the time. `make compiled` builds such
a wheel into build/compiled, `make bench` measures it. What is to be known of mypyc (tests/compiled look after it):

- It checks every declared type while it runs: an annotation that is not true is an error there.
- It leaves out what a class says beside its bases, such as `frozen=True`: Structs of msgspec are not compiled.
- What a coroutine has caught, it keeps in the thread and not in the coroutine. One that waits inside of `except`,
  `finally` or `async with` raises afterwards what another has caught meanwhile, or nothing, which ends the process.
  So those that are compiled wait outside of these.
- It compares a float with an integer as two floats, for which 2**63 - 1 is 2**63.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "WONDER_COMPILED"
# How much the C compiler is to think about it, 0 to 3; the tests of a wheel need no fast one.
LEVEL = "WONDER_COMPILED_LEVEL"
SOURCE = Path(__file__).parent / "src"
COMPILED = {
    "wonder/actions": ("context", "python", "taking"),
    "wonder/app": ("ids", "local_worker"),
    "wonder/context": ("fields", "plan", "rows", "scalars", "tables", "writes"),
    "wonder/coordinator": (
        "admission",
        "at_once",
        "background",
        "commits",
        "coordinator",
        "ends",
        "facts_log",
        "live",
        "logged_facts",
        "sharing",
        "starting",
        "timers",
    ),
    "wonder/engine": (
        "budget_gate",
        "compiled",
        "contexts",
        "control",
        "decide",
        "ending",
        "evolve",
        "fan_out",
        "joins",
        "limits",
        "merging",
        "nodes",
        "pure",
        "routing",
        "state",
        "state_check",
        "triggers",
        "turn",
        "views",
        "waiting",
        "waits",
        "writing",
    ),
    "wonder/executor": (
        "acting",
        "ahead",
        "assignment",
        "environment",
        "executor",
        "limits",
        "redacting",
        "running",
    ),
    "wonder/language": ("mappings", "redaction", "targets", "values"),
    "wonder/language/paths": ("getters",),
    "wonder/language/schemas": ("validators",),
    "wonder/storage": (
        "linux_aio",
        "processors",
        "sqlite_commits",
        "sqlite_entries",
        "sqlite_jobs",
        "sqlite_journal",
    ),
    "wonder/storage/runs": (
        "cells",
        "event_rows",
        "metric_rows",
        "recording",
        "run_rows",
        "scope_rows",
        "token_rows",
        "trigger_rows",
        "wait_rows",
    ),
}
_MYPY = """
[mypy]
strict = True
python_version = 3.11
plugins = pydantic.mypy
follow_imports = silent
"""


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel, beside their sources."""

    _folder: Path | None = None

    def dependencies(self) -> list[str]:
        """Give what is needed to compile: types are looked up in what Wonder itself needs."""
        if not self._is_wanted:
            return []
        return ["mypy>=1.18", "setuptools>=65", "types-PyYAML", *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless a wheel is only a link to the sources."""
        if version != "standard" or not self._is_wanted:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="wonder-compiled-"))
        for built, name in compile_modules(self._folder):
            build_data["force_include"][str(built)] = name
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled, which is in the wheel now."""
        if self._folder is not None:
            shutil.rmtree(self._folder)

    @property
    def _is_wanted(self) -> bool:
        return os.environ.get(SWITCH) == "1"


def compile_modules(folder: Path) -> list[tuple[Path, str]]:
    """Compile into a folder; gives each file that was made with its place in the wheel."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    settings = folder / "mypy.ini"
    settings.write_text(_MYPY)
    paths = [f"{room}/{name}.py" for room, names in COMPILED.items() for name in names]
    # mypyc names modules after paths below the working directory, and setuptools reads the command line.
    before, arguments = Path.cwd(), sys.argv
    os.chdir(SOURCE)
    sys.argv = ["setup.py"]
    try:
        extensions = mypycify(
            [f"--config-file={settings}", f"--cache-dir={folder / 'cache'}", *paths],
            target_dir=str(folder / "c"),
            group_name="wonder",
            opt_level=os.environ.get(LEVEL, "3"),
            debug_level="0",
        )
        command: Any = Distribution({"name": "wonder", "ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.parallel = str(folder / "lib"), str(folder / "objects"), True
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
        sys.argv = arguments
    made = sorted((folder / "lib").rglob("*.so")) + sorted((folder / "lib").rglob("*.pyd"))
    return [(path, path.relative_to(folder / "lib").as_posix()) for path in made]
