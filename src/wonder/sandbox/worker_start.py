"""Starting a worker: what it is given, and a line to the engine that is cut when that dies."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from wonder.sandbox.pool_errors import WorkerNotStarted

_HERE: Final = Path(__file__).parent


def start(memory_bytes_max: int) -> tuple["subprocess.Popen[bytes]", int]:
    """Start a worker; gives it with our end of its line, which is to be closed after it. Raises WorkerNotStarted."""
    found = find_spec("_quickjs")
    if found is None or found.origin is None:
        raise WorkerNotStarted("the package quickjs-ng is missing; install it with: pip install quickjs-ng")
    ours, theirs = _lifeline()
    packages = str(Path(found.origin).parent)
    # Isolated, and without the packages of the engine: it starts in a tenth of the time, and knows nothing.
    arguments = [sys.executable, "-I", "-S", "-B", str(_HERE / "worker.py")]
    arguments += [packages, str(_HERE), str(theirs), str(memory_bytes_max)]
    try:
        popen = subprocess.Popen(  # noqa: S603  # an interpreter of ours with a file of ours
            arguments,
            cwd="/",
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(ours)
        raise WorkerNotStarted(error.strerror or str(error)) from error
    finally:
        os.close(theirs)
    return popen, ours


def _lifeline() -> tuple[int, int]:
    """Open a pipe whose one end is held here and nowhere else, so that it ends with this process."""
    try:
        theirs, ours = os.pipe()
    except OSError as error:
        raise WorkerNotStarted(error.strerror or str(error)) from error
    return ours, theirs


def why_not_started(exit_code: int | None) -> str:
    """Say what may be wrong when a worker has ended before it was ready."""
    return (
        f"it has ended with {exit_code} before it was ready; run 'python -c \"import quickjs\"' to see whether it works"
    )
