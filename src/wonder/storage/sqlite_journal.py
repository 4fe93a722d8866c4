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

from wonder.storage.queries import Queries
from wonder.storage.sqlite_jobs import Statement, exhaust

SLOTS: Final = 32
# With its row's own bytes an entry fills a page; all are as long, so that one takes another's place without more ado.
ENTRY_BYTES: Final = 4_000
_ENTRY: Final = msgspec.msgpack.Decoder()
_ENCODER: Final = msgspec.msgpack.Encoder()
# What is wrong with an entry itself: trying again would not help.
_UNFIT: Final = (apsw.ConstraintError, apsw.MismatchError, apsw.SQLError, msgspec.DecodeError, OverflowError, TypeError)

log = logging.getLogger("wonder.storage")


class Journal:
    """What a store knows of the journal of its file: where it ends, and how far the tables have it."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        # Numbers of entries: the last one, the last one in the tables, and the last one with a commit under way.
        self._newest: int | None = None
        self._applied = self._applying = 0

    @property
    def is_ahead(self) -> bool:
        """Whether it has entries of this store that the tables lack."""
        return self._newest is not None and self._newest > self._applied

    def body(self, statements: Sequence[Statement]) -> bytes | None:
        """Give what an entry of these statements holds; None if there is no place for one."""
        if self._newest is None or self._newest - self._applied >= SLOTS:
            return None
        try:
            # With their SQL, and not with its names: another version of Wonder may be the one to read it.
            body = _ENCODER.encode([(sql, rows) for _, sql, rows in statements])
        except (ValueError, OverflowError, TypeError):
            return None  # It may be refused, and that is for the tables to say.
        return body if len(body) <= ENTRY_BYTES else None

    def statement(self, body: bytes) -> Statement:
        """Give the statement that writes the next entry; `wrote` says that it was committed."""
        assert self._newest is not None
        number = self._newest + 1
        row = (number % SLOTS + 1, number, len(body), body.ljust(ENTRY_BYTES, b"\0"))
        return "put_journal_entry", self._queries["put_journal_entry"], [row]

    def wrote(self) -> None:
        """Count the entry that was written."""
        assert self._newest is not None
        self._newest += 1

    def exists(self, cursor: apsw.Cursor) -> bool:
        """Say whether the file has a journal; one that was not migrated yet has none."""
        return bool(cursor.execute(self._queries["table_exists"], ("journal",)).fetchall())

    def left(self, cursor: apsw.Cursor) -> int:
        """Give how many entries the tables lack, whoever wrote them."""
        return len(cursor.execute(self._queries["journal_entries"]).fetchall())

    def apply(self, cursor: apsw.Cursor) -> None:
        """Write to the tables what they lack, in the transaction that is open; `settle` says that it was committed."""
        entries: list[tuple[Any, ...]] = cursor.execute(self._queries["journal_entries"]).fetchall()
        for number, body in entries:
            self._apply(number, body, cursor)
            self._applying = number
        if entries:
            cursor.execute(self._queries["put_journal_end"], (self._applying,))
        else:
            ((self._applying,),) = cursor.execute(self._queries["journal_end"]).fetchall()  # type: ignore[assignment]

    def settle(self) -> None:
        """Take what was applied as done."""
        self._newest = self._applied = self._applying

    def _apply(self, number: int, body: bytes, cursor: apsw.Cursor) -> None:
        cursor.execute("SAVEPOINT entry")
        try:
            for sql, rows in _ENTRY.decode(body):
                exhaust(cursor.executemany(sql, rows))
        except _UNFIT as error:
            # It would be in the way of all that comes after it, for ever. It is kept, and `wonder db check` names it.
            log.error("entry %d of the journal can't be written to the tables: %s", number, error)  # noqa: TRY400
            cursor.execute("ROLLBACK TO entry")
            cursor.execute(self._queries["refuse_journal_entry"], (number,))
        cursor.execute("RELEASE entry")
