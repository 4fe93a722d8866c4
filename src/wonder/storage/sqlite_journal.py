"""The journal: small commits that follow quickly upon each other take one page each, and reach the tables later.

A commit to the tables changes half a dozen pages for one more step of a run; an entry changes one. Entries are durable
like any commit. Their rows are written to the tables together, in order and once: with the next commit that is no
entry, and before anything is read through the store that wrote them. What a process left when it ended is written by
the next one that opens the file, or has a transaction on it. That is the same work, from the same pages.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

import apsw
import msgspec

from wonder.storage.errors import LeaseLost
from wonder.storage.queries import Queries
from wonder.storage.sqlite_errors import translated
from wonder.storage.sqlite_jobs import Statement, exhaust
from wonder.storage.store import Value

SLOTS: Final = 32
# With its row's own bytes an entry fills a page; all are as long, so that one takes another's place without more ado.
ENTRY_BYTES: Final = 4_000
_ENTRY: Final = msgspec.msgpack.Decoder()
_ENCODER: Final = msgspec.msgpack.Encoder()
# An integer beyond these is refused by SQLite, and not by the encoder.
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
# What is wrong with an entry itself: trying again would not help.
_UNFIT: Final = (
    apsw.BindingsError,
    apsw.ConstraintError,
    apsw.MismatchError,
    apsw.SQLError,
    apsw.TooBigError,
    msgspec.DecodeError,
    OverflowError,
    TypeError,
    ValueError,
)

log = logging.getLogger("wonder.storage")


class Journal:
    """What a store knows of the journal of its file: where it ends, and how far the tables have it."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._exists = False
        self._put_entry = queries["put_journal_entry"]
        # Numbers of entries: the last one, the last one in the tables, and the last one with a commit under way.
        self._newest: int | None = None
        self._applied = self._applying = 0
        self.refused = 0
        """How many entries the tables have refused: whoever wrote them is ahead of the tables for good."""

    @property
    def is_ahead(self) -> bool:
        """Whether it has entries of this store that the tables lack."""
        return self._newest is not None and self._newest > self._applied

    @property
    def is_full(self) -> bool:
        """Whether the next entry would take the place of one that the tables lack."""
        return self._newest is None or self._newest - self._applied >= SLOTS

    def body(self, statements: Sequence[Statement]) -> bytes | None:
        """Give what an entry of these statements holds; None if they can't be one."""
        if self.is_full or not all(_is_plain(rows) for _, _, rows in statements):
            return None
        try:
            # With their SQL, and not with its names: another version of Wonder may be the one to read it.
            body = _ENCODER.encode([(sql, rows) for _, sql, rows in statements])
        except ValueError:
            return None  # The tables refuse it as well, and say why.
        return body if len(body) <= ENTRY_BYTES else None

    def write(self, body: bytes, lease: Sequence[Value], database: str, connection: apsw.Connection) -> None:
        """Commit the next entry, in one statement; raises LeaseLost where the lease is not ours any more."""
        assert self._newest is not None
        # Counted before it is written: a number that is left out does no harm, one that is given twice loses an entry.
        number = self._newest = self._newest + 1
        row = (number % SLOTS + 1, number, len(body), body.ljust(ENTRY_BYTES, b"\0"), *lease)
        try:
            before = connection.total_changes()
            exhaust(connection.execute(self._put_entry, row))
        except BaseException:
            with translated("put_journal_entry", database):
                raise
        if connection.total_changes() == before:
            raise LeaseLost

    def exists(self, cursor: apsw.Cursor) -> bool:
        """Say whether the file has a journal; one that was not migrated yet has none."""
        if not self._exists:
            self._exists = bool(cursor.execute(self._queries["table_exists"], ("journal",)).fetchall())
        return self._exists

    def left(self, cursor: apsw.Cursor) -> int:
        """Give how many entries the tables lack, whoever wrote them."""
        return len(cursor.execute(self._queries["journal_entries"]).fetchall()) if self.exists(cursor) else 0

    def apply(self, cursor: apsw.Cursor) -> None:
        """Write to the tables what they lack, in the transaction that is open; `settle` says that it was committed."""
        entries: list[tuple[Any, ...]] = cursor.execute(self._queries["journal_entries"]).fetchall()
        if not entries:
            self.find_end(cursor)
            return
        cursor.execute("SAVEPOINT entries")
        try:
            for _, body in entries:
                _write(body, cursor)
        except _UNFIT:
            cursor.execute("ROLLBACK TO entries")
            for number, body in entries:
                self._write_or_refuse(number, body, cursor)
        cursor.execute("RELEASE entries")
        self._applying = entries[-1][0]
        cursor.execute(self._queries["put_journal_end"], (self._applying,))

    def find_end(self, cursor: apsw.Cursor) -> None:
        """Find out how far the tables have it; `settle` takes that for its end."""
        rows: list[tuple[Any, ...]] = cursor.execute(self._queries["journal_end"]).fetchall()
        self._applying = rows[0][0]

    def settle(self) -> None:
        """Take what was applied as done."""
        self._newest = self._applied = self._applying

    def _write_or_refuse(self, number: int, body: bytes, cursor: apsw.Cursor) -> None:
        cursor.execute("SAVEPOINT entry")
        try:
            _write(body, cursor)
        except _UNFIT:
            # It would be in the way of all that comes after it, for ever. It is kept, and `wonder db check` names it.
            log.exception("entry %d of the journal can't be written to the tables", number)
            cursor.execute("ROLLBACK TO entry")
            cursor.execute(self._queries["refuse_journal_entry"], (number,))
            self.refused += 1
        cursor.execute("RELEASE entry")


def _write(body: bytes, cursor: apsw.Cursor) -> None:
    for sql, rows in _ENTRY.decode(body):
        exhaust(cursor.executemany(sql, rows))


def _is_plain(rows: Sequence[Sequence[Any]]) -> bool:
    """Say whether all values come out of an entry as the tables would have got them, and are not too long for one."""
    for row in rows:
        for value in row:
            kind = type(value)
            if kind is str or kind is bytes:
                if len(value) > ENTRY_BYTES:
                    return False
            elif kind is int:
                if not _LEAST <= value <= _MOST:
                    return False
            elif value is not None and kind is not bool and kind is not float:
                return False
    return True
