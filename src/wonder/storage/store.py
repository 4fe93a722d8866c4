"""The Store: what Wonder asks of a database, the same for SQLite and PostgreSQL."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, NamedTuple, Protocol, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Value: TypeAlias = bool | int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]
# (named query or generated SQL text, its rows of parameters)
Entry: TypeAlias = tuple[str, Sequence[Sequence[Value]]]


class Fence(NamedTuple):
    """A named query that gives a row as long as we may write; who may not is refused before anything is written."""

    query: str
    parameters: tuple[Value, ...]


# Gives the time of day as ISO 8601 text in UTC, the form in which definitions and settings have it.
UtcNow: TypeAlias = Callable[[], str]
# Brings to the tables what has only been logged, if that can be; raises nothing.
Settle: TypeAlias = Callable[[], Awaitable[None]]
# Gives a new ULID.
NewId: TypeAlias = Callable[[], str]


class Reader(Protocol):
    """What can be asked: a store, or a transaction, which also sees what it wrote itself."""

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Run a named query and return its rows."""

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Run a named query and return its rows as dicts by column name."""

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Run generated SQL and return its rows."""


class Transaction(Reader, Protocol):
    """One open write transaction; after an error it can only be left, which rolls it back."""

    async def execute(self, name: str, *parameters: Value) -> int:
        """Run a named statement and return how many rows it changed."""

    async def execute_many(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run a named statement once per row of parameters."""

    async def run(self, sql: str, rows: Sequence[Sequence[Value]] | None = None) -> None:
        """Run generated SQL once per row; without rows it may be several statements that take no parameters."""


class Store(Reader, Protocol):
    """A database that is open; it is read outside of transactions, which sees what is committed and never waits."""

    @property
    def dialect(self) -> Dialect:
        """Say which of the two databases it is."""

    @property
    def address(self) -> str:
        """Say where it is, fit to be shown: without a password."""

    @property
    def unsettled(self) -> Reader:
        """Give what reads the tables as they are, for what is never logged: definitions, settings, requests."""

    @property
    def journal(self) -> "FactJournal | None":
        """Give the journal that makes facts durable sooner than rows; None for a database that has none."""

    @property
    def in_place(self) -> "InPlaceReader | None":
        """Give what reads without changing threads; None for a database that has to be waited for."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a write transaction: committed and durable when left normally, rolled back on any exception."""

    async def commit(
        self,
        batch: Iterable[Entry],
        *,
        fence: Fence | None = None,
        independent: bool = False,
    ) -> None:
        """Write a whole batch in one transaction, in order; durable when this returns.

        The fence is asked in the same transaction; when it gives no row, nothing is written and LeaseLost is raised.
        `independent` says that no two statements of the batch touch the same row, so that their order does not matter.
        Where there is a journal, what was logged reaches the tables first.
        """

    async def close(self) -> None:
        """Let go of the database; closing twice is harmless."""


class InPlaceReader(Protocol):
    """Reads in the caller's own thread."""

    def look_up(self, name: str, *parameters: Value) -> list[Row] | None:
        """Run a named query that finds a row or two by their key, here and now; None if it would have to wait."""


class FactJournal(Protocol):
    """What makes facts durable before their rows are in the tables; for the owner of the engine's lease."""

    def log(self, entry: bytes, fence: Fence) -> bool:
        """Make a few bytes durable here and now, if that is sooner than a commit would be; False if it is not.

        For who holds the lease of the engine, that is the fence. Raises LeaseLost, or what keeps them from being
        written.
        """

    async def commit(
        self, batch: Iterable[Entry], *, fence: Fence | None = None, independent: bool = False, settles: bool | None
    ) -> None:
        """Write a batch as `Store.commit` does; `settles` says whether the tables then have all that was logged.

        None is for others than the engine: what was logged is settled first, as by `Store.commit`.
        """

    async def inherit(self) -> list[bytes]:
        """Give what was logged, in order, and was not settled by the owner before; for who has just claimed the lease.

        It is given again to the next one, until a commit settles it.
        """

    async def journal_faults(self) -> list[str]:
        """Say why results that were logged and acknowledged are lost; for when nobody has the lease."""

    def settle_by(self, settle: Settle) -> None:
        """Have the tables settled by this before anything else reads or changes them."""
