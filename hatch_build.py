"""Compiles the engine to machine code where a wheel is built with WONDER_COMPILED=1; else a wheel is pure Python.

mypyc compiles from the same source: what a module does is the same, in about half the time. `make compiled` builds such
a wheel into build/compiled, `make bench` measures it. Which modules are compiled is a rule (`is_compiled`): those of
some rooms, but for what mypyc would make something else of:

- It leaves out what a class says beside its bases, such as `frozen=True`, what a decorator makes of a class, and what
  an annotation says beside the type: so msgspec's Structs and TypedDicts stay as they are.
- What a coroutine has caught, it keeps in the thread and not in the coroutine: one that waits there raises afterwards
  what another has caught meanwhile.
- It checks every declared type while it runs, also that of a `cast`.
- It can't compile an assignment to several names in a class.
"""

import ast
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
# Only the modules of these folders, separated by commas; a test compiles few of them, which takes seconds.
ONLY = "WONDER_COMPILED_ONLY"
# The rooms that decide and make rows. They only compute, which is what a compiler makes quicker; what waits for disks,
# networks and tasks stays Python.
FOLDERS = ("context", "engine", "language", "language/paths", "storage/runs")
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


def compiled_modules() -> list[Path]:
    """List the modules that are compiled."""
    chosen = [name for name in os.environ.get(ONLY, "").split(",") if name]
    found = [path for name in chosen or FOLDERS for path in sorted((SOURCE / "wonder" / name).glob("*.py"))]
    return [path for path in found if is_compiled(path)]


def is_compiled(path: Path) -> bool:
    """Say whether mypyc makes of a module what Python makes of it; a package's own file has nothing to compile."""
    if path.stem == "__init__":
        return False
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef) and not _is_plain(node):
            return False
        if isinstance(node, ast.AsyncFunctionDef) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "cast"):
            return False
    return True


def _is_plain(made: ast.ClassDef) -> bool:
    is_record = any(ast.unparse(base) in ("Struct", "msgspec.Struct", "TypedDict") for base in made.bases)
    has_several = any(isinstance(one, ast.Assign) and len(one.targets) > 1 for one in made.body)
    return not (made.keywords or made.decorator_list or is_record or has_several)


def compile_modules(folder: Path) -> list[tuple[Path, str]]:
    """Compile into a folder; gives each file that was made with its place in the wheel."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    settings = folder / "mypy.ini"
    settings.write_text(_MYPY)
    paths = [str(path.relative_to(SOURCE)) for path in compiled_modules()]
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
