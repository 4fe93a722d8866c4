"""Entries of the journal as they are on the disk: files beside the database, each of an owner of its own.

A file is a row of slots; an entry takes as many as it needs, behind the one before. Whenever the tables have all, the
next one begins in the first slot again.

An entry has a number, one more than the entry before, and an anchor: the number that the tables had when its owner last
wrote to them. It is good only for tables that are at its anchor or further, and have all entries before it. So one that
was left beside another file of the same name, or an older copy of this one, is never taken for a part of it.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from wonder.storage.sqlite.durable_file import last_in, name_in, shut

SLOTS: Final = 512
SLOT_BYTES: Final = 4_096
_MAGIC: Final = b"WJ1\n"
# Magic and checksum; number, anchor and length, which are checked as well.
_HEAD: Final = struct.Struct("<4sI")
_REST: Final = struct.Struct("<QQI")
ENTRY_BYTES: Final = SLOTS * SLOT_BYTES - _HEAD.size - _REST.size
_SUFFIX: Final = "-facts-"
# Whose file it is: the salt of its database, and the epoch of its owner.
_NAME: Final = struct.Struct("<4sQQ")
_NAME_MAGIC: Final = b"WJF1"


class Found(NamedTuple):
    """An entry that was read."""

    number: int
    anchor: int
    body: bytes


def page_of(number: int, anchor: int, body: bytes) -> bytes:
    """Give an entry as it is written."""
    checked = _REST.pack(number, anchor, len(body)) + body
    return _HEAD.pack(_MAGIC, zlib.crc32(checked)) + checked


def slots_for(length: int) -> int:
    """Say how many slots an entry needs whose body is so long."""
    return -(-(_HEAD.size + _REST.size + length) // SLOT_BYTES)


def entry_of(content: bytes, at: int = 0) -> Found | None:
    """Read the entry that begins at some place; None if there is none, or a part of one."""
    if len(content) - at < _HEAD.size + _REST.size:
        return None
    magic, checksum = _HEAD.unpack_from(content, at)
    number, anchor, length = _REST.unpack_from(content, at + _HEAD.size)
    if magic != _MAGIC or length > ENTRY_BYTES:
        return None
    checked = content[at + _HEAD.size : at + _HEAD.size + _REST.size + length]
    return Found(number, anchor, checked[_REST.size :]) if zlib.crc32(checked) == checksum else None


def name_of(salt: int, epoch: int) -> bytes:
    """Give the name that a file has inside."""
    return _NAME.pack(_NAME_MAGIC, salt, epoch)


def has_name(content: bytes) -> bool:
    """Say whether a file, whose content this is, says whose it is."""
    return name_in(content, SLOTS * SLOT_BYTES, len(_NAME_MAGIC)) == _NAME_MAGIC


def named_by(content: bytes, salt: int, epoch: int | None = None) -> bool:
    """Say whether a file, whose content this is, belongs to this database, and to this owner if one is given."""
    named = name_in(content, SLOTS * SLOT_BYTES, _NAME.size)
    if len(named) < _NAME.size:
        return False
    magic, of_database, of_owner = _NAME.unpack(named)
    return bool(magic == _NAME_MAGIC and of_database == salt and epoch in (None, of_owner))


def path_for(database: Path, epoch: int) -> Path:
    """Say where the owner with this epoch has its entries: nobody else ever writes there."""
    return Path(f"{os.path.realpath(database)}{_SUFFIX}{epoch}")


def files_of(database: Path) -> list[Path]:
    """List the files with entries beside a database, of all writers.

    Only files: what a link leads to is not ours to write to, and a pipe would never end.
    """
    real = Path(os.path.realpath(database))
    name = re.compile(re.escape(real.name + _SUFFIX) + r"\d+")
    with os.scandir(real.parent) as entries:
        return [
            Path(found.path) for found in entries if name.fullmatch(found.name) and found.is_file(follow_symlinks=False)
        ]


def shut_files(database: Path, last: int | None = None) -> None:
    """Keep the owner of the files beside a database from writing to them, or say which entry is the last valid one."""
    for path in files_of(database):
        shut(path, SLOTS * SLOT_BYTES, last)


def read_files(database: Path) -> dict[Path, bytes]:
    """Read all files with entries beside a database; what is longer than they ever are is not read to its end."""
    found: dict[Path, bytes] = {}
    for path in files_of(database):
        try:
            with path.open("rb") as file:
                found[path] = file.read((SLOTS + 2) * SLOT_BYTES)
        except FileNotFoundError:
            continue  # It has just been removed, and its entries are in the tables already.
    return found


def entries_in(content: bytes) -> Iterator[Found]:
    """Read the entries of a file, whose content this is."""
    last, slot = last_in(content, SLOTS * SLOT_BYTES), 0
    while slot < SLOTS:
        entry = entry_of(content, slot * SLOT_BYTES)
        # What an entry holds is not looked through for others.
        slot += 1 if entry is None else slots_for(len(entry.body))
        if entry is not None and (last is None or entry.number <= last):
            yield entry
