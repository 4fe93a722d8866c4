"""Objects in a directory: durable before they have their key, and nothing is left of what was not finished."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.tasks import until
from wonder.objects.directory import DirectoryObjects
from wonder.objects.errors import ObjectDamaged, ObjectsUnavailable
from wonder.objects.store import read_whole


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the objects are."""
    return tmp_path / "deep" / "objects"


@pytest.fixture
def objects(root: Path) -> DirectoryObjects:
    """An object store in a folder that is not there yet."""
    return DirectoryObjects(root)


def files(root: Path) -> list[Path]:
    """All that lies in the store."""
    return sorted(path for path in root.rglob("*") if path.is_file())


def open_files() -> int:
    """Count the descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_is_made_before_something_is_stored(objects: DirectoryObjects, root: Path) -> None:
    assert not await objects.has("sha256/00/" + "0" * 64)
    assert files(root.parent.parent) == []
    stored = await objects.put(b"first")
    assert files(root) == [root / stored.key]


async def test_what_is_durable_comes_first(
    objects: DirectoryObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content, then its name, then the folder that has the name; a power cut in between loses all or nothing."""
    await objects.put(b"makes the folders")
    done: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def noted_fsync(descriptor: int) -> None:
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        done.append("folder" if place.is_dir() else "content")
        fsync(descriptor)

    def noted_rename(path: Path, target: Path) -> Path:
        done.append("name")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    stored = await objects.put(b"second")
    assert done[-3:] == ["content", "name", "folder"]
    assert (root / stored.key).read_bytes() == b"second"
    done.clear()
    await objects.put(b"second")
    assert done == ["folder"], "it is there, but whoever put it there may not have come to this"


async def test_damaged_content_is_never_given_as_if_it_were_whole(objects: DirectoryObjects, root: Path) -> None:
    stored = await objects.put(b"whole")
    (root / stored.key).write_bytes(b"wrong")
    with pytest.raises(ObjectDamaged, match="digest differs"):
        await read_whole(objects, stored.key, size_max=100)
    assert await objects.put(b"whole") == stored
    assert await read_whole(objects, stored.key, size_max=100) == b"whole", "to store it again fixes it"


async def test_who_is_cancelled_in_the_middle_leaves_no_file_and_no_descriptor(
    objects: DirectoryObjects, root: Path
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 500_000

    await objects.put(b"warm")
    before = open_files()
    for pause in (0.0, 0.001, 0.01, 0.03, 0.05):
        putting = asyncio.create_task(objects.put(endless()))
        await asyncio.sleep(pause)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting
    await until(lambda: len(files(root)) == 1 and open_files() <= before)


async def test_what_a_dead_process_left_is_removed_and_what_another_writes_is_not(root: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from wonder.objects.directory import DirectoryObjects\n"
        "async def content():\n"
        "    yield b'x' * 2_000_000\n"
        "    print('half', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(DirectoryObjects(Path(sys.argv[1])).put(content()))\n"
    )
    command = [sys.executable, "-c", program, str(root)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # noqa: ASYNC220
    try:
        for writer in writers:
            assert writer.stdout
            assert await asyncio.to_thread(writer.stdout.readline) == "half\n"
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        assert len(files(root)) == 2
        for left in files(root):
            os.utime(left, (time.time() - 3_600,) * 2)
        young = root / "incoming" / "young"
        young.write_bytes(b"made an instant ago, and not locked yet")
        stored = await DirectoryObjects(root).put(b"next")
        left_over = {path.name for path in files(root)} - {Path(stored.key).name, "young"}
        assert len(left_over) == 1, "that of the living one"
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            assert writer.stdout
            writer.stdout.close()


async def test_a_folder_that_goes_missing_is_made_again(objects: DirectoryObjects, root: Path) -> None:
    await objects.put(b"first")
    (root / "incoming").rmdir()
    stored = await objects.put(b"second")
    assert await objects.has(stored.key)


async def test_a_folder_that_can_not_be_used_is_told_and_is_no_reason_to_wait(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ObjectsUnavailable, match="file") as told:
        await DirectoryObjects(tmp_path / "file" / "objects").put(b"x")
    assert not told.value.passing


async def test_a_full_disk_leaves_nothing_and_may_have_room_again(
    objects: DirectoryObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await objects.put(b"before")

    def full(descriptor: int, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(ObjectsUnavailable, match="No space left") as told:
            await objects.put(b"x" * 100)
    assert told.value.passing
    assert len(files(root)) == 1
    await objects.put(b"x" * 100)
