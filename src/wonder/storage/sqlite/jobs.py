"""What is done on a connection of SQLite, as one job each: reading, writing, and whole commits."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import apsw

from wonder.storage.errors import LeaseLost
from wonder.storage.sqlite.errors import translated
from wonder.storage.store import Row, Value

# (name or text of a query, its SQL, its rows of parameters)
Statement: TypeAlias = tuple[str, str, Sequence[Sequence[Value]]]
# (SQL that gives a row as long as we may write, its parameters)
Asked: TypeAlias = tuple[str, Sequence[Value]]
Job: TypeAlias = Callable[[apsw.Connection], None]


def rows(sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection) -> list[Row]:
    """Run a query and return its rows."""
    with translated(query, database):
        return connection.execute(sql, parameters).fetchall()


def named_rows(
    sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection
) -> list[dict[str, Value]]:
    """Run a query and return its rows as dicts by column name."""
    with translated(query, database):
        # Any, because what apsw says of the types in its descriptions is not always so.
        cursor: Any = connection.execute(sql, parameters)
        try:
            names = [column[0] for column in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            # A query without rows is over before it can be asked for its columns.
            return []
        return [dict(zip(names, row, strict=True)) for row in cursor]


def changes(sql: str, query: str, database: str, parameters: Sequence[Value], connection: apsw.Connection) -> int:
    """Run a statement and return how many rows it changed."""
    with translated(query, database):
        before = connection.total_changes()
        exhaust(connection.execute(sql, parameters))
        return connection.changes() if connection.total_changes() != before else 0


def many(sql: str, query: str, database: str, given: Sequence[Sequence[Value]], connection: apsw.Connection) -> None:
    """Run a statement once per row of parameters."""
    with translated(query, database):
        exhaust(connection.executemany(sql, given))


def script(sql: str, query: str, database: str, connection: apsw.Connection) -> None:
    """Run statements that take no parameters."""
    with translated(query, database):
        exhaust(connection.execute(sql))


def roll_back(database: str, connection: apsw.Connection) -> None:
    """End a transaction without its changes."""
    # Some faults, a full disk among them, have rolled the transaction back already.
    if connection.in_transaction:
        script("ROLLBACK", "rollback", database, connection)


def commit(
    statements: Sequence[Statement],
    asked: Asked | None,
    database: str,
    connection: apsw.Connection,
    first: Callable[[apsw.Cursor], None] | None = None,
) -> None:
    """Run statements in a transaction of their own, if we may write; `first` has its turn before them."""
    query = "begin"
    try:
        # One cursor for all: making one takes as long as running a statement.
        cursor = connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        _check_fence(asked, cursor)
        if first is not None:
            first(cursor)
        for query, sql, given in statements:  # noqa: B007 - the name is for the error below
            exhaust(cursor.executemany(sql, given))
        query = "commit"
        cursor.execute("COMMIT")
    except BaseException:
        roll_back(database, connection)
        with translated(query, database):
            raise


def _check_fence(asked: Asked | None, cursor: apsw.Cursor) -> None:
    if asked is not None and not cursor.execute(*asked).fetchall():
        raise LeaseLost


def exhaust(cursor: Any) -> None:
    """Run a statement to its end."""
    # apsw runs a statement only as far as its rows are read.
    for _ in cursor:
        pass
