"""A file whose places are durable when they are written, and which another process can shut."""

import errno
import fcntl
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wonder.storage.sqlite.durable_file import BLOCK, DurableFile, shut

PLACES, LENGTH = 4, 2 * BLOCK
SHUT = (
    "import sys, pathlib; from wonder.storage.sqlite.durable_file import shut; "
    f"shut(pathlib.Path(sys.argv[1]), {PLACES * LENGTH})"
)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[DurableFile]:
    """A new file."""
    made = DurableFile(tmp_path / "places", PLACES, LENGTH)
    yield made
    made.close()


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
        file.write(place, content)
        assert place_of(file, place)[:size] == content
    assert place_of(file, 1) == bytes(LENGTH)
    assert not file.is_shut


def test_a_write_can_go_over_several_places(file: DurableFile) -> None:
    file.write(PLACES - 1, b"last")
    content = os.urandom(2 * LENGTH + 1)
    file.write(0, content)
    assert file.path.read_bytes().startswith(content)
    assert place_of(file, PLACES - 1).startswith(b"last")
    assert not file.is_shut


def test_a_place_can_be_written_over_many_times(file: DurableFile) -> None:
    for number in range(200):
        file.write(number % PLACES, b"%d" % number)
        assert place_of(file, number % PLACES).startswith(b"%d" % number)


def test_who_writes_sees_that_another_process_has_shut_the_file(file: DurableFile) -> None:
    file.write(0, b"before")
    subprocess.run([sys.executable, "-c", SHUT, str(file.path)], check=True)
    assert file.is_shut
    file.write(1, b"after")
    assert file.is_shut
    assert place_of(file, 0).startswith(b"before")


def test_a_file_is_shut_for_who_has_it_also_when_it_has_been_removed_since(file: DurableFile) -> None:
    shut(file.path, PLACES * LENGTH)
    file.path.unlink()
    assert file.is_shut
    shut(file.path, PLACES * LENGTH)  # whose file is gone, of which nothing is left to be shut
    assert not file.path.exists()


def test_a_file_that_is_there_is_replaced_and_who_had_it_writes_to_nobody(file: DurableFile) -> None:
    file.write(0, b"old")
    other = DurableFile(file.path, PLACES, LENGTH)
    file.write(0, b"older")
    assert place_of(other, 0) == bytes(LENGTH)
    shut(other.path, PLACES * LENGTH)
    assert (file.is_shut, other.is_shut) == (False, True)
    other.remove()
    assert not other.path.exists()


def test_a_write_that_the_system_refuses_is_an_error_and_the_next_one_works(file: DurableFile) -> None:
    refused = os.open(file.path, os.O_RDONLY)
    descriptor, file._descriptor = file._descriptor, refused
    with pytest.raises(OSError) as raised:
        file.write(0, b"refused")
    assert raised.value.errno == errno.EBADF
    os.close(refused)
    file._descriptor = descriptor
    file.write(0, b"kept")
    assert place_of(file, 0).startswith(b"kept")


def test_a_write_is_durable_when_it_returns_and_not_only_in_the_page_cache(file: DurableFile) -> None:
    flags = fcntl.fcntl(file._descriptor, fcntl.F_GETFL)
    assert flags & os.O_DSYNC


def test_a_write_goes_past_the_page_cache_where_the_file_system_lets_it(file: DurableFile, tmp_path: Path) -> None:
    assert is_direct(file) == can_be_direct(tmp_path)
    file.write(1, b"there")
    assert place_of(file, 1) == b"there".ljust(LENGTH, b"\0")


@pytest.mark.parametrize("refused_at", ["open", "pwrite"])
def test_a_file_system_that_refuses_direct_writes_gets_plain_ones_that_are_as_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused_at: str
) -> None:
    with monkeypatch.context() as patch:
        refuse_direct(patch, refused_at)
        before = open_descriptors()
        made = DurableFile(tmp_path / "places", PLACES, LENGTH)
        assert open_descriptors() - before == 2, "the file and its mark; what was refused is closed"
    assert not is_direct(made)
    assert fcntl.fcntl(made._descriptor, fcntl.F_GETFL) & os.O_DSYNC
    made.write(1, b"there")
    assert place_of(made, 1) == b"there".ljust(LENGTH, b"\0")
    made.close()


def test_what_was_in_a_block_before_is_not_left_behind_what_is_written(file: DurableFile) -> None:
    file.write(0, os.urandom(LENGTH))
    kept = place_of(file, 0)[BLOCK:]
    file.write(0, b"short")
    assert place_of(file, 0) == b"short".ljust(BLOCK, b"\0") + kept


@pytest.mark.parametrize("refused_at", [None, "open"], ids=["past the page cache", "through it"])
def test_what_the_system_writes_in_parts_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused_at: str | None
) -> None:
    with monkeypatch.context() as patch:
        if refused_at:
            refuse_direct(patch, refused_at)
        file = DurableFile(tmp_path / "places", PLACES, LENGTH)
    # Direct writes are of whole blocks, also where the system writes fewer than it was asked to.
    most, parts, pwrite, content = BLOCK if is_direct(file) else 1_000, list[int](), os.pwrite, os.urandom(LENGTH)

    def write_part(descriptor: int, part: memoryview, at: int) -> int:
        parts.append(at)
        return pwrite(descriptor, part[:most], at)

    monkeypatch.setattr(os, "pwrite", write_part)
    file.write(1, content)
    assert parts == list(range(LENGTH, 2 * LENGTH, most))
    assert place_of(file, 1) == content
    assert place_of(file, 2) == bytes(LENGTH)
    file.close()


def open_descriptors() -> int:
    """Count the descriptors that this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


def is_direct(file: DurableFile) -> bool:
    """Whether writes to a file go past the page cache."""
    return bool(fcntl.fcntl(file._descriptor, fcntl.F_GETFL) & getattr(os, "O_DIRECT", 0))


def can_be_direct(folder: Path) -> bool:
    """Whether the file system of a folder takes a write past the page cache."""
    try:
        descriptor = os.open(folder / "probe", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    except (AttributeError, OSError):
        return False
    try:
        return os.pwrite(descriptor, mmap.mmap(-1, BLOCK), 0) == BLOCK
    except OSError:
        return False
    finally:
        os.close(descriptor)


def refuse_direct(patch: pytest.MonkeyPatch, refused_at: str) -> None:
    """Let the system refuse direct writes: when a file is opened for them, or only when one is written to."""
    flag, kept = getattr(os, "O_DIRECT", 0), getattr(os, refused_at)

    def refuse(file: Any, *arguments: Any) -> Any:
        flags = arguments[0] if refused_at == "open" else fcntl.fcntl(file, fcntl.F_GETFL)
        if flags & flag:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return kept(file, *arguments)

    patch.setattr(os, refused_at, refuse)


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
