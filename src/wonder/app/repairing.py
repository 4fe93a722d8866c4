"""Repairing: what is lost when the journal beside an SQLite database is damaged, and going on without it."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from wonder.errors import WonderError
from wonder.storage.logged_facts import decode_facts
from wonder.storage.runs.leases import FileLock, lock_path
from wonder.storage.runs.reading import live_runs
from wonder.storage.sqlite.store import SqliteStore
from wonder.storage.store import Store


class EngineRuns(WonderError):
    """The database can't be repaired while a process runs its engine."""

    code = "ENGINE_RUNS"

    def __init__(self, database: str) -> None:
        super().__init__(f"a process runs the engine of {database}; stop it, and repair the database then")
        self.database = database


class Loss(Struct, frozen=True):
    """What is lost of the journal, and what is left of it."""

    reasons: list[str]
    missing: int
    """How many entries are known to be missing; there may be more behind the last one that is left."""
    left: dict[str, int]
    """How many results that the tables lack are left, by the id of their run: they are taken."""
    times_ms: list[int]
    """When these results came."""
    live: list[str]
    """The runs that have not ended: steps of theirs whose result is lost are executed again."""


async def find_loss(store: Store) -> Loss | None:
    """Say what is lost; None if nothing is. Raises EngineRuns."""
    if not isinstance(store, SqliteStore):
        return None
    with _alone(store):
        return (await _look(store))[0]


async def accept_loss(store: Store) -> Loss | None:
    """Let the next engine begin without what is lost, and give that; None if nothing is. Raises EngineRuns."""
    if not isinstance(store, SqliteStore):
        return None
    with _alone(store):
        loss, highest = await _look(store)
        if loss is not None:
            await store.accept_loss(highest)
        return loss


async def _look(store: SqliteStore) -> tuple[Loss | None, int]:
    found = await store.journal_left()
    if not found.reasons:
        return None, found.highest
    left = decode_facts(entry.body for entry in found.entries)
    times = sorted(logged.now_ms for facts in left.values() for logged in facts)
    counts = {run_id: len(facts) for run_id, facts in left.items()}
    live = [run.id for run in await live_runs(store)]
    return Loss(found.reasons, found.missing, counts, times, live), found.highest


@contextmanager
def _alone(store: SqliteStore) -> Iterator[None]:
    lock = FileLock.take(lock_path(store))
    if lock is None:
        raise EngineRuns(store.address)
    try:
        yield
    finally:
        lock.free()
