"""The outside log of real processes: every line is one write to the end of a file, and outlives whoever wrote it."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

# The true time, also where a process is told another one.
_TRUE_NS: Final = time.time_ns
Line = dict[str, Any]


def true_ms() -> int:
    """Give the time of day, in milliseconds since 1970, as the machine has it."""
    return _TRUE_NS() // 1_000_000


class OutsideLog:
    """A log as `wonder.checker.outside` reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, kind: str, **fields: Any) -> None:
        """Write down what was seen just now."""
        self.note_all([{"kind": kind, "at": true_ms(), **fields}])

    def note_all(self, lines: Iterable[Line]) -> None:
        """Write several lines at once."""
        # In one write: a process that is killed leaves all of it, or nothing.
        os.write(self._descriptor, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def read_lines(path: Path) -> list[Line]:
    """Read a log."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def condensed(lines: Iterable[Line], *, by_lease: bool = False) -> list[Line]:
    """Keep the last event that was written to each run: those before are there, or their numbers have gaps.

    `by_lease` keeps the last one that each lease wrote, where it matters whose it was.
    """
    kept: list[Line] = []
    last: dict[tuple[str, int], Line] = {}
    for line in lines:
        if line["kind"] == "wrote":
            last[line["run"], line["epoch"] if by_lease else 0] = line
        else:
            kept.append(line)
    return kept + list(last.values())
