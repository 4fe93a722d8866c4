"""Phases: where a process is, in a byte of memory that it shares with whoever is going to kill it."""

import asyncio
import mmap
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import Any

from proof.outside_log import OutsideLog, true_ms
from wonder.coordinator.commits import GroupCommit
from wonder.storage.errors import LeaseLost
from wonder.storage.store import Entry, Fence, Store

_SIZE = 32
_COMMITS, _REFUSED = slice(8, 16), slice(16, 24)


class Phase(IntEnum):
    """What a process was doing when it was stopped."""

    STARTING = 0
    """It has no engine: it opens the database, or waits for the lease."""
    RECOVERING = 1
    """It has the lease, and brings runs out of their rows."""
    BETWEEN = 2
    """Actions act, timers run; nothing is decided that is not durable."""
    BEFORE = 3
    """Something is decided, and the store was not asked to commit it."""
    DURING = 4
    """The store was asked to commit, and has not answered."""
    AFTER = 5
    """The store has answered, and what follows from it was not all done."""


class SharedPhase:
    """The phase of one process, and how many commits it has made or was refused, for it to write and others to read."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_SIZE))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _SIZE)

    @property
    def phase(self) -> Phase:
        """Where the process is, or was when it died."""
        return Phase(self._bytes[0])

    def enter(self, phase: Phase) -> None:
        """Say where the process is from now on."""
        self._bytes[0] = phase

    @property
    def commits(self) -> int:
        """How many commits its engine has made."""
        return int.from_bytes(self._bytes[_COMMITS], "little")

    @property
    def refused(self) -> int:
        """How many commits were refused because the lease is another's."""
        return int.from_bytes(self._bytes[_REFUSED], "little")

    def count_commit(self) -> None:
        """Count a commit."""
        self._bytes[_COMMITS] = (self.commits + 1).to_bytes(8, "little")

    def count_refused(self) -> None:
        """Count a commit that was refused."""
        self._bytes[_REFUSED] = (self.refused + 1).to_bytes(8, "little")

    def forget(self) -> None:
        """Begin anew, for the next process."""
        self._bytes[:] = bytes(_SIZE)


class WatchedStore:
    """A store that tells in which phase of a commit it is, and logs what became durable; the rest is the real one."""

    def __init__(self, store: Store, shared: SharedPhase, log: OutsideLog, *, fenced: bool) -> None:
        self._store, self._shared, self._log, self._fenced = store, shared, log, fenced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def journal(self) -> Any:
        """Be the journal too, where the real store has one."""
        return None if self._store.journal is None else self

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Commit, and tell of it."""
        if fence is None:
            await self._store.commit(batch, **options)
            return
        entries = list(batch)
        shared = self._shared
        shared.enter(Phase.DURING)
        try:
            await self._store.commit(entries, fence=fence if self._fenced else None, **options)
        except LeaseLost:
            shared.count_refused()
            shared.enter(Phase.BETWEEN)
            raise
        except BaseException:
            shared.enter(Phase.BETWEEN)
            raise
        shared.enter(Phase.AFTER)
        shared.count_commit()
        self._log.note_all(_written(entries, fence))
        asyncio.get_running_loop().call_soon(self._leave)

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Log facts, and tell of it as of a commit; without a fence nothing is logged, as a log has its own."""
        if not self._fenced:
            return False
        shared = self._shared
        before = shared.phase
        shared.enter(Phase.DURING)
        try:
            is_logged = self._store.log(entry, fence)
        except LeaseLost:
            shared.count_refused()
            shared.enter(Phase.BETWEEN)
            raise
        except BaseException:
            shared.enter(Phase.BETWEEN)
            raise
        if is_logged:
            shared.enter(Phase.AFTER)
            shared.count_commit()
            asyncio.get_running_loop().call_soon(self._leave)
        else:
            shared.enter(before)
        return is_logged

    def _leave(self) -> None:
        if self._shared.phase is Phase.AFTER:
            self._shared.enter(Phase.BETWEEN)


def _written(entries: list[Entry], fence: Fence) -> list[dict[str, Any]]:
    epoch, now_ms = fence.parameters[2], true_ms()
    return [
        {"kind": "wrote", "run": row[0], "sequence": row[2], "epoch": epoch, "at": now_ms}
        for query, rows in entries
        if query == "insert_events"
        for row in rows
    ]


def watch_decisions(shared: SharedPhase) -> None:
    """Have the phase show from when on something is decided that is not durable."""
    touch = GroupCommit.touch

    def touched(self: GroupCommit) -> None:
        if shared.phase is not Phase.DURING:
            shared.enter(Phase.BEFORE)
        touch(self)

    GroupCommit.touch = touched  # type: ignore[method-assign]
