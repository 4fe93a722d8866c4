"""Damage of the journal: which entries that counted are missing, as far as the tables and the files can say.

Entries are written one at a time, each is durable before the next one begins, and after a write that failed there is
none before the tables have all again. So of what the tables lack, a crash leaves entries without a gap, and at most the
very last one torn. Anything else is damage:

- an entry is missing before one that is there;
- an entry follows upon a state of the tables that these have not reached: their write-ahead log is missing, or they are
  an older copy;
- the file that the tables know of is not there, is not theirs, or is older than they are;
- the tables say that an engine has them open, and the lock file beside them is not the one that this engine marked:
  they were copied without their companions.

What can't be told from a crash: the loss of the last entry alone, or of all that come after the last one that is left.
"""

import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from wonder.storage.sqlite.durable_file import BLOCK
from wonder.storage.sqlite.entries import (
    SLOT_BYTES,
    SLOTS,
    Found,
    entries_in,
    entry_of,
    has_name,
    name_of,
    named_by,
    path_for,
    read_files,
)

FILE_BYTES: Final = SLOTS * SLOT_BYTES + BLOCK


class Known(NamedTuple):
    """What the tables know of the journal, as the query `journal_state` gives it."""

    end: int
    salt: int
    in_use: int
    file_epoch: int | None
    last_number: int | None
    last_slot: int | None
    accepted: int | None


class Left(NamedTuple):
    """What there is in the journal that the tables lack."""

    entries: list[Found]
    """In their order: with damage, those that are left."""
    missing: int
    """How many entries are missing before one that is there."""
    reasons: list[str]
    """Why something is lost; empty if nothing is, or if that was accepted."""
    end: int
    """The number that the tables are at."""
    highest: int
    """The highest number of an entry, and the end of the tables if there is none above."""


def known_by(rows: list[Any]) -> Known:
    """Take a row of `journal_state`."""
    return Known(*rows[0])


def look_at(database: Path, known: Known) -> Left:
    """Look at the files beside a database, which nobody writes to; raises OSError."""
    files = read_files(database)
    ahead: dict[int, Found] = {}
    for content in files.values():
        ahead.update({entry.number: entry for entry in _ahead_in(content, known)})
    entries = [ahead[number] for number in sorted(ahead) if ahead[number].anchor <= known.end]
    above = [entry.anchor for entry in ahead.values() if entry.anchor > known.end]
    highest = max([known.end, known.accepted or 0, *ahead])
    missing = entries[-1].number - known.end - len(entries) if entries else 0
    if known.accepted is not None:
        return Left(entries, missing, [], known.end, highest)
    reasons = [*_of_companions(database, known, files, is_newer=bool(ahead)), *_of_gaps(known.end, entries, missing)]
    if above:
        reasons.append(
            f"the tables are older than the journal (at {known.end}, and entries follow upon {max(above)}): their -wal "
            "file is missing, or an older copy was put in their place"
        )
    return Left(entries, missing, reasons, known.end, highest)


def _ahead_in(content: bytes, known: Known) -> list[Found]:
    """Give the entries of a file that these tables lack, if it is theirs."""
    ahead = [entry for entry in entries_in(content) if entry.number > known.end]
    if named_by(content, known.salt):
        return ahead
    # An older Wonder gave its files no name: of those, only what follows upon these tables is known to be theirs.
    return [] if has_name(content) else [entry for entry in ahead if entry.anchor <= known.end]


def _of_gaps(end: int, entries: list[Found], missing: int) -> list[str]:
    if not missing:
        return []
    there = {entry.number for entry in entries}
    first = next(number for number in range(end + 1, entries[-1].number) if number not in there)
    return [f"of {entries[-1].number - end} entries {missing} are missing or damaged, the first of them is {first}"]


def _of_companions(database: Path, known: Known, files: dict[Path, bytes], *, is_newer: bool) -> list[str]:
    if known.file_epoch is None:
        if known.in_use and not is_marked(database, known.salt):
            lock = lock_of(database)
            return [
                f"an engine had the database open, and {lock} is not its lock: it was copied without its companions"
            ]
        return []
    path = path_for(database, known.file_epoch)
    content = files.get(path)
    if content is None:
        return [f"{path} is missing, which had entries"]
    if len(content) != FILE_BYTES:
        return [f"{path} has {len(content):,} bytes instead of {FILE_BYTES:,}"]
    if not named_by(content, known.salt, known.file_epoch):
        return [f"{path} is not the file that this database was used with"]
    if not is_newer and _is_older(content, known):
        return [f"{path} is older than the database: entry {known.last_number} was there, and is not"]
    return []


def _is_older(content: bytes, known: Known) -> bool:
    """Say whether the file was replaced by an older copy of it, or wiped."""
    if known.last_number is None or known.last_slot is None:
        return False
    at = known.last_slot * SLOT_BYTES
    entry = entry_of(content, at)
    if entry is not None:
        return entry.number < known.last_number
    # One that is torn was being written over. One that is damaged is in the tables.
    return not any(content[at : at + SLOT_BYTES])


def lock_of(database: Path) -> Path:
    """Say where the lock of a database is."""
    return Path(os.path.realpath(database) + ".lock")


def is_marked(database: Path, salt: int) -> bool:
    """Say whether the lock beside a database is marked as its own."""
    try:
        with lock_of(database).open("rb") as file:
            return file.read(len(name_of(salt, 0))) == name_of(salt, 0)
    except FileNotFoundError:
        return False
