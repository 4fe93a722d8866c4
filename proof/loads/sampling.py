"""Samples of a process and its database, taken from outside."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from wonder.storage.opening import open_store
from wonder.storage.store import Store
from wonder.storage.url import SqliteAddress, parse_url

_TICKS: Final = os.sysconf("SC_CLK_TCK")


class ProcessSample(NamedTuple):
    """A process at one moment, as /proc has it."""

    memory_kib: int
    """Of its own, without files that are mapped."""
    descriptors: int
    threads: int
    cpu_seconds: float


def sample_process(process_id: int) -> ProcessSample:
    """Look at a process; raises ProcessLookupError when it has ended."""
    folder = Path(f"/proc/{process_id}")
    fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    if "RssAnon" not in fields:
        # It is there until somebody asks how it ended.
        raise ProcessLookupError(process_id)
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    cpu_seconds = (int(stat[11]) + int(stat[12])) / _TICKS
    descriptors = len(list((folder / "fd").iterdir()))
    return ProcessSample(int(fields["RssAnon"].split()[0]), descriptors, int(fields["Threads"]), cpu_seconds)


class DatabaseSizes:
    """How much room a database takes, in KiB: all of it, and the log of what is not in its tables yet."""

    def __init__(self, url: str, store: Store) -> None:
        self._address, self._store = parse_url(url), store

    @classmethod
    async def open(cls, url: str) -> "DatabaseSizes":
        """Look at a database that others use."""
        return cls(url, await open_store(url, create=False))

    async def sample(self) -> tuple[int, int]:
        """Give both sizes."""
        if isinstance(self._address, SqliteAddress):
            return _kib(self._address.path, ""), _kib(self._address.path, "-wal")
        sizes = "SELECT pg_database_size(current_database()), (SELECT sum(size) FROM pg_ls_waldir())"
        ((of_all, of_log),) = await self._store.query(sizes)
        return int(str(of_all)) // 1024, int(str(of_log)) // 1024

    async def close(self) -> None:
        """Let go of the database."""
        await self._store.close()


def _kib(path: Path, suffix: str) -> int:
    file = Path(f"{path}{suffix}")
    return file.stat().st_size // 1024 if file.exists() else 0


def told_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read what a process has told of itself, see `proof.loads.measured`."""
    if path.exists():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)
