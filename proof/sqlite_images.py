"""Images: what a disk may hold after the power was cut, by a record of writes; what was not synced may be there or not.

Of each file, everything is there that was written before its last sync that was over. Of what came later, each sector
of 512 bytes is there or not, or torn: a part of it is new and a part old, or its new bytes are anything. The size of a
file may lag behind its content or the other way round. Names change in their order, up to any of them.
"""

from collections.abc import Iterable
from random import Random
from typing import Final, NamedTuple

from proof.sqlite_writes import Create, Delete, Entry, Sync, Truncate, Write

SECTOR: Final = 512
Files = dict[str, bytes]


class Chances(NamedTuple):
    """How likely an unsynced sector is on the disk, and how likely one of those is torn."""

    kept: float
    torn: float

    @classmethod
    def by(cls, random: Random) -> "Chances":
        """Choose: nothing that was not synced, all of it, or some."""
        return cls(random.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]), random.choice([0.0, 0.0, 0.1, 0.5]))


class Disk:
    """A disk with its cache, after a part of a record."""

    def __init__(self, first: Files) -> None:
        self._synced = {number: bytearray(content) for number, content in enumerate(first.values())}
        self._names = {name: number for number, name in enumerate(first)}
        self._cached: dict[int, list[tuple[int, Write | Truncate]]] = {}
        self._names_cached: list[tuple[int, Create | Delete]] = []
        self._place = 0

    @property
    def cached(self) -> dict[str, int]:
        """How many writes of each file are not synced."""
        names = dict(self._names)
        for _, change in self._names_cached:
            _rename(names, change)
        return {name: len(self._cached.get(number, ())) for name, number in names.items()}

    def advance(self, entries: Iterable[Entry]) -> None:
        """Do what a record says next."""
        for entry in entries:
            if isinstance(entry, Sync):
                self._sync(entry)
            elif isinstance(entry, Create | Delete):
                self._names_cached.append((self._place, entry))
            else:
                self._cached.setdefault(entry.file, []).append((self._place, entry))
            self._place += 1

    def image(self, random: Random) -> Files:
        """Give what may be on the disk if the power is cut now."""
        chances = Chances.by(random)
        names = dict(self._names)
        for _, change in self._names_cached[: random.randint(0, len(self._names_cached))]:
            _rename(names, change)
        return {name: self._content(number, chances, random) for name, number in names.items()}

    def _sync(self, sync: Sync) -> None:
        if sync.file is None:
            for place, change in self._names_cached:
                if place < sync.begin:
                    _rename(self._names, change)
            self._names_cached = [kept for kept in self._names_cached if kept[0] >= sync.begin]
            return
        content = self._synced.setdefault(sync.file, bytearray())
        cached = self._cached.pop(sync.file, [])
        for place, entry in cached:
            if place < sync.begin:
                _apply(content, entry)
        if later := [kept for kept in cached if kept[0] >= sync.begin]:
            self._cached[sync.file] = later

    def _content(self, file: int, chances: Chances, random: Random) -> bytes:
        content = bytearray(self._synced.get(file, b""))
        cached = [entry for _, entry in self._cached.get(file, ())]
        synced_size = len(content)
        for entry in _survivors(cached, chances, random):
            _apply(content, entry)
        if len(content) > synced_size and random.random() < 0.3:
            # The sectors came, and the new size did not, or not the last one.
            del content[max(synced_size, random.randint(synced_size, len(content)) // SECTOR * SECTOR) :]
        return bytes(content)


def _survivors(cached: list[Write | Truncate], chances: Chances, random: Random) -> Iterable[Write | Truncate]:
    """Choose what is on the disk: each sector as one of the writes to it left it, or torn at that."""
    pieces = [_pieces(entry) if isinstance(entry, Write) else [entry] for entry in cached]
    times: dict[int, int] = {}
    for written in (piece for some in pieces for piece in some if isinstance(piece, Write)):
        times[written.offset // SECTOR] = times.get(written.offset // SECTOR, 0) + 1
    # A sector that was written several times is as after any of these: the cache was emptied in between.
    lasting = {
        sector: random.randint(1, count) if random.random() < chances.kept else 0 for sector, count in times.items()
    }
    seen: dict[int, int] = {}
    for piece in (piece for some in pieces for piece in some):
        if isinstance(piece, Truncate):
            if random.random() < chances.kept:
                yield piece
            continue
        sector = piece.offset // SECTOR
        seen[sector] = seen.get(sector, 0) + 1
        if seen[sector] <= lasting[sector]:
            is_last = seen[sector] == lasting[sector]
            yield _torn(piece, random) if is_last and random.random() < chances.torn else piece


def _pieces(write: Write) -> list[Write | Truncate]:
    pieces: list[Write | Truncate] = []
    begin = 0
    while begin < len(write.data):
        end = min(len(write.data), begin + SECTOR - (write.offset + begin) % SECTOR)
        pieces.append(Write(write.file, write.offset + begin, write.data[begin:end]))
        begin = end
    return pieces


def _torn(piece: Write, random: Random) -> Write:
    cut = random.randint(0, len(piece.data))
    rest = random.randbytes(len(piece.data) - cut) if random.random() < 0.5 else b""
    return Write(piece.file, piece.offset, piece.data[:cut] + rest)


def _apply(content: bytearray, entry: Write | Truncate) -> None:
    if isinstance(entry, Truncate):
        del content[entry.size :]
        content.extend(bytes(entry.size - len(content)))
        return
    end = entry.offset + len(entry.data)
    content.extend(bytes(max(0, end - len(content))))
    content[entry.offset : end] = entry.data


def _rename(names: dict[str, int], change: Create | Delete) -> None:
    if isinstance(change, Create):
        names[change.name] = change.file
    else:
        names.pop(change.name, None)
