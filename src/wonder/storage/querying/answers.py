"""What every query is given and gives back, on both databases."""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from wonder.errors import WonderError

SECONDS: Final = 30.0
ROWS_MAX: Final = 10_000
RESULT_BYTES_MAX: Final = 32 << 20
CELL_BYTES: Final = 64
"""Counted for every cell on top of its content: a million empty cells take memory too."""
SQL_BYTES_MAX: Final = 100_000


class Limits(Struct, frozen=True, kw_only=True):
    """How much one query may take: seconds in all, rows, and bytes of its result."""

    seconds: float = SECONDS
    rows_max: int = ROWS_MAX
    bytes_max: int = RESULT_BYTES_MAX


class Answer(NamedTuple):
    """What a query returned; `cut` says which limit left further rows out."""

    columns: list[str]
    rows: list[Sequence[Any]]
    cut: Literal["rows", "bytes"] | None


class QueryRefused(WonderError):
    """A query was not run or not finished: it is not SQL, would do more than read, or takes too much."""

    code = "QUERY_REFUSED"


def too_slow(limits: Limits) -> QueryRefused:
    """Say that the time is over."""
    return QueryRefused(
        f"the query took longer than {limits.seconds:g} seconds; select less, or raise the limit with --seconds"
    )


def too_large(bytes_max: int) -> QueryRefused:
    """Say that not even one row fits."""
    most = f"{bytes_max / (1 << 20):g} MiB"
    return QueryRefused(
        f"a value or row of the query is larger than {most}; select fewer columns, or a part of one with substr()"
    )


def checked_text(sql: str) -> str:
    """Give the text of a query if it can be one; raises QueryRefused."""
    if not sql.strip():
        raise QueryRefused("the query is empty; write one SELECT, such as: SELECT * FROM run_log")
    if "\0" in sql:
        raise QueryRefused("the query contains the character U+0000; remove it")
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise QueryRefused("the query is not valid Unicode; write it as UTF-8") from None
    if size > SQL_BYTES_MAX:
        raise QueryRefused(f"the query has {size:,} bytes, and at most {SQL_BYTES_MAX:,} are allowed; shorten it")
    return sql
