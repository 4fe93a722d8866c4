"""A nursery: real processes of the proof's program, made fast by one process that imports everything and forks."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Nursery:
    """Starts processes, and says how they ended."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "proof.program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )

    def start(self, output: Path, **settings: Any) -> int:
        """Start a process that prints to a file; gives its id."""
        return self._ask("start", str(output), settings)

    def wait(self, process_id: int) -> int:
        """Wait for a process to end; gives its exit status, negative if a signal ended it."""
        return self._ask("wait", process_id)

    def is_over(self, process_id: int) -> bool:
        """Say whether a process has ended; `wait` still gives how."""
        try:
            state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"

    async def ended(self, process_id: int) -> int:
        """Wait for a process to end while other things go on; gives its exit status."""
        while not self.is_over(process_id):  # noqa: ASYNC110  # another process sets no event
            await asyncio.sleep(0.02)
        return self.wait(process_id)

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
