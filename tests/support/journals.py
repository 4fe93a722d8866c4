"""For tests of SQLite's journal: who holds the lease of a database and logs, and what a crash would leave of it."""

import asyncio
import shutil
from pathlib import Path

from wonder.storage.errors import LeaseLost
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.sqlite.entries import SLOT_BYTES, SLOTS, Found, entry_of, files_of
from wonder.storage.sqlite.store import SqliteStore

CREATE = "CREATE TABLE things (number INTEGER PRIMARY KEY) STRICT"
INSERT = "INSERT INTO things (number) VALUES ($1)"
NUMBERS = "SELECT number FROM things ORDER BY number"


class Owner:
    """A store with the lease of its database."""

    def __init__(self, store: SqliteStore, lease: Lease, path: Path) -> None:
        self.store, self.lease, self.path = store, lease, path

    @classmethod
    async def of(cls, path: Path, name: str = "another") -> "Owner":
        """Open a database and claim its lease; nothing can be logged yet."""
        store = await opened_at(path)
        lease = await claim_lease(store, name)
        assert lease is not None
        return cls(store, lease, path)

    @property
    def inherited(self) -> list[bytes]:
        """What was logged before, and not settled."""
        return self.lease.inherited

    def log(self, body: bytes) -> bool:
        """Log one entry, if that can be."""
        return self.store.log(body, self.lease.fence)

    def could_log(self, body: bytes) -> bool:
        """Log one entry, if that can be, and the lease is not lost."""
        try:
            return self.log(body)
        except LeaseLost:
            return False

    def log_all(self, *bodies: bytes) -> None:
        """Log entries, all of them."""
        for body in bodies:
            assert self.log(body)

    async def settle(self, *numbers: int) -> None:
        """Make a commit with which the tables have all; numbers that are given are rows of it."""
        batch = [(INSERT, [(number,) for number in numbers])] if numbers else []
        await self.store.commit(batch, fence=self.lease.fence, settles=True)

    async def written_back(self) -> None:
        """Wait until the thread that writes the write-ahead log back to the database file is idle."""
        while self.store._checkpoints.is_under_way:  # noqa: ASYNC110  # the thread signals nothing
            await asyncio.sleep(0.001)

    async def numbers(self) -> list[object]:
        """Read the rows."""
        return [number for (number,) in await self.store.query(NUMBERS)]

    async def close(self) -> None:
        """Let go of the database, and of the lease as the death of the process would."""
        self.lease.abandon()
        await self.store.close()


async def opened_at(path: Path) -> SqliteStore:
    """Open a database."""
    store = await open_store(f"sqlite:///{path}")
    assert isinstance(store, SqliteStore)
    return store


async def inherited_at(path: Path) -> list[bytes]:
    """Claim the lease of a database, and say what was left in its journal."""
    owner = await Owner.of(path)
    await owner.close()
    return owner.inherited


def copied(path: Path, other: Path, *, with_journal: bool = True) -> Path:
    """Copy a database with all that belongs to it, as a crash would leave it."""
    for file in path.parent.glob(f"{path.name}*"):
        if not file.name.endswith("-shm") and (with_journal or "-facts-" not in file.name):
            shutil.copy(file, other.with_name(file.name.replace(path.name, other.name, 1)))
    return other


def file_of(path: Path) -> Path:
    """Find the one file of the journal beside a database."""
    (found,) = files_of(path)
    return found


def slots_of(file: Path) -> list[bytes]:
    """Read a file of the journal, slot by slot."""
    content = file.read_bytes()
    return [content[at : at + SLOT_BYTES] for at in range(0, SLOTS * SLOT_BYTES, SLOT_BYTES)]


def entries_in(file: Path) -> dict[int, Found]:
    """Read all entries of a file, by the place where each begins."""
    content = file.read_bytes()
    places = range(0, SLOTS * SLOT_BYTES, SLOT_BYTES)
    return {at: entry for at in places if (entry := entry_of(content, at))}
