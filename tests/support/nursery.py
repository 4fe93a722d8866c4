"""Real processes for whole-system tests, made fast: one program imports everything and forks for each of them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[1] / "system" / "engine_program.py"


class Nursery:
    """Starts processes of a program, the engine program if no other is named, and says how they ended."""

    def __init__(self, program: Path = PROGRAM) -> None:
        self._program = subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PROGRAM.parents[1]), *sys.path])},
        )

    def start(self, output: Path, what: str, *arguments: str) -> int:
        """Start a process that prints to a file; gives its id."""
        return self._ask("start", str(output), what, *arguments)

    def wait(self, process_id: int) -> int:
        """Wait for a process to end; gives its exit status, negative if a signal ended it."""
        return self._ask("wait", process_id)

    def run(self, output: Path, what: str, *arguments: str) -> int:
        """Start a process and wait for its end."""
        return self.wait(self.start(output, what, *arguments))

    def close(self) -> None:
        """End the program."""
        assert self._program.stdin
        assert self._program.stdout
        self._program.stdin.close()
        self._program.wait(timeout=30)
        self._program.stdout.close()

    def _ask(self, *order: Any) -> int:
        assert self._program.stdin
        assert self._program.stdout
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        return int(self._program.stdout.readline())


def last_told(lines: Sequence[str]) -> Any:
    """Give the last JSON document that a process printed; what it logs while it closes is in the same file."""
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))
