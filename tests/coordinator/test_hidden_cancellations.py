"""Work that is cancelled when the database fails ends, though an error came in the cancellation's place."""

import asyncio
import contextlib
from typing import Any

import pytest

from support.tasks import Bench, until
from wonder.app.local_worker import LocalWorker
from wonder.coordinator.background import Background
from wonder.executor.environment import SystemEnvironment
from wonder.executor.idempotency import IdempotencyKey
from wonder.executor.stored_idempotency import StoredIdempotency
from wonder.storage.errors import ConnectionLost


class HidingStore:
    """A database whose connection is lost whenever a question is given up."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, *parameters: Any, **options: Any) -> Any:
        """Wait, and answer a cancellation with an error."""
        self.asked += 1
        try:
            await asyncio.sleep(60)
        finally:
            raise ConnectionLost("as a transaction does that can't be rolled back")

    fetch_named = query = commit = fetch

    @contextlib.asynccontextmanager
    async def transaction(self, *parameters: Any, **options: Any) -> Any:
        """Never begin."""
        yield await self.fetch()


class NoLease:
    """The right to write, of which nothing is asked here."""

    name = owner_id = epoch = fence = None


async def insist(store: HidingStore) -> None:
    """Do what the coordinator does until it can be done."""
    await Background(SystemEnvironment()).insist("nothing can be read", store.fetch)


async def claim(store: HidingStore) -> None:
    """Claim a key of an action that acts once."""
    idempotency: Any = StoredIdempotency(store, NoLease(), SystemEnvironment())  # type: ignore[arg-type]
    try:
        await idempotency.claim(IdempotencyKey("project", "action", "key"))
    finally:
        assert len(idempotency._claims) == 0


async def load(store: HidingStore) -> None:
    """Load a task to compile it."""
    it = Bench()
    worker = LocalWorker(store, it.executor, it.registry)  # type: ignore[arg-type]
    await worker._load_and_compile(("task", 1), {})


@pytest.mark.parametrize("work", [insist, claim, load])
async def test_a_cancellation_that_a_failing_database_hides_ends_the_work(work: Any) -> None:
    store = HidingStore()
    under_way = asyncio.create_task(work(store))
    await until(lambda: store.asked or under_way.done())
    under_way.cancel()
    done, _ = await asyncio.wait([under_way], timeout=60)
    assert done == {under_way}
    assert under_way.cancelled()
    assert store.asked == 1


async def test_a_cancellation_of_before_is_no_reason_to_end() -> None:
    """A TaskGroup that failed leaves one behind in Python 3.11."""
    answers: list[Any] = [ConnectionLost("away"), 7]

    async def attempt() -> Any:
        await asyncio.sleep(0)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work() -> Any:
        task = asyncio.current_task()
        assert task
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await Background(SystemEnvironment()).insist("away", attempt)

    assert await asyncio.create_task(work()) == 7
