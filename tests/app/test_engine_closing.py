"""Closing the engine: what it does again and again ends when it is told to, whatever the database says just then."""

import asyncio

from wonder.app.engine import _again
from wonder.storage.errors import DiskFull


async def test_what_is_done_again_and_again_ends_when_a_database_that_fails_hides_the_cancellation() -> None:
    begun = asyncio.Event()

    async def look() -> float:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            # As a transaction does that can't be rolled back.
            raise DiskFull("the disk")

    keeping = asyncio.create_task(_again(look))
    await begun.wait()
    keeping.cancel()
    done, _ = await asyncio.wait([keeping], timeout=60)
    assert done == {keeping}
