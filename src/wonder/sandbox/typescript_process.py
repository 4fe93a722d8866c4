"""CompilerProcess: our side of a process in which the TypeScript compiler is loaded."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from wonder.errors import WonderError
from wonder.sandbox.typescript_answers import read_answer
from wonder.sandbox.typescript_worker import FRAME

FOLDER: Final = Path(__file__).parent / "compiler"
_ANSWER_BYTES_MAX: Final = 64 << 20
# Python itself needs nothing of ours; some systems look for its libraries with these.
_KEPT_VARIABLES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class CompilerNotStarted(WonderError):
    """The TypeScript compiler could not be started."""

    code = "COMPILER_NOT_STARTED"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the TypeScript compiler does not start: {reason}; install the packages quickjs-ng and dukpy, and never "
            "quickjs beside them, which has a module of the same name"
        )
        self.reason = reason


@dataclass(frozen=True)
class CompilerLimits:
    """How much compiling one source may take: computing, time in all, and memory.

    Of 128 KiB of types, the largest source, compiling takes little more than a second and 70 MB.
    """

    cpu_seconds: float = 3.0
    # So much longer, because a busy machine is no reason to fail.
    wall_seconds: float = 120.0
    memory_bytes: int = 192 << 20


class CompileBudget:
    """How much computing all sources of one deployment may take together."""

    def __init__(self, cpu_seconds: float = 30.0) -> None:
        self.cpu_seconds, self._spent = cpu_seconds, 0.0

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of it."""
        return self._spent >= self.cpu_seconds

    def spend(self, cpu_seconds: float) -> None:
        """Take from it what compiling a source took."""
        self._spent += cpu_seconds


class CompilerProcess:
    """One process, which compiles one source at a time; a caller that is cancelled meanwhile has to end it."""

    def __init__(self, process: asyncio.subprocess.Process, limits: CompilerLimits) -> None:
        self._process, self._limits = process, limits

    @classmethod
    async def start(cls, limits: CompilerLimits) -> "CompilerProcess":
        """Start a process; it loads the compiler while the first source is on its way. Raises CompilerNotStarted."""
        try:
            process = await asyncio.create_subprocess_exec(
                *_command(limits),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise CompilerNotStarted(str(error)) from error
        return cls(process, limits)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._process.returncode is not None

    async def ask(self, source: str) -> tuple[dict[str, Any], float]:
        """Have a source compiled; gives the answer, and the seconds of computing that it took.

        What ends the process instead is the answer: the reason for which it `stopped`.
        """
        content = json.dumps(source).encode("ascii")
        try:
            async with asyncio.timeout(self._limits.wall_seconds):
                answer = await self._exchange(content)
        except TimeoutError:
            return {"stopped": "time"}, self._limits.cpu_seconds
        except (OSError, asyncio.IncompleteReadError):
            await self.end()
            is_late = self._process.returncode == -signal.SIGXCPU
            return {"stopped": "time" if is_late else "death"}, self._limits.cpu_seconds
        return read_answer(answer)

    async def end(self) -> None:
        """End it, whatever it does."""
        process = self._process
        with suppress(ProcessLookupError):
            process.kill()
        assert process.stdin
        process.stdin.close()
        await process.wait()

    async def _exchange(self, content: bytes) -> bytes:
        to, read_from = self._process.stdin, self._process.stdout
        assert to
        assert read_from
        to.write(FRAME.pack(len(content)) + content)
        await to.drain()
        (size,) = FRAME.unpack(await read_from.readexactly(FRAME.size))
        if size > _ANSWER_BYTES_MAX:
            raise OSError(f"an answer of {size:,} bytes")
        return await read_from.readexactly(size)


def compiler_hash() -> str:
    """Give a hash of all that decides what a source is compiled to, but for the source itself."""
    hashed = sha256(f"dukpy {version('dukpy')}\n".encode())
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in (".js", ".ts"):
            hashed.update(f"{path.name}\n".encode() + path.read_bytes())
    return hashed.hexdigest()


def _command(limits: CompilerLimits) -> list[str]:
    places = {name: find_spec(name) for name in ("_quickjs", "dukpy")}
    paths = {name: Path(spec.origin).parent for name, spec in places.items() if spec and spec.origin}
    for name in places:
        if name not in paths:
            raise CompilerNotStarted(f"there is no module {name}")
    # Started by its path and without site: nothing of what is installed is loaded that it does not ask for.
    worker = Path(__file__).with_name("typescript_worker.py")
    compiler = paths["dukpy"] / "jsmodules" / "typescriptServices.js"
    arguments = (paths["_quickjs"], compiler, FOLDER, limits.memory_bytes, limits.cpu_seconds)
    return [sys.executable, "-I", "-S", str(worker), *map(str, arguments)]
