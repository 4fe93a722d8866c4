"""SQL of a person's own: it can only read, and only for a while (`wonder query`)."""

import asyncio
import importlib
import time
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import apsw
import apsw.ext

from wonder.errors import WonderError
from wonder.storage.store import Value
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url

SECONDS = 30.0
ROWS_MAX = 10_000

_ALLOWED = {
    apsw.SQLITE_SELECT,
    apsw.SQLITE_READ,
    apsw.SQLITE_FUNCTION,
    apsw.SQLITE_RECURSIVE,
}
_STEPS = 10_000


class QueryRefused(WonderError):
    """A query could not be run: it is no SQL, would change something, or takes too long."""

    code = "QUERY_REFUSED"


class Answer(NamedTuple):
    """What a query gave; `is_cut` if there were more rows than are shown."""

    columns: list[str]
    rows: list[Sequence[Value]]
    is_cut: bool


async def read_only_query(url: str, sql: str, *, seconds: float = SECONDS, rows_max: int = ROWS_MAX) -> Answer:
    """Run one statement that reads; raises QueryRefused."""
    address = parse_url(url)
    if isinstance(address, SqliteAddress):
        return await asyncio.to_thread(_query_sqlite, address, sql, seconds, rows_max)
    return await _query_postgres(address, sql, seconds, rows_max)


def _query_sqlite(address: SqliteAddress, sql: str, seconds: float, rows_max: int) -> Answer:
    deadline = time.monotonic() + seconds
    try:
        connection = apsw.Connection(str(address.path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise QueryRefused(f"the database {address.shown} can't be opened: {error}") from None
    try:
        connection.pragma("query_only", True)
        connection.set_busy_timeout(int(seconds * 1000))
        connection.authorizer = lambda action, *_: apsw.SQLITE_OK if action in _ALLOWED else apsw.SQLITE_DENY
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        statement = apsw.ext.query_info(connection, sql)
        if statement.query_remaining and statement.query_remaining.strip():
            raise QueryRefused("only one statement at a time is possible here; write one SELECT")
        rows: list[Sequence[Value]] = list(islice(connection.execute(sql), rows_max + 1))
        columns = [column[0] for column in statement.description]
        return Answer(columns, rows[:rows_max], len(rows) > rows_max)
    except apsw.InterruptError:
        raise QueryRefused(f"the query took longer than {seconds:g} seconds; ask for less") from None
    except apsw.AuthError:
        raise QueryRefused("only queries that read are possible here; write one SELECT") from None
    except apsw.Error as error:
        raise QueryRefused(f"the query failed: {error}") from None
    finally:
        connection.close()


async def _query_postgres(address: PostgresAddress, sql: str, seconds: float, rows_max: int) -> Answer:
    # An extra, imported when it is used.
    asyncpg = importlib.import_module("asyncpg")
    try:
        connection = await asyncpg.connect(address.url)
    except (OSError, asyncpg.PostgresError) as error:
        raise QueryRefused(f"the database {address.shown} can't be reached: {error}") from None
    try:
        async with connection.transaction(readonly=True):
            await connection.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
            statement = await connection.prepare(sql)
            columns = [attribute.name for attribute in statement.get_attributes()]
            rows = await statement.fetch(timeout=seconds + 1)
            shown: list[Sequence[Value]] = [tuple(row.values()) for row in rows[:rows_max]]
            return Answer(columns, shown, len(rows) > rows_max)
    except (asyncpg.QueryCanceledError, TimeoutError):
        raise QueryRefused(f"the query took longer than {seconds:g} seconds; ask for less") from None
    except asyncpg.ReadOnlySQLTransactionError:
        raise QueryRefused("only queries that read are possible here; write one SELECT") from None
    except asyncpg.PostgresError as error:
        raise QueryRefused(f"the query failed: {error}") from None
    finally:
        await connection.close()
