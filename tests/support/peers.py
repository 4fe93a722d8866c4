"""Programs from npm that tests talk to: installed once per version of their lock, started with node."""

import fcntl
import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

_WANTED = Path(__file__).parents[1] / "peers"
_CACHE = Path(__file__).parents[2] / ".cache" / "peers"


@cache
def node_modules() -> Path:
    """The folder that holds everything that tests/peers/package.json asks for."""
    lock = (_WANTED / "package-lock.json").read_bytes() + (_WANTED / "package.json").read_bytes()
    folder = _CACHE / hashlib.sha256(lock).hexdigest()[:16]
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as held:
        # Several test processes may come here at once; the mark is written last, so half an installation is made anew.
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            _install(folder)
    return folder / "node_modules"


def node_program(path: str) -> list[str]:
    """The words of a command that starts a program of `node_modules`, such as `@scope/name/dist/index.js`."""
    node = shutil.which("node")
    assert node, "the tests of this kind of action need Node; install it"
    program = node_modules() / path
    assert program.is_file(), f"there is no {program}"
    return [node, str(program)]


def _install(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_WANTED / name, folder)
    words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"npm ci failed: {done.stderr[-2000:]}"
    (folder / "installed").touch()
