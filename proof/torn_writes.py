"""Writes to the journal that the death of a process tears: the first half is there, the rest is not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wonder.storage.sqlite.durable_file import DurableFile


@contextmanager
def half_written(end: Callable[[], object]) -> Iterator[None]:
    """Let the next write to a journal write half of its content, and then call `end`, which ends the process."""

    def write_half(file: DurableFile, place: int, content: bytes) -> None:
        # Behind the half is what was there before: whole blocks are written, with zeros behind what is shorter.
        before = file.path.read_bytes()[place * file._length :][: len(content)]
        half = len(content) // 2
        write(file, place, content[:half] + before[half:])
        end()

    write = DurableFile.write
    DurableFile.write = write_half  # type: ignore[method-assign]
    try:
        yield
    finally:
        DurableFile.write = write  # type: ignore[method-assign]
