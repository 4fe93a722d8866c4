"""Running a query on PostgreSQL: the server is asked what it names, and it is read in pages within all limits."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

from wonder.storage.postgresql.query_syntax import Select, parse_select
from wonder.storage.queries import load_queries
from wonder.storage.querying.answers import CELL_BYTES, Answer, Limits, QueryRefused, too_large, too_slow
from wonder.storage.querying.policy import FUNCTIONS, is_readable, refused_function, refused_table
from wonder.storage.url import PostgresAddress

Connection: TypeAlias = Any

LOCK_SECONDS: Final = 5.0
PAGE_ROWS: Final = 50
ROW_BYTES_MAX: Final = 4 << 20  # so that a page of rows fits into memory, whatever is in them
_TOO_LARGE: Final = "wonder: a row has this many bytes: "


async def query_postgres(address: PostgresAddress, sql: str, limits: Limits) -> Answer:
    """Run one SELECT that reads; raises QueryRefused."""
    select = parse_select(sql)
    row_bytes_max = min(limits.bytes_max, ROW_BYTES_MAX)
    async with _connected(address, limits) as connection:
        schema = await _prepared_session(connection, address)
        await _check_functions(connection, select)
        asyncpg = importlib.import_module("asyncpg")
        try:
            # Never ended in order: a server that computes would be waited for. It ends with the connection.
            await connection.transaction(readonly=True).start()
            await _check_tables(connection, select, schema)
            return await _read(connection, select, limits, row_bytes_max)
        except asyncpg.InvalidTextRepresentationError as error:
            if _TOO_LARGE in str(error):
                raise too_large(row_bytes_max) from None
            raise


async def tables_on_postgres(address: PostgresAddress) -> list[tuple[str, str]]:
    """List what can be read, each with its columns."""
    async with _connected(address, Limits()) as connection:
        schema = await _schema(connection, address)
        rows = await connection.fetch(load_queries("postgresql")["query_tables"], schema)
    return [(table, columns) for table, columns in rows if is_readable(table)]


@asynccontextmanager
async def _connected(address: PostgresAddress, limits: Limits) -> AsyncIterator[Connection]:
    """Connect with every limit that a plain role may set; turns what goes wrong into QueryRefused."""
    # An extra, imported when it is used.
    asyncpg = importlib.import_module("asyncpg")
    milliseconds = str(max(1, int(limits.seconds * 1000)))
    settings = {
        "application_name": "wonder query",
        "default_transaction_read_only": "on",
        "statement_timeout": milliseconds,
        "lock_timeout": str(int(min(limits.seconds, LOCK_SECONDS) * 1000)),
        "idle_in_transaction_session_timeout": milliseconds,
        # As the parser reads strings.
        "standard_conforming_strings": "on",
        "max_parallel_workers_per_gather": "0",
        "jit": "off",
    }
    connection = None
    try:
        async with asyncio.timeout(limits.seconds):
            try:
                connection = await asyncpg.connect(address.url, server_settings=settings, statement_cache_size=0)
            except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                raise QueryRefused(f"the database {address.shown} can't be reached: {error}") from None
            yield connection
    except (asyncpg.QueryCanceledError, TimeoutError):
        raise too_slow(limits) from None
    except asyncpg.LockNotAvailableError:
        raise QueryRefused(
            f"a table was locked by another process for longer than {LOCK_SECONDS:g} seconds; try again later"
        ) from None
    except asyncpg.InsufficientPrivilegeError as error:
        raise QueryRefused(
            f"{error}; `wonder db grant-reader` grants a reader what can be read, also once more"
        ) from None
    except asyncpg.UndefinedTableError as error:
        raise QueryRefused(f"the query failed: {error}; `wonder query --tables` lists what can be read") from None
    except asyncpg.ReadOnlySQLTransactionError:
        raise QueryRefused("only queries that read are possible here; write one SELECT") from None
    # A date in the year 99999 is one for PostgreSQL, and none for Python.
    except (OSError, ValueError, OverflowError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise QueryRefused(f"the query failed: {error}") from None
    finally:
        if connection is not None:
            connection.terminate()


async def _prepared_session(connection: Connection, address: PostgresAddress) -> str:
    """Refuse a role that must not run other people's SQL; give the schema in which Wonder's tables are."""
    queries = load_queries("postgresql")
    role, is_dangerous = await connection.fetchrow(queries["query_role"])
    if is_dangerous:
        raise QueryRefused(
            f"queries are not run as {role!r}, which can reach the server's files and programs; "
            "`wonder db grant-reader` makes a role that can only read: set its URL as WONDER_READER_URL"
        )
    schema = await _schema(connection, address)
    await connection.fetch(queries["query_settings"], schema)
    return schema


async def _schema(connection: Connection, address: PostgresAddress) -> str:
    schema: str | None = await connection.fetchval(load_queries("postgresql")["query_schema"])
    if schema is None:
        raise QueryRefused(f"the database {address.shown} has no tables of Wonder's; `wonder db migrate` makes them")
    return schema


async def _check_functions(connection: Connection, select: Select) -> None:
    allowed = sorted(FUNCTIONS["postgresql"])
    query = load_queries("postgresql")["query_functions"]
    for (name,) in await connection.fetch(query, sorted(select.names), allowed):
        raise QueryRefused(refused_function(name))


async def _check_tables(connection: Connection, select: Select, schema: str) -> None:
    """Have the server parse the query, without running it; what it names is locked from then on, and so known."""
    queries = load_queries("postgresql")
    # A cursor can be declared for one SELECT and for nothing else, so this is a second opinion of the server's own.
    await connection.prepare(f"DECLARE wonder_query NO SCROLL CURSOR FOR {select.text}")
    named = [relation for (relation,) in await connection.fetch(queries["query_locks"])]
    for found_schema, table in await connection.fetch(queries["query_relations"], named):
        if found_schema != schema or not is_readable(table):
            raise QueryRefused(refused_table(table if found_schema == schema else f"{found_schema}.{table}"))


async def _read(connection: Connection, select: Select, limits: Limits, row_bytes_max: int) -> Answer:
    # As a subquery, which the text is known to fit into: one SELECT, parsed twice. What is too large for us is an error
    # on the server, before it is sent: a value may have a gigabyte.
    measured = f"""
        SELECT wonder_result.*, (SELECT CASE WHEN bytes > {row_bytes_max}
            THEN CAST('{_TOO_LARGE}' || bytes AS integer) ELSE bytes END
            FROM (SELECT octet_length(CAST(wonder_result.* AS text)) AS bytes OFFSET 0) AS measured)
        FROM ({select.text}
        ) AS wonder_result LIMIT {limits.rows_max + 1}"""  # noqa: S608  # parsed, and the rest are numbers of ours
    statement = await connection.prepare(measured)
    columns = [attribute.name for attribute in statement.get_attributes()][:-1]
    cursor = await statement.cursor()
    rows: list[Sequence[Any]] = []
    left = limits.bytes_max
    while page := await cursor.fetch(PAGE_ROWS):
        for record in page:
            *cells, size = record.values()
            left -= size + CELL_BYTES * len(cells)
            if left < 0:
                return Answer(columns, rows, "bytes")
            if len(rows) == limits.rows_max:
                return Answer(columns, rows, "rows")
            rows.append(tuple(cells))
    return Answer(columns, rows, None)
