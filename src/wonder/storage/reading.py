"""SQL of a person's own: it can only read, only what is meant to be read, and only for a while (`wonder query`)."""

from wonder.storage.postgresql.querying import query_postgres, tables_on_postgres
from wonder.storage.querying.answers import Answer, Limits, QueryRefused, checked_text
from wonder.storage.querying.policy import FUNCTIONS
from wonder.storage.sqlite.querying import query_sqlite, tables_on_sqlite
from wonder.storage.url import SqliteAddress, parse_url

__all__ = ["Answer", "Limits", "QueryRefused", "read_only_query", "readable_functions", "readable_tables"]

_DEFAULT = Limits()
_SECONDS_MAX = 86_400
_ROWS_MAX = 10_000_000


async def read_only_query(url: str, sql: str, limits: Limits = _DEFAULT) -> Answer:
    """Run one SELECT; raises QueryRefused for anything that is not allowed, and at each limit."""
    if not 0 < limits.seconds <= _SECONDS_MAX:
        raise QueryRefused(f"a time limit of {limits.seconds:g} seconds is not possible; give up to {_SECONDS_MAX:,}")
    if not 0 <= limits.rows_max <= _ROWS_MAX:
        raise QueryRefused(f"a limit of {limits.rows_max:,} rows is not possible; give 0 to {_ROWS_MAX:,}")
    text, address = checked_text(sql), parse_url(url)
    if isinstance(address, SqliteAddress):
        return await query_sqlite(address, text, limits)
    return await query_postgres(address, text, limits)


async def readable_tables(url: str) -> list[tuple[str, str]]:
    """List the tables and views that a query may read, each with its columns in one text."""
    address = parse_url(url)
    if isinstance(address, SqliteAddress):
        return await tables_on_sqlite(address)
    return await tables_on_postgres(address)


def readable_functions(url: str) -> list[str]:
    """List the functions that a query may call."""
    return sorted(FUNCTIONS["sqlite" if isinstance(parse_url(url), SqliteAddress) else "postgresql"])
