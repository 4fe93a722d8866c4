"""A file whose places are durable when they are written, and which another process can shut."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wonder.storage import durable_file
from wonder.storage.durable_file import BLOCK, DurableFile, shut
from wonder.storage.linux_aio import AsyncWriter

PLACES, LENGTH = 4, 2 * BLOCK
SHUT = (
    "import sys, pathlib; from wonder.storage.durable_file import shut; "
    f"shut(pathlib.Path(sys.argv[1]), {PLACES * LENGTH})"
)


@pytest.fixture(params=["asynchronous", "direct", "plain"])
def file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DurableFile]:
    """A new file, in each of the ways that systems have."""
    if request.param != "asynchronous":
        monkeypatch.setattr(AsyncWriter, "open", lambda buffer: None)
    if request.param == "plain":
        monkeypatch.setattr(durable_file, "_DIRECT", 0)
    made = DurableFile(tmp_path / "places", PLACES, LENGTH)
    assert (made._writer is None) == (request.param != "asynchronous" or sys.platform != "linux")
    yield made
    made.close()


def write(file: DurableFile, place: int, content: bytes) -> None:
    file.begin(place, content)
    file.finish()


def place_of(file: DurableFile, place: int) -> bytes:
    """Read a place as another process would."""
    content = file.path.read_bytes()
    assert len(content) == PLACES * LENGTH + BLOCK
    return content[place * LENGTH : (place + 1) * LENGTH]


def test_a_new_file_has_all_its_blocks_and_nothing_in_them(file: DurableFile) -> None:
    assert file.path.read_bytes() == bytes(PLACES * LENGTH + BLOCK)
    assert file.path.stat().st_blocks * 512 >= PLACES * LENGTH + BLOCK
    assert not file.is_shut


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, LENGTH])
def test_what_is_written_to_a_place_is_there_and_nowhere_else(file: DurableFile, size: int) -> None:
    for place in (2, 0, PLACES - 1):
        content = os.urandom(size)
        write(file, place, content)
        assert place_of(file, place)[:size] == content
    assert place_of(file, 1) == bytes(LENGTH)
    assert not file.is_shut


def test_a_write_can_go_over_several_places(file: DurableFile) -> None:
    write(file, PLACES - 1, b"last")
    content = os.urandom(2 * LENGTH + 1)
    write(file, 0, content)
    assert file.path.read_bytes().startswith(content)
    assert place_of(file, PLACES - 1).startswith(b"last")
    assert not file.is_shut


def test_a_place_can_be_written_over_many_times(file: DurableFile) -> None:
    for number in range(200):
        write(file, number % PLACES, b"%d" % number)
        assert place_of(file, number % PLACES).startswith(b"%d" % number)


@pytest.mark.parametrize("awake_seconds", [-1.0, 60.0], ids=["asleep", "awake"])
def test_a_write_can_be_waited_for_asleep_and_awake(
    file: DurableFile, monkeypatch: pytest.MonkeyPatch, awake_seconds: float
) -> None:
    monkeypatch.setattr(durable_file, "_AWAKE_SECONDS", awake_seconds)
    for number in range(20):
        write(file, 1, b"%d" % number)
        assert place_of(file, 1).startswith(b"%d" % number)


def test_who_writes_sees_that_another_process_has_shut_the_file(file: DurableFile) -> None:
    write(file, 0, b"before")
    subprocess.run([sys.executable, "-c", SHUT, str(file.path)], check=True)
    assert file.is_shut
    write(file, 1, b"after")
    assert file.is_shut
    assert place_of(file, 0).startswith(b"before")


def test_a_file_is_shut_for_who_has_it_also_when_it_has_been_removed_since(file: DurableFile) -> None:
    shut(file.path, PLACES * LENGTH)
    file.path.unlink()
    assert file.is_shut
    shut(file.path, PLACES * LENGTH)  # whose file is gone, of which nothing is left to be shut
    assert not file.path.exists()


def test_a_file_that_is_there_is_replaced_and_who_had_it_writes_to_nobody(file: DurableFile) -> None:
    write(file, 0, b"old")
    other = DurableFile(file.path, PLACES, LENGTH)
    write(file, 0, b"older")
    assert place_of(other, 0) == bytes(LENGTH)
    shut(other.path, PLACES * LENGTH)
    assert (file.is_shut, other.is_shut) == (False, True)
    other.remove()
    assert not other.path.exists()


def test_a_write_that_the_system_refuses_is_an_error_and_the_next_one_works(file: DurableFile) -> None:
    refused = os.open(file.path, os.O_RDONLY)
    descriptor, file._descriptor = file._descriptor, refused
    with pytest.raises(OSError) as raised:
        write(file, 0, b"refused")
    assert raised.value.errno == errno.EBADF
    os.close(refused)
    file._descriptor = descriptor
    write(file, 0, b"kept")
    assert place_of(file, 0).startswith(b"kept")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_has_the_rights_that_are_asked_for_whatever_the_mask_is(tmp_path: Path, mode: int) -> None:
    mask = os.umask(0o077)
    try:
        made = DurableFile(tmp_path / "places", PLACES, LENGTH, mode=mode)
    finally:
        os.umask(mask)
    assert made.path.stat().st_mode & 0o777 == mode
    made.close()
    assert made.path.exists()
