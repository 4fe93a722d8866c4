"""Reads that many want at once."""

import asyncio
from typing import Any

import pytest

from wonder.coordinator.sharing import SharedReads


class Source:
    """Something that is read slowly, and changes."""

    def __init__(self) -> None:
        self.value, self.reads = 1, 0
        self.fails = False

    async def read(self, key: str) -> tuple[str, int]:
        self.reads += 1
        value = self.value
        await asyncio.sleep(0.01)
        if self.fails:
            raise ValueError(key)
        return key, value


async def asked(shared: SharedReads[str, tuple[str, int]]) -> tuple[asyncio.Task[Any], asyncio.Task[Any]]:
    """Ask for something; gives who asks, and the reading that is about to begin."""
    before = asyncio.all_tasks()
    asks = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    (reading,) = asyncio.all_tasks() - before - {asks}
    return asks, reading


async def test_many_who_ask_at_once_share_one_read() -> None:
    source = Source()
    shared = SharedReads(source.read)
    assert await asyncio.gather(*(shared.get("a") for _ in range(100))) == [("a", 1)] * 100
    assert source.reads == 1


async def test_nobody_gets_an_answer_from_before_they_asked() -> None:
    source = Source()
    shared = SharedReads(source.read)
    first = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0.005)
    source.value = 2
    later = [asyncio.create_task(shared.get("a")) for _ in range(10)]
    assert await first == ("a", 1)
    assert await asyncio.gather(*later) == [("a", 2)] * 10
    assert source.reads == 2


async def test_different_keys_are_read_apart() -> None:
    source = Source()
    shared = SharedReads(source.read)
    assert await asyncio.gather(shared.get("a"), shared.get("b")) == [("a", 1), ("b", 1)]


async def test_a_read_that_fails_fails_for_all_who_share_it_and_not_for_the_next() -> None:
    source = Source()
    shared = SharedReads(source.read)
    source.fails = True
    failed = await asyncio.gather(*(shared.get("a") for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in failed] == [ValueError] * 3
    source.fails = False
    assert await shared.get("a") == ("a", 1)


async def test_one_who_no_longer_waits_takes_nothing_from_the_others() -> None:
    source = Source()
    shared = SharedReads(source.read)
    gone, there = asyncio.create_task(shared.get("a")), asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await there == ("a", 1)


async def test_nobody_is_left_waiting_when_the_reading_is_cancelled() -> None:
    source = Source()
    shared = SharedReads(source.read)
    first, reading = await asked(shared)
    await asyncio.sleep(0)
    assert source.reads == 1, "it has begun"
    later = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await later == ("a", 1)


async def test_nobody_is_left_waiting_when_the_reading_is_cancelled_before_it_begins() -> None:
    source = Source()
    shared = SharedReads(source.read)
    first, reading = await asked(shared)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert source.reads == 0
    assert await shared.get("a") == ("a", 1)
