"""A record of all that is done to the files of one database: writes, sizes, names and syncs, in their order."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import apsw
from msgspec import Struct

from wonder.storage.sqlite import journal as sqlite_journal
from wonder.storage.sqlite.durable_file import BLOCK, DurableFile

_JOURNALS: Final = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class Write(Struct, frozen=True, tag="write"):
    """Bytes that were written to a file."""

    file: int
    offset: int
    data: bytes


class Truncate(Struct, frozen=True, tag="truncate"):
    """A size that a file was given."""

    file: int
    size: int


class Create(Struct, frozen=True, tag="create"):
    """A new, empty file of this name."""

    name: str
    file: int


class Delete(Struct, frozen=True, tag="delete"):
    """A name that no file has any more."""

    name: str


class Sync(Struct, frozen=True, tag="sync"):
    """A sync that is over: what came before `begin` is on the disk, of this file, or of the names (`file` is None)."""

    file: int | None
    begin: int


Entry: TypeAlias = Write | Truncate | Create | Delete | Sync


class Record:
    """What happened to the files of a database since the record began; the place in it is how long it is."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.entries: list[Entry] = []
        self.first: dict[str, bytes] = {
            path.name: path.read_bytes() for path in sorted(database.parent.glob(f"{database.name}*"))
        }
        """The files that were there when the record began, by name; they have the first numbers, in this order."""
        self._numbers = {name: number for number, name in enumerate(self.first)}
        self._count = len(self.first)
        self._changing = threading.Lock()

    @property
    def place(self) -> int:
        """How much is in the record."""
        return len(self.entries)

    def covers(self, path: str | None) -> bool:
        """Say whether a file is one of the database's."""
        return path is not None and Path(path).parent == self.database.parent

    def opened(self, path: str) -> int:
        """Give the number of a file that was opened, and note it if it is new."""
        name = Path(path).name
        with self._changing:
            if name not in self._numbers:
                self._numbers[name] = self._count
                self._count += 1
                self.entries.append(Create(name, self._numbers[name]))
            return self._numbers[name]

    def deleted(self, path: str) -> None:
        """Note that a file was deleted."""
        name = Path(path).name
        with self._changing:
            if self._numbers.pop(name, None) is not None:
                self.entries.append(Delete(name))

    def note(self, *entries: Entry) -> None:
        """Note what was done."""
        with self._changing:
            self.entries.extend(entries)


class _RecordedFile(apsw.VFSFile):
    def __init__(self, record: Record, base: str, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        super().__init__(base, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._record, self._file = record, record.opened(path)
        # SQLite's own file system syncs the folder with the first sync of a journal or a log, and never else.
        self._syncs_names = bool(flags[0] & _JOURNALS) and bool(flags[0] & apsw.SQLITE_OPEN_CREATE)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # as apsw calls it
        super().xWrite(data, offset)
        self._record.note(Write(self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  # as apsw calls it
        super().xTruncate(newsize)
        self._record.note(Truncate(self._file, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802  # as apsw calls it
        begin = self._record.place
        super().xSync(flags)
        self._record.note(Sync(self._file, begin))
        if self._syncs_names:
            self._record.note(Sync(None, begin))
            self._syncs_names = False


class _RecordingFileSystem(apsw.VFS):
    def __init__(self, record: Record) -> None:
        self._record, self._base = record, apsw.vfs_names()[0]
        super().__init__("recording", self._base, makedefault=True)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  # as apsw calls it
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if not self._record.covers(path):
            return apsw.VFSFile(self._base, name, flags)
        return _RecordedFile(self._record, self._base, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802  # as apsw calls it
        super().xDelete(filename, syncdir)
        if self._record.covers(filename):
            self._record.deleted(filename)
            if syncdir:
                self._record.note(Sync(None, self._record.place))


def _recorded_journal(record: Record) -> type[DurableFile]:
    """Give the files of the journal, which are ours and not SQLite's, with a record."""

    class RecordedFile(DurableFile):
        def __init__(self, path: Path, places: int, length: int, *, name: bytes = b"", mode: int = 0o600) -> None:
            super().__init__(path, places, length, name=name, mode=mode)
            self._file = record.opened(str(path))
            record.note(Write(self._file, 0, path.read_bytes()))
            record.note(Sync(self._file, record.place), Sync(None, record.place))

        def write(self, place: int, content: bytes) -> None:
            super().write(place, content)
            # Whole blocks are written.
            blocks = content + bytes(-len(content) % BLOCK)
            record.note(Write(self._file, place * self._length, blocks))
            record.note(Sync(self._file, record.place))

        def remove(self) -> None:
            super().remove()
            record.deleted(str(self.path))

    return RecordedFile


def _recorded_removal(record: Record) -> Callable[[Path], None]:
    def remove(path: Path) -> None:
        kept(path)
        record.deleted(str(path))

    kept = sqlite_journal.remove_file
    return remove


def _recorded_writing(record: Record) -> Callable[[Path, bytes], None]:
    def write(path: Path, content: bytes) -> None:
        kept(path, content)
        file = record.opened(str(path))
        record.note(Write(file, 0, content))
        record.note(Sync(file, record.place), Sync(None, record.place))

    kept = sqlite_journal.write_durably
    return write


@contextmanager
def recorded(database: Path) -> Iterator[Record]:
    """Record what this process does to a database that has a folder of its own, in connections opened meanwhile."""
    record = Record(database)
    system = _RecordingFileSystem(record)
    kept = sqlite_journal.DurableFile, sqlite_journal.remove_file, sqlite_journal.write_durably
    new = _recorded_journal(record), _recorded_removal(record), _recorded_writing(record)
    sqlite_journal.DurableFile, sqlite_journal.remove_file, sqlite_journal.write_durably = new  # type: ignore[misc]
    try:
        yield record
    finally:
        system.unregister()
        sqlite_journal.DurableFile, sqlite_journal.remove_file, sqlite_journal.write_durably = kept  # type: ignore[misc]
