"""Object stores: content by its digest, streamed in and out, the same in a directory and in S3 (ACT-6)."""

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from wonder.objects.errors import ObjectMissing, ObjectTooLarge
from wonder.objects.opening import open_objects
from wonder.objects.store import Objects, read_whole

MEGABYTE = 1_000_000


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    """Give chunks one after the other."""
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def read(objects: Objects, key: str) -> bytes:
    """Read what is not large."""
    return await read_whole(objects, key, size_max=100 * MEGABYTE)


@pytest.mark.parametrize("content", [b"", b"x", b"\0\xff" * 1_000, b"a" * 3_000_000], ids=["empty", "x", "raw", "3 MB"])
async def test_content_comes_back_as_it_was_under_the_key_that_its_digest_makes(
    objects: Objects, content: bytes
) -> None:
    stored = await objects.put(content)
    digest = hashlib.sha256(content).hexdigest()
    assert stored == (f"sha256/{digest[:2]}/{digest}", len(content))
    assert await read(objects, stored.key) == content
    assert await objects.put(stream(content[:1], content[1:])) == stored, "however it came"


async def test_the_same_content_twice_is_stored_once(objects: Objects) -> None:
    stored = await asyncio.gather(*(objects.put(b"the same") for _ in range(5)), objects.put(stream(b"the ", b"same")))
    assert len(set(stored)) == 1
    assert await read(objects, stored[0].key) == b"the same"


async def test_what_was_stored_is_found_by_another_who_opens_the_store(objects: Objects, objects_url: str) -> None:
    stored = await objects.put(b"kept")
    await objects.close()
    assert await read(open_objects(objects_url), stored.key) == b"kept"
    assert await objects.has(stored.key), "one that was closed opens itself again"


async def test_what_is_not_there_is_told(objects: Objects) -> None:
    key = (await open_objects_of(objects)).replace("0", "f")
    assert not await objects.has(key)
    with pytest.raises(ObjectMissing, match="restore it from a backup"):
        await read(objects, key)


async def open_objects_of(objects: Objects) -> str:
    """Give the form of a key that has nothing under it."""
    assert objects.address
    return "sha256/00/" + "0" * 64


@pytest.mark.parametrize(
    "key", ["", "ready", "../secret", "sha256/ab/../../x", "/etc/passwd", "sha256/ab/" + "0" * 64, "sha256/00/0\0"]
)
async def test_nothing_but_a_key_is_ever_taken_for_one(objects: Objects, key: str) -> None:
    with pytest.raises(ObjectMissing):
        await read(objects, key)
    with pytest.raises(ObjectMissing):
        await objects.has(key)


async def test_content_that_is_larger_than_allowed_is_refused_and_not_kept(objects: Objects) -> None:
    content = b"x" * 2_000
    with pytest.raises(ObjectTooLarge, match="1,999 bytes"):
        await objects.put(content, size_max=1_999)
    with pytest.raises(ObjectTooLarge):
        await objects.put(stream(*[b"x"] * 2_000), size_max=1_999)
    digest = hashlib.sha256(content).hexdigest()
    assert not await objects.has(f"sha256/{digest[:2]}/{digest}")
    stored = await objects.put(content, size_max=2_000)
    with pytest.raises(ObjectTooLarge):
        await read_whole(objects, stored.key, size_max=1_999)


async def test_a_stream_that_breaks_leaves_nothing(objects: Objects) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise LookupError("the other half")

    with pytest.raises(LookupError, match="the other half"):
        await objects.put(broken())
    assert not await objects.has("sha256/" + "{0:.2}/{0}".format(hashlib.sha256(b"half").hexdigest()))


async def test_large_content_is_never_held_in_memory_as_a_whole(objects: Objects) -> None:
    async def content() -> AsyncIterator[bytes]:
        for number in range(64):
            yield bytes([number]) * MEGABYTE

    await objects.put(b"warm")
    tracemalloc.start()
    try:
        stored = await objects.put(content())
        size = 0
        async for chunk in objects.read(stored.key):
            size += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (stored.size_bytes, size) == (64 * MEGABYTE, 64 * MEGABYTE)
    assert peak < 32 * MEGABYTE


async def test_a_reader_may_stop_in_the_middle(objects: Objects) -> None:
    stored = await objects.put(b"x" * 5_000_000)
    reading = objects.read(stored.key)
    async for chunk in reading:
        assert chunk
        break
    await reading.aclose()  # type: ignore[attr-defined]  # an async generator
    assert len(await read(objects, stored.key)) == 5_000_000
