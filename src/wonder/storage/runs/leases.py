"""Leases: who may write. An owner that was replaced can write nothing any more (INV-5).

On PostgreSQL a lease runs out by the server's clock unless it is renewed. On SQLite an OS lock beside the file stands
for it, free the moment its process dies. On both, each claim raises the epoch that every commit checks.
"""

import asyncio
import fcntl
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from wonder.storage.errors import LeaseLost, WriteRefused
from wonder.storage.file_modes import FILE_MODE
from wonder.storage.runs.cells import number, number_or_none, text
from wonder.storage.store import Fence, Reader, Store, Transaction, Value

ENGINE: Final = "engine"
LEASE_MS: Final = 15_000
# A check whether an owner lives holds the lock for an instant: a claim tries again over that.
_CLAIM_TRIES: Final = 5
_CLAIM_PAUSE_SECONDS: Final = 0.02


class LeaseRow(NamedTuple):
    """The lease as the database has it; `deadline_ms` is by the database's clock, None where a lock counts instead."""

    owner_id: str
    epoch: int
    deadline_ms: int | None
    claimed_ms: int


class Lease:
    """The right to write, held by this process; `fence` goes with every commit."""

    def __init__(
        self, store: Store, name: str, owner_id: str, epoch: int, lock: "FileLock | None", lease_ms: int = LEASE_MS
    ) -> None:
        self.name, self.owner_id, self.epoch, self._lease_ms = name, owner_id, epoch, lease_ms
        self.fence = Fence("lease_is_ours", (name, owner_id, epoch))
        self._store, self._lock = store, lock
        self.inherited: list[bytes] = []
        """What the owner before has logged, and not settled: the engine has to, before it does anything else."""
        self.owner_died = False
        """Whether the owner before has ended without giving the lease back."""

    async def renew(self, lease_ms: int = LEASE_MS) -> None:
        """Put off the deadline; raises LeaseLost when the lease is another's now."""
        async with self._store.transaction() as transaction:
            deadline = None if self._lock else lease_ms
            if not await transaction.execute("renew_lease", self.name, self.owner_id, self.epoch, deadline):
                raise LeaseLost

    async def check(self) -> None:
        """Raise LeaseLost if it is another's now: what was read before this is as the owner left it."""
        if not await self._store.fetch(self.fence.query, *self.fence.parameters):
            raise LeaseLost

    async def try_to_write(self) -> None:
        """Renew it so that something has to be written; raises when the database takes nothing, or LeaseLost."""
        async with self._store.transaction() as transaction:
            # Given back and taken again: SQLite writes no page whose bytes are as before.
            await transaction.execute("release_lease", self.name, self.owner_id, self.epoch)
            deadline = None if self._lock else self._lease_ms
            if not await transaction.execute("renew_lease", self.name, self.owner_id, self.epoch, deadline):
                raise LeaseLost

    async def release(self) -> None:
        """Give the lease back, so that the next owner need not wait; harmless when it was lost."""
        try:
            async with self._store.transaction() as transaction:
                await transaction.execute("release_lease", self.name, self.owner_id, self.epoch)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the lock without a word to the database, as the death of the process would."""
        if self._lock:
            self._lock.free()


async def claim_lease(store: Store, owner_id: str, *, name: str = ENGINE, lease_ms: int = LEASE_MS) -> Lease | None:
    """Take the lease if nobody has it; None if somebody does."""
    lock = None
    if store.dialect == "sqlite":
        lock = await _lock(lock_path(store, name))
        if lock is None:
            return None
    try:
        async with store.transaction() as transaction:
            rows = await transaction.fetch("lease_is_unlocked", name)
            is_unlocked = bool(rows)
            before: list[dict[str, Value]] = []
            if is_unlocked:
                before = await transaction.fetch_named("read_lease", name)
                rows = await transaction.fetch("claim_lease", name, owner_id, None if lock else lease_ms)
        if not is_unlocked:
            # The next claim finds the lease free, if this was an owner that can't go on.
            await store.fetch("end_stopped_owner", name, lease_ms)
    except BaseException:
        if lock:
            lock.free()
        raise
    if not rows:
        return None
    lease = Lease(store, name, owner_id, number(rows[0][0]), lock, lease_ms)
    lease.owner_died = bool(before) and before[0]["deadline_ms"] != 0
    if name == ENGINE:
        try:
            # Looked for now that the owner before finds its lease lost with whatever it still logs.
            if store.journal is not None:
                lease.inherited = await store.journal.inherit()
        except BaseException:
            lease.abandon()
            raise
    return lease


async def read_lease(reader: Reader, *, name: str = ENGINE) -> LeaseRow | None:
    """Read who had the lease last; None if nobody ever did."""
    rows = await reader.fetch("read_lease", name)
    if not rows:
        return None
    owner_id, epoch, deadline_ms, claimed_ms = rows[0]
    return LeaseRow(text(owner_id), number(epoch), number_or_none(deadline_ms), number(claimed_ms))


async def is_held(store: Store, *, name: str = ENGINE) -> bool:
    """Say whether some process has the lease at this moment."""
    if store.dialect == "sqlite":
        probe = FileLock.take(lock_path(store, name), shared=True)
        if probe is None:
            return True
        probe.free()
        return False
    return bool(await store.fetch("lease_is_live", name))


async def check_lease(transaction: Transaction, fence: Fence | None) -> None:
    """Refuse to go on in a transaction when its fence no longer stands; raises LeaseLost."""
    if fence is not None and not await transaction.fetch(fence.query, *fence.parameters):
        raise LeaseLost


def lock_path(store: Store, name: str = ENGINE) -> Path:
    """Say which file stands for the lease of an SQLite database: it lies beside it, and is never removed."""
    suffix = ".lock" if name == ENGINE else f".{name}.lock"
    # Resolved, because two names of one file must mean one lock.
    return Path(os.path.realpath(store.address) + suffix)


class FileLock:
    """A lock on a file, held until it is freed or the process ends, however it ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path, *, shared: bool = False) -> "FileLock | None":
        """Take the lock without waiting; None if another process, or another part of this one, has it."""
        try:
            # Without following a link: the lock is marked, which would change what the link leads to.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags, FILE_MODE)
        except OSError as error:
            raise WriteRefused(f"the lock file {path} can't be opened: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise WriteRefused(f"the lock file {path} is no file; remove it")
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def free(self) -> None:
        """Let go of the lock; doing so twice is harmless."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


async def _lock(path: Path) -> FileLock | None:
    for _ in range(_CLAIM_TRIES):
        lock = FileLock.take(path)
        if lock is not None:
            return lock
        await asyncio.sleep(_CLAIM_PAUSE_SECONDS)
    return None
